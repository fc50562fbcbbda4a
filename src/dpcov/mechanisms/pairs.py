"""The pairs mechanism: which pairs of columns move together, and how much.

Owns the three steps: select pairs by their noisy co-movement, release the co-movements of
the selected pairs, release the variances of the columns. The noise grows with √(pairs) and
not with the columns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.noise import add_noise, select_largest
from dpcov.mechanisms.pairs_plan import FINER_BITS, PairsPlan
from dpcov.releases.pairs import PAIRS, PairsProvenance, PairsRelease, Variances
from dpcov.sensitive.sums.signs import CoMovement
from dpcov.version import __version__

__all__ = ["release_pairs"]


def release_pairs(
    sums: CoMovement,
    plan: PairsPlan,
    *,
    columns: tuple[str, ...],
    stream: RandomStream,
    public_variances: npt.NDArray[np.float64] | None = None,
    units: Units | None = None,
    missing: Missing = Missing.REFUSE,
) -> PairsRelease:
    """Select pairs and add the planned noise: a place where rows leave the house.

    Parameters
    ----------
    sums : CoMovement
        The exact sums.
    plan : PairsPlan
        From `plan_pairs`.
    columns : tuple of str
        Column names.
    stream : RandomStream
        Where the noise comes from. Used for this release alone.
    public_variances : ndarray, optional
        Published beside the pairs, as the caller stated them.
    units : Units, optional
        What working units are.
    missing : Missing
        What was done with missing cells.
    """
    made_for = (plan.n_columns, plan.n_terms, plan.differences, plan.squares)
    found = (sums.n_columns, sums.n_terms, sums.differences, sums.rule)
    if found != made_for or len(columns) != plan.n_columns:
        raise ParameterError("The sums were not made for this plan.")
    chosen = select_largest(
        lambda: map(np.abs, sums.triangle.above_diagonal()),
        count=plan.max_pairs,
        scale=plan.selection_scale,
        stream=stream,
    )
    pairs = _pairs_at(chosen, len(columns))
    fine = sums.triangle.at(pairs[:, 0], pairs[:, 1]).astype(np.int64) << FINER_BITS
    noisy = add_noise(fine, plan.value_scale, stream)
    variances = _release_squares(sums, plan, stream)
    if public_variances is not None:
        scale = 1.0 if units is None else units.scale
        variances = Variances(public_variances / scale**2, 0.0)
    made = plan.squares
    return PairsRelease(
        pairs=pairs,
        co_movement=noisy / float(plan.n_terms << FINER_BITS),
        noise_scale=plan.noise_scale,
        n_terms=plan.n_terms,
        variances=variances,
        n_rows=plan.n_rows,
        columns=columns,
        provenance=PairsProvenance(
            version=__version__,
            mechanism=PAIRS,
            calibrated_for=plan.promise,
            center="differences" if plan.differences else "public",
            max_pairs=plan.max_pairs,
            selection_scale=plan.selection_scale,
            row_norm=None if made is None else made.grid.row_norm,
            cell_bound=None if made is None else made.cell_bound * made.grid.unit,
            events=plan.events,
            missing=missing,
            rows_per_unit=plan.rows_per_unit,
        ),
        simulated=stream.simulated,
        units=Units.plain(len(columns)) if units is None else units,
    )


def _release_squares(sums: CoMovement, plan: PairsPlan, stream: RandomStream) -> Variances | None:
    if sums.squares is None:
        return None
    noisy = add_noise(sums.squares, plan.square_scale, stream)
    values = noisy.astype(np.float64) * plan.square_cell
    return Variances(values, plan.variance_scale)


def _pairs_at(places: npt.NDArray[np.int64], n_columns: int) -> npt.NDArray[np.int32]:
    """Return (i, j) for places in the triangle above the diagonal, row by row."""
    row = np.arange(n_columns)
    starts = row * (2 * n_columns - row - 1) // 2
    first = np.searchsorted(starts, places, side="right") - 1
    # The last row of the triangle is empty and starts where the one before ends.
    first = np.minimum(first, n_columns - 2)
    second = places - starts[first] + first + 1
    return np.stack([first, second], axis=1).astype(np.int32)
