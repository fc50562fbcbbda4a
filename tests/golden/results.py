"""What follows from a release: estimates, analyses and tables, as plain numbers.

Columns of tables stand by their place, and texts are left out: their words may change.
"""

import numpy as np

from dpcov.errors import DpcovError
from dpcov.publication import make_card
from dpcov.publication.tables import tables_of

_RULES = ("auto", "hard", "soft", "scad", "adaptive-lasso", "empirical-bayes", "low-rank")


def results_of(release):
    """Return what is estimated, analyzed and tabulated."""
    estimate = release.estimate()
    card = make_card(release, estimate, name="golden")
    return {
        "rules": _rules(release),
        "estimate": _estimate(estimate),
        "tables": {
            name: [_plain(each.values) for each in table.values() if not each.is_text]
            for name, table in tables_of(card, estimate, 0.1).items()
        },
        "analyses": _analyses(release),
    }


def _rules(release):
    if not hasattr(release, "matrix"):
        return {}
    return {rule: _plain(release.estimate(rule=rule, sparse=False).correlation) for rule in _RULES}


def _estimate(estimate):
    found = {
        "correlation": estimate.correlation,
        "deviations": estimate.deviations,
        "location": estimate.location,
        "released deviations": estimate.released_deviations,
        "eigenvalues": estimate.eigenvalues,
        "smallest correlation that is detected": estimate.smallest_detectable_correlation,
    }
    if hasattr(estimate, "standard_error"):
        found["standard errors"] = estimate.standard_error
        found["eigenvalue interval"] = estimate.eigenvalue_interval()
    found["listed"] = _frame(estimate.edges().to_frame())
    return {name: _plain(value) for name, value in found.items()}


def _analyses(release):
    """Return analyses of the first columns that allow it; a refusal is None."""
    names = list(release.columns)[:6]
    several = {
        "regression": lambda: _frame(release.regress(names[0], on=names[1:4]).to_frame()),
        "regression of the table": lambda: _frame(
            release.regress(names[0], on=names[1:4], about="table").to_frame()
        ),
        "partial": lambda: _frame(release.partial_correlations(names).to_frame()),
        "components": lambda: _frame(release.components(2, columns=names).to_frame()),
        "factors": lambda: _frame(release.factors(2, columns=names).to_frame()),
        "reliability": lambda: _reliability(release.reliability(names[:4])),
        "entries": lambda: _plain(release.entry_covariance(names[:3]).matrix()),
    }
    return {name: _tried(make) for name, make in several.items()}


def _tried(make):
    try:
        return make()
    except DpcovError:
        return None


def _reliability(found):
    return _plain([found.alpha, found.alpha_error, found.omega, found.omega_error])


def _frame(frame):
    return [_plain(frame[name].to_numpy()) for name in frame if frame[name].dtype.kind in "fib"]


def _plain(values):
    """Return numbers as lists, of 10 digits; of many numbers the first and their norm."""
    if isinstance(values, (tuple, list)):
        return [_plain(each) for each in values]
    values = np.asarray(values)
    if values.ndim == 2 and values.size > 200:
        return [_plain(values[0]), float(f"{np.linalg.norm(values):.10g}")]
    if values.dtype.kind in "bi" and values.size <= 200:
        return values.tolist()
    if values.ndim == 1 and values.size > 100:
        return [_plain(values[:20]), float(f"{np.linalg.norm(np.nan_to_num(values)):.10g}")]
    digits = [float(f"{value:.10g}") for value in values.ravel()]
    return np.array(digits).reshape(values.shape).tolist() if values.ndim else digits[0]
