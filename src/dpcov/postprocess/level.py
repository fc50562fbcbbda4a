"""The choice of rule and level: how entries off the diagonal are shrunk.

Owns the competition. The level is how many standard deviations an entry must stand out
to be kept: chosen from the release by thinning, from Cai and Liu's formula, from the
paper's, or as the caller says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.multiplicity import bonferroni_cutoff
from dpcov.parameters import check_number
from dpcov.postprocess.empirical_bayes import EmpiricalBayes, fit_prior
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.rules import RULES, Rule, apply_rule, find_rule
from dpcov.postprocess.thinning import BinnedEntries, ThinnedEntries, thin

__all__ = ["EMPIRICAL_BAYES", "Choice", "RiskCurve", "check_level", "choose"]

EMPIRICAL_BAYES = "empirical-bayes"
_NAMED_LEVELS = ("thinned", "cai-liu", "paper")
_STEP = 0.05
# A sparse answer keeps an unrelated pair with probability 0.13 at most.
_LOWEST_SPARSE = 1.5
# Keep only what stands out by itself unless the gain is this many of its standard errors.
_CLEAR = 2.5
# Prefer fewer entries when that costs less than this share of the noise of those kept.
_NEGLIGIBLE = 0.01

Array = npt.NDArray[np.float64]
Fit = Callable[[BinnedEntries, float], Array]


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """The estimated squared error of every rule at every level, from thinning.

    Parameters
    ----------
    levels : ndarray
        Levels, in standard deviations of an entry.
    risk : mapping of str to ndarray
        For each rule, the estimated squared error of the entries above the diagonal, less
        that of the diagonal alone: negative is better than keeping nothing.
    """

    levels: Array
    risk: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Choice:
    """What is done to the entries off the diagonal.

    Parameters
    ----------
    rule : str
        The name of the rule.
    level : float
        In standard deviations of an entry; infinite when nothing is kept.
    shrink : Rule or EmpiricalBayes
        What is applied to the entries that are kept.
    threshold : float, optional
        The level in the units of the matrix, for ``level="paper"``, which does not
        standardize the entries.
    curve : RiskCurve, optional
        The risk curve, when the choice was made by thinning.
    """

    rule: str
    level: float
    shrink: Rule | EmpiricalBayes
    threshold: float | None = None
    curve: RiskCurve | None = None

    @property
    def in_words(self) -> str:
        """The rule and its level, or that nothing is kept."""
        if math.isinf(self.level):
            return "diagonal only"
        return f"{self.rule} at {self.level:.2f} sd"


def choose(
    matrix: Array,
    noise: NoiseModel,
    *,
    rule: str | Rule = "auto",
    level: str | float = "thinned",
    gamma: float | None = None,
    sparse: bool = True,
) -> Choice:
    """Choose what is done to the entries off the diagonal.

    Parameters
    ----------
    matrix : ndarray, shape (n_columns, n_columns)
        The released matrix.
    noise : NoiseModel
        The variances of its entries.
    rule : str or callable
        ``"auto"`` lets all rules compete in thinning, and is ``"hard"`` at other levels.
    level : str or float
        ``"thinned"``, ``"cai-liu"``, ``"paper"``, or a number of standard deviations.
    gamma : float, optional
        The paper's γ, for ``level="paper"``.
    sparse : bool
        Whether thinning is confined to levels of at least 1.5.
    """
    check_level(rule=rule, level=level, gamma=gamma)
    if level == "thinned":
        return _choose_by_thinning(matrix, noise, rule, sparse=sparse)
    name, shrink = _stated_rule(matrix, noise, rule)
    if level == "paper":
        threshold = _paper_threshold(len(matrix), noise, float(gamma or 0.0))
        return Choice(name, threshold / noise.typical_deviation, shrink, threshold)
    return Choice(name, _stated_level(level, len(matrix)), shrink)


def check_level(*, rule: str | Rule, level: str | float, gamma: float | None) -> None:
    """Refuse an unknown rule or level, and a gamma that is missing or out of place."""
    if not isinstance(level, (str, Real)):
        raise ParameterError(f"level must be a name or a number; got a {type(level).__name__}.")
    if rule not in ("auto", EMPIRICAL_BAYES):
        find_rule(rule)
    if level == "paper":
        if gamma is None:
            raise ParameterError(
                "level='paper' needs gamma, which the paper leaves open; gamma=0 thresholds the "
                "privacy noise alone."
            )
        check_number("gamma", gamma, low=0.0, high=math.inf, open_low=False)
    elif gamma is not None:
        raise ParameterError("gamma is for level='paper' alone.")
    elif level != "thinned":
        _stated_level(level, 2)


def _stated_rule(
    matrix: Array, noise: NoiseModel, rule: str | Rule
) -> tuple[str, Rule | EmpiricalBayes]:
    if rule == EMPIRICAL_BAYES and len(matrix) > 1:
        return EMPIRICAL_BAYES, fit_prior(thin(matrix, noise).whole)
    return find_rule("hard" if rule in ("auto", EMPIRICAL_BAYES) else rule)


def _stated_level(level: str | float, size: int) -> float:
    if level == "cai-liu":
        return 2.0 * math.sqrt(math.log(max(2, size)))
    if isinstance(level, str):
        known = ", ".join(repr(name) for name in _NAMED_LEVELS)
        raise ParameterError(f"level must be one of {known}, or a number; got {level!r}.")
    return check_number("level", level, low=0.0, high=math.inf, open_low=False, open_high=False)


def _paper_threshold(size: int, noise: NoiseModel, gamma: float) -> float:
    """γ √(log p / n) + 4 σ₁ √(log p): equation 10 of Wang and Xu."""
    root = math.sqrt(math.log(max(2, size)))
    return gamma * root / math.sqrt(noise.n_rows) + 4.0 * noise.off_diagonal * root


def _choose_by_thinning(
    matrix: Array, noise: NoiseModel, rule: str | Rule, *, sparse: bool
) -> Choice:
    if rule == "auto":
        named: dict[str, Rule] = dict(RULES)
    else:
        named = {} if rule == EMPIRICAL_BAYES else dict([find_rule(rule)])
    if len(matrix) < 2:
        return Choice("hard", math.inf, RULES["hard"])
    entries = thin(matrix, noise)
    fits: dict[str, Fit] = {name: _fit_of_rule(shrink) for name, shrink in named.items()}
    if rule in ("auto", EMPIRICAL_BAYES):
        fits[EMPIRICAL_BAYES] = _fit_of_prior(fit_prior(entries.first), entries.first)
    levels = _level_grid(len(matrix), sparse=sparse)
    curves = {name: _risk_curve(entries, fit, levels) for name, fit in fits.items()}
    curve = RiskCurve(levels, {name: risk for name, (risk, _, _) in curves.items()})
    name = min(curves, key=lambda name: curves[name][0].min())
    level = _pick_level(levels, *curves[name], slack=_NEGLIGIBLE if sparse else 0.0)
    outstanding = _outstanding_level(len(matrix))
    if level is None:
        level = outstanding
        name = "hard" if rule == "auto" else name
    shrink = named[name] if name in named else fit_prior(entries.whole)
    # What stands out by itself is kept in any case.
    return Choice(name, min(level, outstanding), shrink, curve=curve)


def _outstanding_level(size: int) -> float:
    """Return the level that no unrelated pair passes, with probability 0.999 (Bonferroni)."""
    return bonferroni_cutoff(size, error=0.001)


def _level_grid(size: int, *, sparse: bool) -> Array:
    """Levels up to one that no entry without signal reaches."""
    highest = math.sqrt(4.0 * math.log(max(2, size))) + 1.5
    return np.arange(_LOWEST_SPARSE if sparse else 0.0, highest + _STEP, _STEP).round(2)


def _risk_curve(entries: ThinnedEntries, fit: Fit, levels: Array) -> tuple[Array, Array, Array]:
    """Return the risk at each level, its standard error, and the noise of what is kept."""
    risk, error, noise = np.zeros((3, len(levels)))
    for place, level in enumerate(levels):
        fitted = fit(entries.first, float(level))
        risk[place], error[place] = entries.risk(fitted)
        noise[place] = entries.weight[fitted != 0].sum()
    return risk, error, noise


def _pick_level(
    levels: Array, risk: Array, error: Array, noise: Array, *, slack: float
) -> float | None:
    """Return the level of lowest risk, or None when the gain over zeros is not clear."""
    best = int(np.argmin(risk))
    if risk[best] >= -_CLEAR * error[best] or risk[best] >= 0:
        return None
    near = risk <= risk[best] + slack * noise[best]
    return float(levels[np.flatnonzero(near)[-1]])


def _fit_of_rule(shrink: Rule) -> Fit:
    def fit(entries: BinnedEntries, level: float) -> Array:
        sizes = apply_rule(shrink, np.abs(entries.value), np.asarray(level))
        return np.copysign(sizes, entries.value)

    return fit


def _fit_of_prior(prior: EmpiricalBayes, entries: BinnedEntries) -> Fit:
    means = np.array(
        [prior.posterior_mean(value, group) for group, value in enumerate(entries.value)]
    )

    def fit(entries: BinnedEntries, level: float) -> Array:
        return np.where(np.abs(entries.value) > level, means, 0.0)

    return fit
