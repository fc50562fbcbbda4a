"""Components in words: eigenvalues, loadings, and what to know of them.

Owns these texts. Terminal, notebook and files show the same.
"""

from __future__ import annotations

import numpy as np

from dpcov.answers.components import Components
from dpcov.answers.sentences import caveats, whom
from dpcov.answers.text_table import align
from dpcov.digits import in_digits_of, name_some

__all__ = [
    "EIGENVALUES",
    "eigenvalue_lines",
    "loading_lines",
    "sentences",
    "summarize",
]

EIGENVALUES = (
    "", "eigenvalue", "std. error", "from", "to", "share", "as released", "of unrelated columns"
)  # fmt: skip


def summarize(found: Components, confidence: float) -> str:
    """Return components as a text."""
    title = f"{found.n_components} principal components of {len(found.columns)} columns"
    title += f", by their {found.of}s"
    heading, lines = loading_lines(found)
    parts = [title, "", align(EIGENVALUES, eigenvalue_lines(found, confidence)), ""]
    parts += [_loadings_title(found), "", align(heading, lines), ""]
    return "\n".join([*parts, *sentences(found, confidence)])


def eigenvalue_lines(found: Components, confidence: float) -> list[list[str]]:
    """Return the lines of the table of eigenvalues."""
    values = found.eigenvalues
    low, high = values.interval(confidence)
    lines = []
    for place, (value, error) in enumerate(
        zip(values.values.tolist(), values.standard_errors.tolist(), strict=True)
    ):
        numbers = [value, error, float(low[place]), float(high[place])]
        written = [in_digits_of(error, number) for number in numbers]
        share = f"{100 * values.shares[place]:.1f} %"
        seen, unrelated = float(values.seen[place]), float(values.unrelated[place])
        # To the digits in which they differ: which of them is larger decides.
        step = min(error, abs(seen - unrelated))
        compared = [in_digits_of(step, seen), f"< {in_digits_of(step, unrelated)}"]
        lines.append([f"C{place + 1}", *written, share, *compared])
    return lines


def loading_lines(found: Components) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the lines of the table of loadings, with errors if they are told."""
    heading = [""]
    for name in found.names:
        heading += [name, "±"]
    lines = [[column] for column in found.columns]
    for place in range(found.n_components):
        for row, line in enumerate(lines):
            value = float(found.loadings[row, place])
            error = float(found.loading_errors[row, place])
            if found.told[place]:
                line += [in_digits_of(error, value), in_digits_of(error, error)]
            else:
                line += [f"({value:.2g})", "–"]
    return heading, lines


def sentences(found: Components, confidence: float) -> list[str]:
    """Return what to know of components."""
    said = [_above(found), whom(found.block.release, found.columns, found.about, confidence)]
    # Components that are turned in any case need not be told from each other.
    groups = (
        group for group in found.groups if not found.rotation or group[-1] >= found.n_components
    )
    for group in groups:
        names = name_some([f"C{place + 1}" for place in group])
        said.append(
            f"{names} cannot be told from each other: their eigenvalues are closer than the noise. "
            "What they span together can be read, and their loadings one by one cannot."
        )
    untold = [name for name, told in zip(found.names, found.told, strict=True) if not told]
    if untold:
        said.append(
            f"Loadings of {name_some(untold)}, in brackets, cannot be told: the noise turns "
            f"{'it' if len(untold) == 1 else 'them'} too far."
        )
    if found.rotation == "promax":
        said.append(f"Rotated components are correlated: {_correlations(found)}.")
    return said + caveats(found.block.release, found.columns)


def _above(found: Components) -> str:
    above = found.eigenvalues.above
    if not above:
        return (
            "No component stands above what noise and sampling give to unrelated columns: there "
            "may be none that columns have in common."
        )
    stand = "1 component stands" if above == 1 else f"{above} components stand"
    return (
        f"{stand} above what noise and sampling give to unrelated columns: compared are "
        "eigenvalues as released, with what both add to them."
    )


def _loadings_title(found: Components) -> str:
    how = "not rotated" if found.rotation is None else f"rotated by {found.rotation}"
    return f"Loadings, {how}: explaining " + ", ".join(
        f"{100 * share:.1f} %" for share in found.explained.tolist()
    )


def _correlations(found: Components) -> str:
    first, second = np.triu_indices(found.n_components, 1)
    return name_some(
        f"{found.names[i]} and {found.names[j]} {found.correlations[i, j]:+.2f}"
        for i, j in zip(first.tolist(), second.tolist(), strict=True)
    )
