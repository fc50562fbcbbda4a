# Reads a folder that dpcov published. Needs R alone, no packages. Written by dpcov @VERSION@.
#
#   source("read_dpcov.R")
#   survey <- read_dpcov("survey/")
#
# The first level of each category is left out of matrices and means: the levels of a category add
# up to one in every row, and solve() of a matrix with all of them answers nonsense.
# read_dpcov("survey/", all_levels = TRUE) has them all.
#
# It believes the files: run `dpcov verify survey/` first if they come from elsewhere.
#
# What it returns:
#   covariance    the estimated covariances, positive definite, in the columns' own units; NULL if
#                 variances were not released
#   correlation   the estimated correlations. A few factors and zeros took noise out of them, and
#                 as many factors then fit them perfectly, whatever the table is: do not test models
#                 on them
#   released      correlations as released, each covariance divided by released deviations of its
#                 own: not shrunk, perhaps not positive definite; NA for pairs that were not
#                 released. Privacy noise is in them. So tests of fit that count n alone reject too
#                 often, also models that are true: `dpcov export --to lavaan` counts it
#   means         means, NA where none was released or shown
#   n             the number of rows; n_terms: as how many of equal weight they count
#   columns       data frame: what is known of each column, with errors
#   pairs         data frame: correlations of all pairs with errors, intervals and q-values
#   promise       what is promised to each person; promise_in_words: what that means

read_dpcov <- function(folder, all_levels = FALSE) {
  path <- function(name) file.path(folder, name)
  if (!file.exists(path("card.json")) || !file.exists(path("columns.csv"))) {
    stop("There is no folder of dpcov at ", folder, ": it has no card.json or columns.csv.")
  }
  # Cells are not guessed at: 007, NA and T may be names of columns.
  cells_of <- function(name) {
    utils::read.csv(
      path(name),
      colClasses = "character", na.strings = NULL, check.names = FALSE, encoding = "UTF-8"
    )
  }
  table_of <- function(name) {
    texts <- c("column", "category", "level", "range", "center", "scale", "tails", "first", "second")
    found <- cells_of(name)
    for (each in setdiff(colnames(found), texts)) {
      found[[each]] <- utils::type.convert(found[[each]], na.strings = "", as.is = TRUE)
    }
    found
  }
  columns <- table_of("columns.csv")
  names <- columns$column

  # A matrix, or for very many columns a list of its entries that are not zero.
  matrix_of <- function(name, diagonal) {
    found <- cells_of(paste0(name, ".csv"))
    if (identical(colnames(found), c("first", "second", name)) && length(names) > 2000) {
      result <- diag(diagonal, length(names))
      dimnames(result) <- list(names, names)
      places <- cbind(match(found$first, names), match(found$second, names))
      result[places] <- as.numeric(found[[name]])
      result[places[, 2:1, drop = FALSE]] <- as.numeric(found[[name]])
      return(result)
    }
    numbers <- as.numeric(as.matrix(found[, -1, drop = FALSE]))
    matrix(numbers, length(names), length(names), dimnames = list(names, names))
  }

  pairs <- table_of("pairs.csv")
  released <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
  diag(released) <- 1
  places <- cbind(match(pairs$first, names), match(pairs$second, names))
  released[places] <- pairs$released
  released[places[, 2:1, drop = FALSE]] <- pairs$released

  is_level <- !is.null(columns$category) & columns$category != ""
  kept <- if (all_levels || !length(is_level)) TRUE else !is_level | duplicated(columns$category)
  kept <- rep_len(kept, length(names))

  card <- .read_dpcov_card(path("card.json"))
  list(
    covariance = if (file.exists(path("covariance.csv"))) {
      matrix_of("covariance", 0)[kept, kept, drop = FALSE]
    },
    correlation = matrix_of("correlation", 1)[kept, kept, drop = FALSE],
    released = released[kept, kept, drop = FALSE],
    means = stats::setNames(as.numeric(columns$mean), names)[kept],
    n = card$n,
    n_terms = card$n_terms,
    columns = columns,
    pairs = pairs,
    promise = card$promise,
    promise_in_words = card$promise_in_words
  )
}

# A card has one form: each fact stands on its own line, at a known depth.
.read_dpcov_card <- function(file) {
  lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
  after <- function(section, key) {
    from <- match(paste0('  "', section, '": {'), lines)
    start <- paste0('    "', key, '": ')
    found <- which(startsWith(lines, start) & seq_along(lines) > from)
    if (is.na(from) || !length(found)) stop("card.json is no card of dpcov: it has no ", key, ".")
    sub(",$", "", substring(lines[found[1]], nchar(start) + 1))
  }
  list(
    n = as.numeric(after("data", "n_rows")),
    n_terms = as.numeric(after("data", "n_terms")),
    promise = .read_dpcov_text(after("guarantee", "statement")),
    promise_in_words = .read_dpcov_text(after("guarantee", "in_words"))
  )
}

# A text of JSON, which is written with quotes and escapes.
.read_dpcov_text <- function(text) {
  letters <- strsplit(substring(text, 2, nchar(text) - 1), "")[[1]]
  plain <- c(n = "\n", t = "\t", r = "\r", b = "\b", f = "\f")
  result <- character(0)
  place <- 1
  while (place <= length(letters)) {
    letter <- letters[place]
    if (letter == "\\") {
      place <- place + 1
      letter <- letters[place]
      if (letter == "u") {
        code <- paste(letters[place + 1:4], collapse = "")
        letter <- intToUtf8(strtoi(code, 16L))
        place <- place + 4
      } else if (letter %in% names(plain)) {
        letter <- plain[[letter]]
      }
    }
    result <- c(result, letter)
    place <- place + 1
  }
  paste(result, collapse = "")
}

# What can be done with it:
#
# cov2cor(survey$covariance)                                    # is survey$correlation
# factanal(covmat = survey$covariance, factors = 2, n.obs = survey$n)
# princomp(covmat = survey$correlation)
#
# A regression of income on age and education:
# x <- c("age", "education"); y <- "income"
# slopes <- solve(survey$covariance[x, x], survey$covariance[x, y])
# intercept <- survey$means[y] - sum(slopes * survey$means[x])
#
# The errors that factanal() and others compute from n do not count privacy noise, and are too
# small: survey$pairs has errors that do, and so have release.regress() in Python and what
# `dpcov export --to lavaan` writes.
