"""What an audit found: values, and the words for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.version import __version__

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audit", "Finding"]

_ROUNDING = 1e-9  # of a claim: bounds are computed in floating point
_WORDS = {
    "broken": "A CLAIM IS BROKEN: a lower bound on epsilon is above what is claimed.",
    "too few runs": (
        "The audit was too short: it did not catch every planted bug, so that it says little. "
        "Give it more minutes."
    ),
    "holds": "No claim is refuted, and every planted bug was caught.",
}


@dataclass(frozen=True)
class Finding:
    """One line of an audit: a mechanism, or a mechanism with a planted bug.

    Attributes
    ----------
    name : str
        Of the pair of tables, one of `neighbors`.
    title : str
        What is attacked, in words.
    bug : str or None
        Which bug was planted; None for the mechanism as it is.
    relation : str
        In which way the tables are neighbors.
    claims : tuple of str
        Claims of docs/privacy.md.
    claimed, delta : float
        The promise.
    bounds : mapping
        Lower bounds on ε, by how they were found: ``"clopper-pearson"`` and ``"gaussian-dp"`` from
        the likelihood ratio of all answers of the noise door, ``"published"`` from what was
        released alone.
    most : float or None
        What runs without end would find: exactly for Gaussian noise, otherwise an estimate.
    runs : int
        On each of the tables.
    seconds : float
        How long it took.
    """

    name: str
    title: str
    bug: str | None
    relation: str
    claims: tuple[str, ...]
    claimed: float
    delta: float
    bounds: Mapping[str, float]
    most: float | None
    runs: int
    seconds: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", MappingProxyType(dict(self.bounds)))

    @property
    def lower_bound(self) -> float:
        """The largest of the lower bounds."""
        return max(self.bounds.values())

    @property
    def exceeds(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.lower_bound > self.claimed * (1 + _ROUNDING)

    @property
    def verdict(self) -> str:
        """``"holds"`` or ``"BROKEN"``; for a planted bug ``"caught"`` or ``"missed"``."""
        if self.bug is None:
            return "BROKEN" if self.exceeds else "holds"
        return "caught" if self.exceeds else "missed"

    def to_dict(self) -> dict[str, Any]:
        """Return it for machines.

        Returns
        -------
        dict
        """
        return {
            "name": self.name,
            "title": self.title,
            "bug": self.bug,
            "neighbors": self.relation,
            "claims": list(self.claims),
            "claimed_epsilon": self.claimed,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "bounds": dict(self.bounds),
            "most": self.most,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Audit:
    """The findings of an audit.

    Attributes
    ----------
    findings : tuple of Finding
        Each mechanism, followed by its planted bugs.
    epsilon, delta : float
        What mechanisms were asked to promise.
    confidence : float
        With which all lower bounds together are right.
    seconds : float
        How long it took.
    """

    findings: tuple[Finding, ...]
    epsilon: float
    delta: float
    confidence: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no lower bound is above what is claimed."""
        return not any(each.exceeds for each in self.findings if each.bug is None)

    @property
    def is_powerful(self) -> bool:
        """Whether every planted bug was caught."""
        return all(each.exceeds for each in self.findings if each.bug is not None)

    @property
    def verdict(self) -> str:
        """``"broken"``, ``"too few runs"`` or ``"holds"``."""
        if not self.holds:
            return "broken"
        return "holds" if self.is_powerful else "too few runs"

    @property
    def in_words(self) -> str:
        """The verdict in a sentence."""
        return _WORDS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for machines.

        Returns
        -------
        dict
        """
        return {
            "dpcov": __version__,
            "verdict": self.verdict,
            "in_words": self.in_words,
            "promise": {"epsilon": self.epsilon, "delta": self.delta},
            "confidence": self.confidence,
            "seconds": round(self.seconds, 3),
            "findings": [each.to_dict() for each in self.findings],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a data frame.

        Returns
        -------
        pandas.DataFrame
        """
        kept = [each.to_dict() for each in self.findings]
        for each in kept:
            each["claims"] = " ".join(each["claims"])
            each |= {f"by {name}": bound for name, bound in each.pop("bounds").items()}
        frame: pd.DataFrame = load_pandas().DataFrame(kept)
        return frame

    def __repr__(self) -> str:
        return f"Audit({len(self.findings)} lines, {self.verdict})"

    def _repr_html_(self) -> str:
        return show("Audit", [self.in_words], HEADER, [cells(each) for each in self.findings])


HEADER = ("mechanism", "claimed", "found", "most", "runs", "time", "verdict")
"""What the columns of the table are called."""


def cells(finding: Finding) -> tuple[str, ...]:
    """Return a line of the table as text; planted bugs are indented."""
    return (
        finding.title if finding.bug is None else f"  bug: {finding.bug}",
        f"{finding.claimed:.2f}",
        f"{finding.lower_bound:.2f}",
        "" if finding.most is None else f"{finding.most:.2f}",
        f"{finding.runs:,}",
        f"{finding.seconds:.1f} s",
        finding.verdict,
    )
