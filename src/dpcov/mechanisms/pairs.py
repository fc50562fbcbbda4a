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
from dpcov.mechanisms.pairs_calibration import FINER_BITS, PairsCalibration
from dpcov.releases.pairs import PAIRS, PairsProvenance, PairsRelease, Variances
from dpcov.sensitive.sums.signs import CoMovement
from dpcov.version import __version__

__all__ = ["release_co_movement"]


def release_co_movement(
    sums: CoMovement,
    calibration: PairsCalibration,
    *,
    columns: tuple[str, ...],
    stream: RandomStream,
    public_variances: npt.NDArray[np.float64] | None = None,
    units: Units | None = None,
    missing: Missing = Missing.REFUSE,
) -> PairsRelease:
    """Select pairs and add the calibrated noise: a place where rows leave the house."""
    made_for = (
        calibration.n_columns,
        calibration.n_terms,
        calibration.differences,
        calibration.squares,
    )
    found = (sums.n_columns, sums.n_terms, sums.differences, sums.rule)
    if found != made_for or len(columns) != calibration.n_columns:
        raise ParameterError("The sums were not made for this calibration.")
    chosen = select_largest(
        lambda: map(np.abs, sums.triangle.above_diagonal()),
        count=calibration.max_pairs,
        scale=calibration.selection_scale,
        stream=stream,
    )
    pairs = _pairs_at(chosen, len(columns))
    fine = sums.triangle.at(pairs[:, 0], pairs[:, 1]).astype(np.int64) << FINER_BITS
    noisy = add_noise(fine, calibration.value_scale, stream)
    variances = _release_squares(sums, calibration, stream)
    if public_variances is not None:
        scale = 1.0 if units is None else units.scale
        variances = Variances(public_variances / scale**2, 0.0)
    made = calibration.squares
    return PairsRelease(
        pairs=pairs,
        co_movement=noisy / float(calibration.n_terms << FINER_BITS),
        noise_scale=calibration.noise_scale,
        n_terms=calibration.n_terms,
        variances=variances,
        n_rows=calibration.n_rows,
        columns=columns,
        provenance=PairsProvenance(
            version=__version__,
            mechanism=PAIRS,
            calibrated_for=calibration.promise,
            center="differences" if calibration.differences else "public",
            max_pairs=calibration.max_pairs,
            selection_scale=calibration.selection_scale,
            row_norm=None if made is None else made.grid.row_norm,
            cell_bound=None if made is None else made.cell_bound * made.grid.unit,
            events=calibration.events,
            missing=missing,
            rows_per_unit=calibration.rows_per_unit,
        ),
        simulated=stream.simulated,
        units=Units.plain(len(columns)) if units is None else units,
    )


def _release_squares(
    sums: CoMovement, calibration: PairsCalibration, stream: RandomStream
) -> Variances | None:
    if sums.squares is None:
        return None
    noisy = add_noise(sums.squares, calibration.square_scale, stream)
    values = noisy.astype(np.float64) * calibration.square_step
    return Variances(values, calibration.variance_scale)


def _pairs_at(places: npt.NDArray[np.int64], n_columns: int) -> npt.NDArray[np.int32]:
    """Return (i, j) for places in the triangle above the diagonal, row by row."""
    row = np.arange(n_columns)
    starts = row * (2 * n_columns - row - 1) // 2
    first = np.searchsorted(starts, places, side="right") - 1
    # The last row of the triangle is empty and starts where the one before ends.
    first = np.minimum(first, n_columns - 2)
    second = places - starts[first] + first + 1
    return np.stack([first, second], axis=1).astype(np.int32)
