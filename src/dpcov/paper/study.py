"""The paper's experiments as a list: figures, panels, curves, sample sizes, runs.

Owns what is run and how its records are named. A trial is one simulated data set; it
serves every figure and panel that shares it. Computes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dpcov.errors import ParameterError
from dpcov.paper.models import ENTRIES
from dpcov.parameters import check_choice, check_count

__all__ = [
    "FIGURES",
    "MANNERS",
    "MOST_ROWS",
    "PANELS",
    "Curve",
    "Figure",
    "Key",
    "Panel",
    "Study",
    "Trial",
]

MANNERS = ("printed", "holds")
# As it holds every row is drawn, and the sums of the local model must fit 63 bits.
MOST_ROWS = {"printed": 10**12, "holds": 10**6}

_SIZES = {
    ("printed", "central"): (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("printed", "local"): (*(m * 10**k for k in range(4, 8) for m in (1, 3)), 10**8),
    ("holds", "central"): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("holds", "local"): (10_000, 30_000, 100_000, 300_000, 1_000_000),
}
_QUICK_SIZES = {
    ("printed", "central"): (300, 3_000, 30_000, 300_000),
    ("printed", "local"): (10_000, 100_000, 1_000_000, 100_000_000),
    ("holds", "central"): (1_000, 10_000),
    ("holds", "local"): (1_000, 10_000),
}
_QUICK_RUNS = 2


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures: an algorithm's model and the norm of the error."""

    number: int
    model: str
    norm: int

    @property
    def algorithm(self) -> str:
        """How the paper calls the algorithm."""
        return {"central": "Algorithm 1", "local": "Algorithm 2"}[self.model]


@dataclass(frozen=True)
class Curve:
    """One curve: its label and the setting behind it."""

    label: str
    sparsity_ratio: float
    n_columns: int
    epsilon: float


@dataclass(frozen=True)
class Panel:
    """Curves that differ in one thing. `reference` is the curve beside which the rate is drawn."""

    name: str
    title: str
    curves: tuple[Curve, ...]
    reference: str


FIGURES = {
    number: Figure(number, model, norm)
    for number, (model, norm) in enumerate(
        (("central", 2), ("central", 1), ("local", 2), ("local", 1)), start=1
    )
}
PANELS = (
    Panel(
        "sparsity",
        "sparsity ratio (p = 100, ε = 1)",
        tuple(Curve(f"sr = {ratio}", ratio, 100, 1.0) for ratio in (0.1, 0.2, 0.3, 0.5)),
        "sr = 0.2",
    ),
    Panel(
        "dimension",
        "dimension (sr = 0.2, ε = 1)",
        tuple(Curve(f"p = {size}", 0.2, size, 1.0) for size in (50, 100, 200, 500)),
        "p = 200",
    ),
    Panel(
        "privacy",
        "privacy (p = 200, sr = 0.2)",
        tuple(Curve(f"ε = {epsilon:g}", 0.2, 200, epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0)),
        "ε = 1",
    ),
)

# (figure, as, panel, curve, method, n, run): what names an error in the table.
Key = tuple[int, str, str, str, str, int, int]


@dataclass(frozen=True)
class Trial:
    """One simulated data set and everything that is measured on it.

    Parameters
    ----------
    manner : {"printed", "holds"}
        The paper's data and noise, or bounded rows and a true promise.
    n_columns, sparsity_ratio, entries
        The model.
    n_rows : int
        The sample size.
    run : int
        Which repetition.
    epsilons : tuple of float
        The privacy parameters of the curves that share this data set.
    models : tuple of str
        "central" for Algorithm 1, "local" for Algorithm 2.
    seed : int
        Where the randomness comes from, for all of it.
    """

    manner: str
    n_columns: int
    sparsity_ratio: float
    entries: str
    n_rows: int
    run: int
    epsilons: tuple[float, ...]
    models: tuple[str, ...]
    seed: int

    @property
    def work(self) -> float:
        """About how long it takes, in arbitrary units: for the progress bar."""
        p = self.n_columns
        rows = self.n_rows * (0.1 * p + 0.001 * p**2) if self.manner == "holds" else 0.0
        return 2e4 + rows + len(self.epsilons) * len(self.models) * (p**3 / 200 + 10 * p**2)


