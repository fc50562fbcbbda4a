"""`dpcov.plan`: what can be learned, before any data is touched.

Owns the advice: which mechanism, which correlations will show, how many rows a wanted
correlation needs. Everything follows from public facts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpcov.bisection import smallest_count
from dpcov.columns import Columns
from dpcov.columns.missing import Missing
from dpcov.errors import InputError, ParameterError
from dpcov.mechanisms.dense import DenseOptions
from dpcov.mechanisms.dense_outlook import (
    budget_shares,
    check_size,
    dense_outlook,
    what_is_stated,
)
from dpcov.mechanisms.door import Facts
from dpcov.mechanisms.options import read_columns
from dpcov.mechanisms.outlook import (
    Outlook,
    best_shares,
    check_pairs_shown,
    choose_center,
    pairs_outlook,
)
from dpcov.multiplicity import count_pairs
from dpcov.notebook import show
from dpcov.parameters import check_choice, check_count, check_number
from dpcov.planning.reports import reports_outlook
from dpcov.privacy import ApproxDP, Neighbors, PureDP

__all__ = ["Forecast", "plan"]

_CENTERS = ("differences", "learned", "stated")
_MOST_ROWS = 2**40
# On twenty real tables at four promises, dpcov.release listed more true pairs wherever it was
# forecast to show this, but for near ties; where it was not, pairs did. See docs/methods.md.
_ENOUGH = 1 / 3


@dataclass(frozen=True)
class Forecast:
    """What each mechanism will show. Made by `dpcov.plan`.

    Parameters
    ----------
    n_rows, n_columns, max_pairs : int
        The table, or the people who report and their columns; and the pairs to release.
    promise : ApproxDP or PureDP
        What will be promised.
    center : {"differences", "learned", "stated"}
        How the pairs mechanism centers the columns.
    outlooks : tuple of Outlook
        One for each mechanism.

    Examples
    --------
    >>> import dpcov
    >>> print(dpcov.plan(n=20_000, p=1000, epsilon=1.0, delta=1e-6, max_pairs=200))
    20000 rows × 1000 columns, (1, 1e-06)-differential privacy, replace-one neighbors
    mechanism   noise   shown 1 in 2   shown 9 in 10
    dense       0.385           none            none
    pairs      0.0212           0.13           0.158
    Shares of the budget of dense: observed 4 %, range 25 %, center 6 %, limit 6 %, mean 2 %, \
scale 4 %, beyond 0.5 %, radius 4 %, clipping 3 %, moments 45.5 %. Nothing is stated. So few rows \
teach limits roughly, and long tails may be cut: state center and scale where you know them.
    Use dpcov.release_pairs with max_pairs=200, center='learned': a correlation of 0.13 will be \
