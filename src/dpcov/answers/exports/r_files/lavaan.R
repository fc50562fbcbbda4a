@ABOUT@
#
# Needs R with lavaan: install.packages("lavaan"), or r-cran-lavaan of Debian.
# Write your model below, then run it here: Rscript model.R
#
@FILES@

library(lavaan)

folder <- local({
  sourced <- unlist(lapply(sys.frames(), function(frame) frame$ofile))
  started <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  if (length(sourced)) dirname(sourced[length(sourced)]) else if (length(started)) dirname(started) else "."
})
read_matrix <- function(name) {
  as.matrix(read.csv(file.path(folder, name), row.names = 1, check.names = FALSE))
}

covariance <- read_matrix("covariance.csv")
n_rows <- @ROWS@
has <- function(name) file.exists(file.path(folder, name))
average <- if (has("mean.csv")) read_matrix("mean.csv")[, 1] else 0 * diag(covariance) + NA
nacov <- if (has("nacov.csv")) read_matrix("nacov.csv") else NULL

# ---- Your model --------------------------------------------------------------------------------
# A placeholder that runs: some covariances as they are, with their errors.
model <- '
@PLACEHOLDER@
'
# A model with three factors would be:
#
# model <- '
@EXAMPLE@
# '
# ------------------------------------------------------------------------------------------------

# lavaan cannot invert what is made of very large and very small numbers. So each variable is
# divided by a unit, which is 1, or a power of ten where its standard deviation is far from 1; and
# counted from an origin, which is 0, or a round number where its mean is very far from 0.
# Estimates are in these units. State others here: unit["income"] <- 1000
deviation <- sqrt(diag(covariance))
step <- 10^floor(log10(deviation))
unit <- ifelse(deviation > 30 | deviation < 0.3, step, 1)
far <- !is.na(average) & abs(average) > 30 * deviation
origin <- ifelse(far, step * round(average / step), 0)

# The columns of the model, in the order in which lavaan has them: it puts the covariances into
# that order by their names, and takes NACOV as it comes.
chosen <- lavNames(model, "ov")
unknown <- setdiff(chosen, colnames(covariance))
if (length(unknown)) stop("The matrix has no column ", unknown[1], ": see names.csv.")
untold <- intersect(chosen, @UNTOLD@)
if (length(untold) > 1) {
  warning(
    "Noise makes these columns indistinguishable: ", paste(untold, collapse = ", "), ". Do not ",
    "rely on slopes on several of them, nor on their errors, which are too small; leave some out."
  )
}
has_mean <- !anyNA(average[chosen])
if (!has_mean) cat("The model has no means: not all of its columns have one in mean.csv.\n")
lower <- lower.tri(diag(length(chosen)), diag = TRUE)
per <- outer(unit[chosen], unit[chosen])
# In nacov.csv the name that comes first in the matrix comes first.
place <- match(chosen, colnames(covariance))
stacked <- paste0(
  colnames(covariance)[outer(place, place, pmin)[lower]], "~~",
  colnames(covariance)[outer(place, place, pmax)[lower]]
)
covariance <- covariance[chosen, chosen, drop = FALSE] / per
if (has_mean) average <- (average[chosen] - origin[chosen]) / unit[chosen]

if (!is.null(nacov)) {
  entries <- c(if (has_mean) paste0(chosen, "~1"), stacked)
  each <- c(if (has_mean) unit[chosen], per[lower])
  nacov <- nacov[entries, entries] / outer(each, each)
  fit <- sem(
    model,
    sample.cov = covariance, sample.nobs = n_rows, sample.mean = if (has_mean) average,
    # Maximum likelihood, with standard errors and a test of fit that count privacy noise and
    # sampling. Without se and test lavaan would not look at NACOV. Weighted least squares would
    # weigh by it, and make loadings too small wherever the model does not fit perfectly.
    estimator = "ML", NACOV = nacov, se = "robust.sem", test = "satorra.bentler",
    # The divisor is n already.
    meanstructure = has_mean, sample.cov.rescale = FALSE,
    # Otherwise lavaan would take the moments of predictors as known without error.
    fixed.x = FALSE
  )
} else {
  warning(
    "There is no nacov.csv, since it would be too large for so many columns: standard errors ",
    "and the test of fit do not count privacy noise. Errors are too small, and models are ",
    "rejected that are true. Export the columns of the model alone, @MOST@ at most."
  )
  # As many rows as the pair with the fewest has.
  if (has("rows.csv")) n_rows <- min(read_matrix("rows.csv")[chosen, chosen])
  fit <- sem(
    model,
    sample.cov = covariance, sample.nobs = n_rows, sample.mean = if (has_mean) average,
    estimator = "ML", meanstructure = has_mean, sample.cov.rescale = FALSE, fixed.x = FALSE
  )
}

stopifnot(identical(lavNames(fit, "ov"), chosen))
other <- chosen[unit[chosen] != 1 | origin[chosen] != 0]
if (length(other)) {
  cat("Units:", paste0("(", other, " - ", origin[other], ") / ", unit[other], collapse = ", "), "\n")
}
print(summary(fit, standardized = TRUE, fit.measures = TRUE))

# More of it:
# parameterEstimates(fit, standardized = TRUE)   estimates, errors and intervals as a table
# lavInspect(fit, "sampstat")                    the moments that lavaan used
# lavInspect(fit, "implied")                     those that the model implies
# lavInspect(fit, "gamma")                       NACOV as lavaan read it, with its names
# lavInspect(fit, "vcov")                        the covariance of the estimates
# modificationIndices(fit, sort = TRUE)          what to add
# Of indices of fit take the scaled or robust ones: the others count noise as misfit.
