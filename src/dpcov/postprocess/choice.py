"""The choice of rule and threshold: how entries off the diagonal are shrunk.

Owns the competition. The threshold is how many standard deviations an entry must stand out
to be kept: chosen from the release by thinning, from Cai and Liu's formula, from the
paper's, or as the caller says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.multiplicity import bonferroni_cutoff
from dpcov.parameters import check_number
from dpcov.postprocess.copies import Copies, copy_matrix
from dpcov.postprocess.empirical_bayes import EmpiricalBayes, fit_prior
from dpcov.postprocess.low_rank import LowRank, find_low_rank
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.rules import RULES, Rule, apply_rule, find_rule
from dpcov.postprocess.thinning import (
    BinnedEntries,
    ThinnedEntries,
    bin_entries,
    thin,
)

__all__ = ["EMPIRICAL_BAYES", "LOW_RANK", "Choice", "RiskCurve", "check_threshold", "choose"]

EMPIRICAL_BAYES = "empirical-bayes"
LOW_RANK = "low-rank"
_LEARNED = (EMPIRICAL_BAYES, LOW_RANK)
_NAMED_THRESHOLDS = ("thinned", "cai-liu", "paper")
_STEP = 0.05
# A sparse answer keeps an unrelated pair with probability 0.13 at most.
_LOWEST_SPARSE = 1.5
# Keep only what stands out by itself unless the gain is this many of its standard errors.
_CLEAR = 2.5
# Prefer fewer entries when that costs less than this share of the noise of those kept.
_NEGLIGIBLE = 0.01
# Of the pairs: where a sparse answer keeps more, it has few zeros to lose.
_MOSTLY_KEPT = 0.5

Array = npt.NDArray[np.float64]
Fit = Callable[[BinnedEntries, float], Array]


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """The estimated squared error of every rule at every threshold, from thinning.

    Parameters
    ----------
    thresholds : ndarray
        Thresholds, in standard deviations of an entry.
    risk : mapping of str to ndarray
        For each rule, the estimated squared error of the entries above the diagonal, less
        that of the diagonal alone: negative is better than keeping nothing. The threshold of
        ``"low-rank"``, where it competed, is that of the rest.
    """

    thresholds: Array
    risk: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Choice:
    """What is done to the entries off the diagonal.

    Parameters
    ----------
    rule : str
        The name of the rule.
    threshold : float
        In standard deviations of an entry; infinite when nothing is kept.
    shrink : Rule or EmpiricalBayes
        What is applied to the entries that are kept.
    paper_threshold : float, optional
        In the units of the matrix, for ``threshold="paper"``, which does not standardize the
        entries.
    curve : RiskCurve, optional
        The risk curve, when the choice was made by thinning.
    low_rank : LowRank, optional
        What is taken out before the rule is applied to the rest, and put back.
    """

    rule: str
    threshold: float
    shrink: Rule | EmpiricalBayes
    paper_threshold: float | None = None
    curve: RiskCurve | None = None
    low_rank: LowRank | None = None

    @property
    def in_words(self) -> str:
        """The rule and its threshold, or that nothing is kept."""
        if self.low_rank is not None:
            rank = self.low_rank.rank
            words = f"low rank of {rank} factor{'' if rank == 1 else 's'}"
            return (
                words
                if math.isinf(self.threshold)
                else f"{words}, the rest at {self.threshold:.2f} sd"
            )
        if math.isinf(self.threshold):
            return "diagonal only"
        return f"{self.rule} at {self.threshold:.2f} sd"


def choose(
    matrix: Array,
    noise: NoiseModel,
    *,
    rule: str | Rule = "auto",
    threshold: str | float = "thinned",
    gamma: float | None = None,
    sparse: bool = True,
) -> Choice:
    """Choose what is done to the entries off the diagonal."""
    check_threshold(rule=rule, threshold=threshold, gamma=gamma)
    if threshold == "thinned":
        return _choose_by_thinning(matrix, noise, rule, sparse=sparse)
    if threshold == "paper":
        printed = _paper_threshold(len(matrix), noise, float(gamma or 0.0))
        choice = _stated_choice(matrix, noise, rule, printed / noise.typical_deviation)
        return replace(choice, paper_threshold=printed)
    return _stated_choice(matrix, noise, rule, _stated_threshold(threshold, len(matrix)))


def check_threshold(*, rule: str | Rule, threshold: str | float, gamma: float | None) -> None:
    """Refuse an unknown rule or threshold, and a gamma that is missing or out of place."""
    if not isinstance(threshold, (str, Real)):
        raise ParameterError(
            f"threshold must be a name or a number; got a {type(threshold).__name__}."
        )
    if rule not in ("auto", *_LEARNED):
        find_rule(rule)
    if threshold == "paper":
        if gamma is None:
            raise ParameterError(
                "threshold='paper' needs gamma, which the paper leaves open; gamma=0 allows for "
                "privacy noise alone."
            )
        check_number("gamma", gamma, low=0.0, high=math.inf, open_low=False)
    elif gamma is not None:
        raise ParameterError("gamma is for threshold='paper' alone.")
    elif threshold != "thinned":
        _stated_threshold(threshold, 2)


def _stated_choice(matrix: Array, noise: NoiseModel, rule: str | Rule, threshold: float) -> Choice:
    if rule == LOW_RANK and len(matrix) > 1:
        return _low_rank_choice(matrix, noise, threshold)
    if rule == EMPIRICAL_BAYES and len(matrix) > 1:
        return Choice(EMPIRICAL_BAYES, threshold, fit_prior(bin_entries(matrix, noise)))
    name, shrink = find_rule("hard" if rule in ("auto", *_LEARNED) else rule)
    return Choice(name, threshold, shrink)


def _stated_threshold(threshold: str | float, size: int) -> float:
    if threshold == "cai-liu":
        return 2.0 * math.sqrt(math.log(max(2, size)))
    if isinstance(threshold, str):
        known = ", ".join(repr(name) for name in _NAMED_THRESHOLDS)
        raise ParameterError(f"threshold must be one of {known}, or a number; got {threshold!r}.")
    return check_number(
        "threshold", threshold, low=0.0, high=math.inf, open_low=False, open_high=False
    )


def _paper_threshold(size: int, noise: NoiseModel, gamma: float) -> float:
    """γ √(log p / n) + 4 σ₁ √(log p): equation 10 of Wang and Xu."""
    root = math.sqrt(math.log(max(2, size)))
    return gamma * root / math.sqrt(noise.n_rows) + 4.0 * noise.off_diagonal * root


def _choose_by_thinning(
    matrix: Array, noise: NoiseModel, rule: str | Rule, *, sparse: bool
) -> Choice:
    if len(matrix) < 2:
        return Choice("hard", math.inf, RULES["hard"])
    if rule == LOW_RANK:
        return _thin_rest(matrix, noise, sparse=sparse)
    choice = _choose_for_entries(matrix, noise, rule, sparse=sparse)
    # A low-rank part has no zeros: a sparse answer has it only if most of them are gone anyway.
    if rule != "auto" or (sparse and _share_kept(matrix, noise, choice.threshold) <= _MOSTLY_KEPT):
        return choice
    copies = copy_matrix(matrix, noise)
    return choice if copies is None else _let_low_rank_compete(copies, choice, sparse=sparse)


def _choose_for_entries(
    matrix: Array, noise: NoiseModel, rule: str | Rule, *, sparse: bool
) -> Choice:
    """Let the rules compete that look at one entry at a time."""
    if rule == "auto":
        named: dict[str, Rule] = dict(RULES)
    else:
        named = {} if rule == EMPIRICAL_BAYES else dict([find_rule(rule)])
    entries = thin(matrix, noise)
    fits: dict[str, Fit] = {name: _fit_of_rule(shrink) for name, shrink in named.items()}
    if rule in ("auto", EMPIRICAL_BAYES):
        fits[EMPIRICAL_BAYES] = _fit_of_prior(fit_prior(entries.first), entries.first)
    thresholds = _threshold_grid(len(matrix), sparse=sparse)
    curves = {name: _risk_curve(entries, fit, thresholds) for name, fit in fits.items()}
    curve = RiskCurve(thresholds, {name: risk for name, (risk, _, _) in curves.items()})
    name = min(curves, key=lambda name: curves[name][0].min())
    threshold = _pick_threshold(thresholds, *curves[name], slack=_slack(sparse=sparse))
    if threshold is None:
        threshold = math.inf
        name = "hard" if rule == "auto" else name
    shrink = named[name] if name in named else fit_prior(bin_entries(matrix, noise))
    return Choice(name, _or_outstanding(threshold, len(matrix)), shrink, curve=curve)


def _let_low_rank_compete(copies: Copies, choice: Choice, *, sparse: bool) -> Choice:
    """Return the choice, or a low-rank part and a rule for the rest if that is clearly better."""
    curves = {} if choice.curve is None else choice.curve.risk
    matrix, noise = copies.matrix, copies.noise
    thresholds = _threshold_grid(len(matrix), sparse=sparse)
    fitted = _fit_of_choice(choice, copies.plain)(copies.plain.first, choice.threshold)
    before, _ = copies.plain.risk(fitted)
    fit = _fit_of_prior(fit_prior(copies.rest.first), copies.rest.first)
    risk, error, kept = _risk_curve(copies.rest, fit, thresholds)
    # There are fewer copies here than the other curves are means of: what they have of chance
    # is taken out by the risk of the same rule.
    shift = float(np.interp(choice.threshold, thresholds, curves[choice.rule])) - before
    curve = RiskCurve(thresholds, {**curves, LOW_RANK: risk + shift})
    best = int(np.argmin(risk))
    if risk[best] >= before:
        return replace(choice, curve=curve)
    gain, doubt = copies.gain(fitted, fit(copies.rest.first, float(thresholds[best])))
    if gain < _CLEAR * doubt:
        return replace(choice, curve=curve)
    threshold = _pick_threshold(thresholds, risk, error, kept, slack=_slack(sparse=sparse))
    threshold = _or_outstanding(threshold, len(matrix))
    return replace(_low_rank_choice(matrix, noise, threshold), curve=curve)


def _thin_rest(matrix: Array, noise: NoiseModel, *, sparse: bool) -> Choice:
    """Take the low-rank part out without asking, and choose the threshold of the rest."""
    copies = copy_matrix(matrix, noise)
    rest = thin(matrix, noise) if copies is None else copies.rest
    thresholds = _threshold_grid(len(matrix), sparse=sparse)
    fit = _fit_of_prior(fit_prior(rest.first), rest.first)
    risk, error, kept = _risk_curve(rest, fit, thresholds)
    threshold = _pick_threshold(thresholds, risk, error, kept, slack=_slack(sparse=sparse))
    choice = _low_rank_choice(matrix, noise, _or_outstanding(threshold, len(matrix)))
    return replace(choice, curve=RiskCurve(thresholds, {LOW_RANK: risk}))


def _low_rank_choice(matrix: Array, noise: NoiseModel, threshold: float) -> Choice:
    low_rank = find_low_rank(matrix, noise)
    prior = fit_prior(bin_entries(matrix, noise, low_rank))
    return Choice(LOW_RANK, threshold, prior, low_rank=low_rank)


def _share_kept(matrix: Array, noise: NoiseModel, threshold: float) -> float:
    entries = bin_entries(matrix, noise)
    return float(entries.count[np.abs(entries.value) > threshold].sum() / entries.count.sum())


def _slack(*, sparse: bool) -> float:
    return _NEGLIGIBLE if sparse else 0.0


def _or_outstanding(threshold: float | None, size: int) -> float:
    """Return a threshold at which what stands out by itself is kept in any case."""
    outstanding = _outstanding_threshold(size)
    return outstanding if threshold is None else min(threshold, outstanding)


def _outstanding_threshold(size: int) -> float:
    """Return the threshold that no unrelated pair passes, with probability 0.999 (Bonferroni)."""
    return bonferroni_cutoff(size, error=0.001)


def _threshold_grid(size: int, *, sparse: bool) -> Array:
    """Thresholds up to one that no entry without signal reaches."""
    highest = math.sqrt(4.0 * math.log(max(2, size))) + 1.5
    return np.arange(_LOWEST_SPARSE if sparse else 0.0, highest + _STEP, _STEP).round(2)


def _risk_curve(entries: ThinnedEntries, fit: Fit, thresholds: Array) -> tuple[Array, Array, Array]:
    """Return the risk at each threshold, its standard error, and the noise of what is kept."""
    risk, error, noise = np.zeros((3, len(thresholds)))
    for place, threshold in enumerate(thresholds):
        fitted = fit(entries.first, float(threshold))
        risk[place], error[place] = entries.risk(fitted)
        noise[place] = entries.weight[fitted != 0].sum()
    return risk, error, noise


def _pick_threshold(
    thresholds: Array, risk: Array, error: Array, noise: Array, *, slack: float
) -> float | None:
    """Return the threshold of lowest risk, or None when the gain over zeros is not clear."""
    best = int(np.argmin(risk))
    if risk[best] >= -_CLEAR * error[best] or risk[best] >= 0:
        return None
    near = risk <= risk[best] + slack * noise[best]
    return float(thresholds[np.flatnonzero(near)[-1]])


def _fit_of_rule(shrink: Rule) -> Fit:
    def fit(entries: BinnedEntries, threshold: float) -> Array:
        sizes = apply_rule(shrink, np.abs(entries.value), np.asarray(threshold))
        return np.copysign(sizes, entries.value)

    return fit


def _fit_of_choice(choice: Choice, entries: ThinnedEntries) -> Fit:
    """Return the fit of a rule that was chosen; what it learns, it learns from these entries."""
    if isinstance(choice.shrink, EmpiricalBayes):
        return _fit_of_prior(fit_prior(entries.first), entries.first)
    return _fit_of_rule(choice.shrink)


def _fit_of_prior(prior: EmpiricalBayes, entries: BinnedEntries) -> Fit:
    means = np.array(
        [prior.posterior_mean(value, group) for group, value in enumerate(entries.value)]
    )

    def fit(entries: BinnedEntries, threshold: float) -> Array:
        return np.where(np.abs(entries.value) > threshold, means, 0.0)

    return fit