shown with probability one half, one of 0.16 with probability 0.9. That is for about Gaussian \
columns: skewed ones, and those of few values, show less in signs. dpcov.release would refuse it: \
20,000 rows of 1000 columns are too few at epsilon = 1: a correlation would have to be 2.05 to be \
seen half of the time. Use at least 36,447 rows; or epsilon of at least 1.92; or fewer columns; or \
release it all the same with allow={'small'}.
    """

    n_rows: int
    n_columns: int
    max_pairs: int
    promise: ApproxDP | PureDP
    center: str
    outlooks: tuple[Outlook, ...]
    _options: DenseOptions | None = field(default=None, repr=False)

    @property
    def columns(self) -> Columns | None:
        """The facts of columns that are stated, if any are."""
        return None if self._options is None else self._options.facts

    @property
    def row_norm(self) -> float | None:
        """The row norm, if it is stated."""
        return None if self._options is None else self._options.row_norm

    @property
    def shares(self) -> dict[str, float]:
        """The share of the budget of each step of `dpcov.release`; none in the local model.

        Examples
        --------
        >>> import dpcov
        >>> facts = {"age": (18, 110), "income": (0, None)}
        >>> forecast = dpcov.plan(n=20_000, epsilon=1.0, delta=1e-6, columns=facts)
        >>> round(forecast.shares["moments"], 3)
        0.695
        """
        if self._options is None:
            return {}
        return budget_shares(self._options, n_rows=self.n_rows, n_columns=self.n_columns)

    @property
    def recommended(self) -> str:
        """The mechanism to use.

        Of a table, `dpcov.release` unless it will hardly show a correlation of one third: real
        columns show less in signs than the forecast of pairs says, and it lists all pairs. If it
        will not, and of reports, the one that shows the smallest correlation with probability
        one half.
        """
        dense = [each for each in self.outlooks if each.mechanism == "dense"]
        if dense and dense[0].shown_half <= _ENOUGH:
            return "dense"
        return self._smallest

    def outlook(self, mechanism: str) -> Outlook:
        """Return the outlook of a mechanism."""
        check_choice("mechanism", mechanism, [outlook.mechanism for outlook in self.outlooks])
        (found,) = (outlook for outlook in self.outlooks if outlook.mechanism == mechanism)
        return found

    def best_shares(self) -> dict[str, float]:
        """Return the split of the budget that lets the pairs mechanism show most.

        For ``dpcov.release_pairs(..., shares=...)``. The default, one half each, is rarely far off.
        """
        if not isinstance(self.promise, ApproxDP) or self._is_local:
            raise ParameterError("In the local model there is no budget to split.")
        return best_shares(
            self.promise,
            n_rows=self.n_rows,
            n_columns=self.n_columns,
            max_pairs=self.max_pairs,
            center=self.center,
        )

    def rows_needed(
        self, correlation: float, *, power: float = 0.5, mechanism: str | None = None
    ) -> int:
        """Return how many rows show a correlation, everything else being equal.

        Parameters
        ----------
        correlation : float
            In (0, 1).
        power : {0.5, 0.9}
            With which probability.
        mechanism : str, optional
            By default the one that is recommended for so many rows.

        Examples
        --------
        >>> import dpcov
        >>> forecast = dpcov.plan(n=20_000, p=1000, epsilon=1.0, delta=1e-6, max_pairs=200)
        >>> forecast.rows_needed(0.1) > 20_000
        True
        """
        wanted = check_number("correlation", correlation, low=0.0, high=1.0)
        if power not in (0.5, 0.9):
            raise ParameterError("power must be 0.5 or 0.9.")
        if mechanism is not None:
            return self._rows_needed(wanted, power, mechanism)
        needed = {
            outlook.mechanism: self._rows_needed(wanted, power, outlook.mechanism)
            for outlook in self.outlooks
        }
        advised = (n for name, n in needed.items() if self._at(n).recommended == name)
        return min(advised, default=max(needed.values()))

    def _rows_needed(self, wanted: float, power: float, mechanism: str) -> int:
        self.outlook(mechanism)

        def is_enough(n_rows: int) -> bool:
            outlook = self._outlook(mechanism, n_rows)
            shown = outlook.shown_half if power == 0.5 else outlook.shown_most
            return shown <= wanted

        return smallest_count(
            is_enough,
            start=4,
            most=_MOST_ROWS,
            otherwise=f"No number of rows up to 2^40 shows {wanted:g}.",
        )

    def __str__(self) -> str:
        who = "people" if self._is_local else "rows"
        lines = [f"{self.n_rows} {who} × {self.n_columns} columns, {self.promise}"]
        lines.append("mechanism   noise   shown 1 in 2   shown 9 in 10")
        lines += [
            f"{outlook.mechanism:<9} {outlook.noise_scale:>7.3g} "
            f"{_shown(outlook.shown_half):>14} {_shown(outlook.shown_most):>15}"
            for outlook in self.outlooks
        ]
        return "\n".join(filter(None, [*lines, self.budget, self.advice]))

    def _repr_html_(self) -> str:
        rows = [
            (
                outlook.mechanism,
                f"{outlook.noise_scale:.3g}",
                _shown(outlook.shown_half),
                _shown(outlook.shown_most),
            )
            for outlook in self.outlooks
        ]
        heading = ("mechanism", "noise", "shown 1 in 2", "shown 9 in 10")
        return show(str(self).split("\n", maxsplit=1)[0], [self.budget, self.advice], heading, rows)

    @property
    def budget(self) -> str:
        """How `dpcov.release` splits the budget, and what is stated; empty in the local model."""
        if self._options is None:
            return ""
        shares = ", ".join(f"{step} {100 * share:.3g} %" for step, share in self.shares.items())
        stated = what_is_stated(self._options, n_rows=self.n_rows, n_columns=self.n_columns)
        return f"Shares of the budget of dense: {shares}. {stated}"

    def _outlook(self, mechanism: str, n_rows: int) -> Outlook:
        """Return the outlook of a mechanism for some number of rows."""
        if self._options is None:
            return reports_outlook(mechanism, self.promise, n_rows, self.n_columns)
        if mechanism == "dense":
            return dense_outlook(self._options, n_rows=n_rows, n_columns=self.n_columns)
        return pairs_outlook(
            self._options.promise,
            n_rows=n_rows,
            n_columns=self.n_columns,
            max_pairs=self.max_pairs,
            center=self.center,
        )

    def _at(self, n_rows: int) -> Forecast:
        """Return the forecast of the same mechanisms for some number of rows."""
        mechanisms = [outlook.mechanism for outlook in self.outlooks]
        return replace(self, n_rows=n_rows)._with_outlooks(*mechanisms)

    def _with_outlooks(self, *mechanisms: str) -> Forecast:
        outlooks = tuple(self._outlook(mechanism, self.n_rows) for mechanism in mechanisms)
        return replace(self, outlooks=outlooks)

    @property
    def _is_local(self) -> bool:
        return self.promise.neighbors is Neighbors.LOCAL

    @property
    def _smallest(self) -> str:
        """The mechanism that is forecast to show the smallest correlation."""
        return min(self.outlooks, key=lambda outlook: outlook.shown_half).mechanism

    @property
    def advice(self) -> str:
        """What to do, in a sentence, and what the forecast of pairs assumes, in another."""
        best = self.outlook(self.recommended)
        if self._is_local and best.shown_half > 1:
            return (
                "No correlation, however strong, will be shown: more people, fewer columns or a "
                "larger epsilon are needed."
            )
        refused = {each.mechanism: self._refusal(each.mechanism) for each in self.outlooks}
        if refused[best.mechanism]:
            return refused[best.mechanism]
        how = {
            "dense": "dpcov.release",
            "pairs": f"dpcov.release_pairs with max_pairs={self.max_pairs}, center={self.center!r}",
        }.get(best.mechanism, f"mechanism={best.mechanism!r}")
        most = (
            f", one of {_two_digits(best.shown_most)} with probability 0.9"
            if best.shown_most <= 1
            else ""
        )
        return (
            f"Use {how}: a correlation of {_two_digits(best.shown_half)} will be shown with "
            f"probability one half{most}.{self._about_pairs}{' '.join(['', *refused.values()])}"
        ).rstrip()

    def _refusal(self, mechanism: str) -> str:
        """Say why a mechanism would refuse such a table, if it would."""
        if self._options is None:
            return ""
        try:
            if mechanism == "dense":
                fields = self._options.fields(self.n_columns)
                check_size(self._options, fields, self.n_rows)
                return ""
            check_pairs_shown(
                self._options.promise,
                n_rows=self.n_rows,
                n_columns=self.n_columns,
                max_pairs=self.max_pairs,
                center=self.center,
            )
        except InputError as refused:
            how = {"dense": "dpcov.release"}.get(mechanism, "dpcov.release_pairs")
            return f"{how} would refuse it: {refused}"
        return ""

    @property
    def _about_pairs(self) -> str:
        """Say what the forecast of pairs assumes, where it is the smaller one."""
        if self._smallest != "pairs":
            return ""
        if self.recommended == "pairs":
            return (
                " That is for about Gaussian columns: skewed ones, and those of few values, show "
                "less in signs."
            )
        return (
            " The smaller numbers of pairs hold for about Gaussian columns only. On real tables "
            "with a forecast like this one, dpcov.release nearly always listed as many true pairs "
            "or more."
        )


def plan(
    *,
    n: int,
    p: int | None = None,
    epsilon: float,
    delta: float | None = None,
    columns: Facts | None = None,
    row_norm: float | None = None,
    shares: Mapping[str, float] | None = None,
    max_pairs: int | None = None,
    neighbors: str = "replace",
    center: str | None = None,
) -> Forecast:
    """Say what can be learned from a table, before any data is touched.

    Parameters
    ----------
    n : int
        The number of rows, or of people who report.
    p : int, optional
        The number of columns. Not needed beside `columns`, and then it must agree.
    epsilon, delta : float
        The promise. In the local model `delta` is for Gaussian reports alone.
    columns : Columns, mapping, path of a .toml or .json file, or sequence of str, optional
        What will be stated of the columns, as for `dpcov.release`: what is stated need not be
        learned.
    row_norm, shares : optional
        As for `dpcov.release`, if they will be stated.
    max_pairs : int, optional
        How many pairs of columns the pairs mechanism would release; p by default.
    neighbors : {"replace", "add-remove", "local"}
        The neighboring relation; ``"local"`` plans reports from devices (`dpcov.local`).
    center : {"differences", "learned", "stated"}, optional
        Whether `dpcov.release_pairs` takes differences of rows, learns centers, or has stated
        ones. By default what it does if no center is stated: it learns centers where differences
        would show strong correlations alone.

    Returns
    -------
    Forecast
        The smallest correlations that will show, the noise of an entry, and which function
        to use. Print it.

    Notes
    -----
    The forecast of `dpcov.release` has the budget, the noise and the allowance for clipping of the
    release itself. What it cannot know is how long rows are: it takes them to be as in real tables,
    of which 8 in 10 had a noise within a factor of 1.6 of the forecast (docs/methods.md). With
    `row_norm`, columns are taken to vary by the scales that are stated, or within bounds as real
    ones do; without either, `row_norm` to be that of 99 % of the rows. Pairs are forecast for about
    Gaussian columns; skewed ones, and those with few values, show less. So they are advised only
    where `dpcov.release` will hardly show a correlation of one third. To show means: to stand out
    in a test of all pairs that has a false one with probability 0.05; a pair must also be
    selected, when no other pair is related.

    Examples
    --------
    >>> import dpcov
    >>> nothing = dpcov.plan(n=20_000, p=2, epsilon=1.0, delta=1e-6)
    >>> facts = {"age": {"center": 45, "scale": 18}, "sleep": {"center": 7, "scale": 1.3}}
    >>> stated = dpcov.plan(n=20_000, epsilon=1.0, delta=1e-6, columns=facts)
    >>> nothing.shares["moments"] < stated.shares["moments"]
    True
    """
    relation = Neighbors.parse(neighbors)
    n_rows = check_count("n", n, low=4)
    facts, names = read_columns(columns)
    if facts is not None:
        facts.check_named("a plan")
    n_columns = _count_columns(p, names if facts is None else facts.names)
    if relation is Neighbors.LOCAL:
        if row_norm is not None or shares is not None:
            raise ParameterError("row_norm= and shares= are for a table, not for reports.")
        return _plan_reports(n_rows, n_columns, epsilon, delta)
    if delta is None:
        raise ParameterError("delta must be given; only neighbors='local' can do without.")
    promise = ApproxDP(epsilon, delta, relation)
    all_pairs = count_pairs(n_columns)
    wanted = min(n_columns, all_pairs) if max_pairs is None else max_pairs
    count = check_count("max_pairs", wanted, low=1, high=all_pairs)
    if center is None:
        center = choose_center(promise, n_rows=n_rows, n_columns=n_columns, max_pairs=count)
    center = check_choice("center", center, _CENTERS)
    options = DenseOptions(
        promise=promise,
        facts=facts,
        row_norm=row_norm,
        shares=shares,
        rows_per_unit=1,
        missing=Missing.PAIRWISE if row_norm is None else Missing.REFUSE,
    )
    options.check(n_columns)
    made = Forecast(n_rows, n_columns, count, promise, center, (), options)
    return made._with_outlooks("dense", "pairs")


def _count_columns(p: int | None, names: tuple[str, ...] | None) -> int:
    """Return how many columns there are, by their number, by their names, or by both."""
    if names is None and p is None:
        raise ParameterError("p must be given, or columns=.")
    stated = len(names) if names is not None else p
    if p is not None and check_count("p", p, low=2) != stated:
        raise ParameterError(f"p is {p}, but columns= has {stated} columns. Leave p out.")
    return check_count("p" if names is None else "the number of columns", stated, low=2)


def _plan_reports(n_people: int, n_columns: int, epsilon: float, delta: float | None) -> Forecast:
    promise: ApproxDP | PureDP = (
        PureDP(epsilon, Neighbors.LOCAL)
        if delta is None
        else ApproxDP(epsilon, delta, Neighbors.LOCAL)
    )
    made = Forecast(n_people, n_columns, n_columns, promise, "stated", ())
    return made._with_outlooks(*(("cap",) if delta is None else ("cap", "gaussian")))


def _shown(correlation: float) -> str:
    return f"{correlation:.3g}" if correlation <= 1 else "none"


def _two_digits(correlation: float) -> str:
    """Write a number with two decimals, or more if it takes more to show two digits of it."""
    return f"{correlation:.{max(2, 1 - math.floor(math.log10(correlation)))}f}"
