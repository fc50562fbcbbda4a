@ABOUT@
#
# Needs R with metaSEM: install.packages("metaSEM"). This file was written by metaSEM's
# documentation (1.3) and was not run by dpcov's tests: metaSEM is not in Debian.
#
#   correlation.csv       the correlations
#   acov.csv              the covariance of their errors, in place of metaSEM's asyCov(), which
#                         knows of no noise: vechs, the lower triangle column by column
#   covariance.csv        the covariances, in the columns' own units
#   acov_covariance.csv   the covariance of their errors: vech, with the diagonal
#   names.csv             what each variable is called in the table

library(metaSEM)

folder <- local({
  sourced <- unlist(lapply(sys.frames(), function(frame) frame$ofile))
  started <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  if (length(sourced)) dirname(sourced[length(sourced)]) else if (length(started)) dirname(started) else "."
})
read_matrix <- function(name) {
  as.matrix(read.csv(file.path(folder, name), row.names = 1, check.names = FALSE))
}

correlation <- read_matrix("correlation.csv")
acov <- read_matrix("acov.csv")
n_rows <- @ROWS@

# ---- Your model, of all columns that are exported -----------------------------------------------
model <- '
@EXAMPLE@
'
# ------------------------------------------------------------------------------------------------

# The second step of two-stage structural equation modeling, on this release alone. The second
# argument is called aCov, and asyCov in old versions.
ram <- lavaan2RAM(model, obs.variables = colnames(correlation))
fit <- wls(correlation, acov, n = n_rows, RAM = ram, cor.analysis = TRUE)
print(summary(fit))

# With covariances:
# fit <- wls(read_matrix("covariance.csv"), read_matrix("acov_covariance.csv"),
#            n = n_rows, RAM = ram, cor.analysis = FALSE)

# Together with other studies. tssem1() computes the errors of correlations by itself, and would
# take noise for differences between studies; meta() takes them as they are stated. With a list
# `studies` of correlation matrices, a list `errors` of such matrices as acov, and numbers of rows:
# values <- t(sapply(studies, function(each) each[lower.tri(each)]))
# between <- t(sapply(errors, function(each) each[lower.tri(each, diag = TRUE)]))
# pooled <- meta(y = values, v = between)
# fit <- wls(vec2symMat(coef(pooled, select = "fixed"), diag = FALSE),
#            vcov(pooled, select = "fixed"), n = sum(rows), RAM = ram)