@dataclass(frozen=True)
class Study:
    """What to run.

    Parameters
    ----------
    figures : sequence of int
        From 1 to 4.
    manners : sequence of {"printed", "holds"}
        As printed, as it holds, or both.
    runs : int
        Repetitions of every experiment.
    sizes : sequence of int, optional
        Sample sizes n for all curves. The paper does not state its own; by default they
        span the range in which the curves move.
    entries : {"normal", "uniform"}
        Distribution of the model's entries, which the paper does not state.
    seed : int
        Another seed repeats the study with other data.
    quick : bool
        Few runs and sizes, to see everything once.

    Examples
    --------
    >>> study = Study(figures=(1,), manners=("printed",), runs=2, sizes=(1000,))
    >>> len(study.trials()), len(study.keys())
    (14, 24)
    """

    figures: Sequence[int] = (1, 2, 3, 4)
    manners: Sequence[str] = MANNERS
    runs: int | None = None
    sizes: Sequence[int] | None = None
    entries: str = "normal"
    seed: int = 0
    quick: bool = False
    n_runs: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.figures or not set(self.figures) <= set(FIGURES):
            got = ", ".join(str(figure) for figure in self.figures) or "none"
            raise ParameterError(f"figure must be 1, 2, 3, 4 or all; got {got}.")
        if not self.manners:
            raise ParameterError("Choose at least one of 'printed' and 'holds'.")
        for manner in self.manners:
            check_choice("as", manner, MANNERS)
        check_choice("entries", self.entries, ENTRIES)
        check_count("seed", self.seed, low=0)
        default = _QUICK_RUNS if self.quick else 20
        runs = default if self.runs is None else check_count("runs", self.runs, low=1)
        object.__setattr__(self, "n_runs", runs)
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.sizes is None:
            return
        if not self.sizes:
            raise ParameterError("n needs at least one sample size.")
        for manner in self.manners:
            for size in self.sizes:
                check_count(
                    "n",
                    size,
                    low=2,
                    high=MOST_ROWS[manner],
                    advice="As it holds, every row is drawn." if manner == "holds" else "",
                )

    def sizes_of(self, manner: str, model: str) -> tuple[int, ...]:
        """Return the sample sizes of a model's figures."""
        if self.sizes is not None:
            return tuple(sorted(set(self.sizes)))
        return (_QUICK_SIZES if self.quick else _SIZES)[manner, model]

    def methods(self, manner: str, figure: Figure) -> tuple[str, ...]:
        """Return what is compared in a figure."""
        return (figure.algorithm,) if manner == "printed" else (figure.algorithm, "dpcov")

    def trials(self) -> list[Trial]:
        """Return all trials, the longest first, so that both ends of a long job are even."""
        trials = [
            trial
            for manner in dict.fromkeys(self.manners)
            for run in range(self.n_runs)
            for trial in self._trials_of(manner, run)
        ]
        return sorted(trials, key=lambda trial: -trial.work)

    def keys(self) -> dict[Key, int]:
        """Return the name of every record of the study, with the seed behind it."""
        return {key: trial.seed for trial in self.trials() for key in self.keys_of(trial)}

    def keys_of(self, trial: Trial) -> Iterator[Key]:
        """Yield the names of a trial's records."""
        for figure in self._figures():
            if figure.model not in trial.models:
                continue
            for panel, curve in curves_of(trial):
                for method in self.methods(trial.manner, figure):
                    place = (panel.name, curve.label, method, trial.n_rows, trial.run)
                    yield (figure.number, trial.manner, *place)

    def _figures(self) -> list[Figure]:
        return [FIGURES[number] for number in sorted(set(self.figures))]

    def _trials_of(self, manner: str, run: int) -> Iterator[Trial]:
        models = sorted({figure.model for figure in self._figures()})
        sizes = {model: self.sizes_of(manner, model) for model in models}
        for (ratio, n_columns), epsilons in _settings().items():
            for n_rows in sorted(set().union(*sizes.values())):
                yield Trial(
                    manner=manner,
                    n_columns=n_columns,
                    sparsity_ratio=ratio,
                    entries=self.entries,
                    n_rows=n_rows,
                    run=run,
                    epsilons=epsilons,
                    models=tuple(model for model in models if n_rows in sizes[model]),
                    seed=_seed(self.seed, manner, self.entries, n_columns, ratio, n_rows, run),
                )


def curves_of(trial: Trial) -> Iterator[tuple[Panel, Curve]]:
    """Yield the curves that a trial serves."""
    for panel in PANELS:
        for curve in panel.curves:
            if (curve.sparsity_ratio, curve.n_columns) == (trial.sparsity_ratio, trial.n_columns):
                yield panel, curve


def _settings() -> dict[tuple[float, int], tuple[float, ...]]:
    """Return every model of the panels with the values of ε that it is needed for."""
    found: dict[tuple[float, int], tuple[float, ...]] = {}
    for panel in PANELS:
        for curve in panel.curves:
            model = (curve.sparsity_ratio, curve.n_columns)
            found[model] = tuple(sorted({*found.get(model, ()), curve.epsilon}))
    return found


def _seed(*facts: object) -> int:
    """Return a seed of 63 bits that depends on nothing but what the trial is."""
    text = " ".join(str(fact) for fact in facts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
