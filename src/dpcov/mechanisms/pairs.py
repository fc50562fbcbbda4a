"""The pairs mechanism: which pairs of columns move together, and how much.

Owns the steps after the sums: release mean signs if centers were learned, select pairs by
their noisy co-movement, release the co-movements of the selected pairs and the variances of
the columns. The noise grows with √(pairs) and not with the columns.
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
from dpcov.mechanisms.pairs_centering import MEAN_BITS, CenteredSums, PlainSums
from dpcov.releases.pairs import PAIRS, MeanSigns, PairsProvenance, PairsRelease
from dpcov.releases.variances import Variances
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
    """Select pairs and add the calibrated noise: a place where rows leave the house.

    `public_variances` are published beside the pairs, as the caller stated them; the stream is
    used for this release alone.
    """
    made_for = (
        calibration.n_columns,
        calibration.n_terms,
        calibration.differences,
        calibration.squares,
    )
    found = (sums.n_columns, sums.n_terms, sums.differences, sums.rule)
    if found != made_for or len(columns) != calibration.n_columns:
        raise ParameterError("The sums were not made for this calibration.")
    means = _release_signs(sums, calibration, stream)
    compared = _compared(sums, calibration, means)
    stream.begin("selection")
    chosen = select_largest(
        compared.scores,
        count=calibration.max_pairs,
        scale=calibration.selection_scale,
        stream=stream,
    )
    pairs = _pairs_at(chosen, len(columns))
    stream.begin("values")
    noisy = add_noise(compared.values(pairs), calibration.value_scale, stream)
    variances = _release_variances(sums, calibration, stream)
    if public_variances is not None:
        scale = 1.0 if units is None else units.scale
        variances = Variances(public_variances / scale**2, 0.0)
    made = calibration.squares
    return PairsRelease(
        pairs=pairs,
        co_movement=noisy / float(calibration.n_terms << FINER_BITS) * compared.factors(pairs),
        noise_scale=calibration.noise_scale,
        n_terms=calibration.n_terms,
        mean_signs=means,
        variances=variances,
        n_rows=calibration.n_rows,
        columns=columns,
        provenance=PairsProvenance(
            version=__version__,
            mechanism=PAIRS,
            calibrated_for=calibration.promise,
            center=calibration.center,
            max_pairs=calibration.max_pairs,
            selection_scale=calibration.selection_scale,
            row_norm=None if made is None else made.grid.row_norm,
            cell_bound=None if made is None else made.cell_bound * made.grid.step,
            events=calibration.events,
            missing=missing,
            rows_per_unit=calibration.rows_per_unit,
        ),
        simulated=stream.simulated,
        units=Units.plain(len(columns)) if units is None else units,
    )


def _release_signs(
    sums: CoMovement, calibration: PairsCalibration, stream: RandomStream
) -> MeanSigns | None:
    """Release the mean sign of every column about its learned center, on a coarse grid.

    Notes
    -----
    Claim P30. A row has a sign of size at most 1 in each column: the sums of signs of p columns
    move by at most 2√p when it is replaced, and by √p when one without signs takes its place.
    """
    if not calibration.learns:
        return None
    stream.begin("signs")
    noisy = add_noise(sums.totals << FINER_BITS, calibration.sign_scale, stream)
    steps = np.rint(noisy / float(calibration.n_terms << (FINER_BITS - MEAN_BITS)))
    return MeanSigns(np.clip(steps * 2.0**-MEAN_BITS, -1.0, 1.0), calibration.mean_sign_noise)


def _compared(
    sums: CoMovement, calibration: PairsCalibration, means: MeanSigns | None
) -> PlainSums | CenteredSums:
    if means is None:
        return PlainSums(sums)
    subtracted, expected = (
        np.rint(part * 2.0**MEAN_BITS).astype(np.int64)
        for part in (means.subtracted, means.expected[0])
    )
    return CenteredSums(sums, subtracted, expected, calibration.promise.neighbors)


def _release_variances(
    sums: CoMovement, calibration: PairsCalibration, stream: RandomStream
) -> Variances | None:
    """Release mean squares and, about a center, means with them: variances follow.

    Notes
    -----
    Claim P10. Sums of squares and weighted sums of cells are one Gaussian step. Half the squared
    differences of rows are variances as they are.
    """
    rule, squares, cells = calibration.squares, sums.squares, sums.cells
    if rule is None or squares is None or cells is None:
        return None
    stream.begin("variances")
    if not rule.weight:
        noisy = add_noise(squares, calibration.square_scale, stream).astype(np.float64)
        return Variances(noisy * calibration.square_step, calibration.square_noise)
    # A weight is at most the bound on cells: these sums are no larger than those of squares.
    both = np.concatenate([squares, rule.weight * cells])
    noisy = add_noise(both, calibration.square_scale, stream).astype(np.float64)
    mean_squares = noisy[: len(squares)] * calibration.square_step
    means = noisy[len(squares) :] * calibration.mean_step
    noise = calibration.mean_noise
    # The square of a noisy mean is too large by the variance of its noise.
    values = mean_squares - means**2 + noise**2
    return Variances(values, calibration.square_noise, means, noise)


def _pairs_at(places: npt.NDArray[np.int64], n_columns: int) -> npt.NDArray[np.int32]:
    """Return (i, j) for places in the triangle above the diagonal, row by row."""
    row = np.arange(n_columns)
    starts = row * (2 * n_columns - row - 1) // 2
    first = np.searchsorted(starts, places, side="right") - 1
    # The last row of the triangle is empty and starts where the one before ends.
    first = np.minimum(first, n_columns - 2)
    second = places - starts[first] + first + 1
    return np.stack([first, second], axis=1).astype(np.int32)
