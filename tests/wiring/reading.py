"""What the options mean, by hand: which steps there are, and how far one person moves each.

Written from docs/privacy.md and from the documentation of the options. Calls nothing of
dpcov: a mistake in its plans is not repeated here.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

MOST_STREAM_ROWS = 3_800_000
SUM_BITS = 62  # exact sums stay below 2^62 (P7)


@dataclass(frozen=True)
class Expected:
    """A step: its kind, how many numbers it lets out, and its sensitivity.

    For Gaussian steps the sensitivity is Euclidean; for moments it is that of the whole
    matrix in Frobenius norm. For selections it is how far one score can move.
    """

    name: str
    kind: str
    size: int
    sensitivity: float
    nearly: float = 0.99  # this much of the sensitivity is attained by some neighbors


def steps(options, *, n_rows, size, pairs):
    """Return the steps that a release with these options must have, in order."""
    if not pairs:
        return _dense(options, n_rows, size)
    expected = _pairs(options, n_rows, size)
    if _bounds(options):
        # Bounds do not let the person's row outweigh the one that it is paired with.
        expected = [replace(step, nearly=0.5) for step in expected]
    return expected


def _bounds(options):
    """Return how many columns have two bounds, and how many have one: None are infinite."""
    facts = options["columns"] if isinstance(options["columns"], dict) else {}
    return [None not in stated for stated in facts.values() if isinstance(stated, tuple)]


def _people(options):
    return options["rows_per_unit"] or 1


def _apart(options):
    """√2 when any row may take the place of any other, 1 when only nothing may."""
    return math.sqrt(2) if options["neighbors"] == "replace" else 1.0


def _bits(n_rows, options, constant_share=0.0):
    terms = MOST_STREAM_ROWS if options["table"] == "stream" else n_rows
    if options["table"] != "stream" and options["center"] == "differences":
        terms = n_rows // 2
    return max(b for b in range(4, 21) if terms * 4**b * (1 + constant_share) <= 2**SUM_BITS)


def _dense(options, n_rows, size):
    """P1, P17, P18, P20: B = 4^b is the largest squared norm of a row on the grid."""
    m = _people(options)
    expected = []
    # The corner of bounds is short where they give the scales; otherwise it is learned.
    if options["row_norm"] is None and sum(_bounds(options)) < size:
        expected.append(Expected("radius", "selection", 1, m, nearly=1.0))
    largest = 4 ** _bits(n_rows, options, constant_share=0.1)
    constant = math.isqrt(largest // 10)
    moments = m * math.sqrt(2) * (largest + constant**2)
    if options["neighbors"] == "add-remove":
        moments = m * math.sqrt(largest**2 + 2 * constant**2 * largest)
    expected.append(Expected("moments", "moments", size + 1, moments))
    return expected


def _pairs(options, n_rows, size):
    """P10: one person moves a sum of signs by 2 or 1, and the squares by a bound on cells."""
    m = _people(options)
    sign = m * (2 if options["neighbors"] == "replace" else 1)
    count, all_pairs = options["max_pairs"], size * (size - 1) // 2
    expected = []
    if count < all_pairs:
        expected.append(Expected("selection", "selection", count, sign, nearly=1.0))
    # At most 4 of 6 products of four signs can change together.
    nearly = 0.99 if count < all_pairs else math.sqrt(4 / 6) * 0.99
    values = sign * math.sqrt(count) * 2**20
    expected.append(Expected("values", "gaussian", count, values, nearly))
    if options["scales"] is None and options["row_norm"] is not None:
        grid = 2 ** _bits(n_rows, options)
        bound = grid if options["cell_bound"] is None else math.floor(options["cell_bound"] * grid)
        squares = m * _apart(options) * bound * grid
        expected.append(Expected("variances", "gaussian", size, squares))
    return expected


def moved(expected, one, other, scales):
    """Return how far two tables are apart in a step, as a share of what is allowed."""
    if expected.kind == "selection":
        move = one[0] - other[0]
        # The loss of a choice ranges over (largest − smallest move) / scale, at most 2Δ/scale.
        return max(
            float(np.abs(move).max()) / expected.sensitivity,
            float(move.max() - move.min()) / (2 * expected.sensitivity),
        )
    weight = [1 / scale for scale in scales]
    moves = [np.array(a - b, dtype=float) for a, b in zip(one, other, strict=True)]
    found = math.sqrt(sum(w**2 * (m**2).sum() for w, m in zip(weight, moves, strict=True)))
    return found / spent(expected, scales)


def spent(expected, scales):
    """Return the distance of the Gaussian pair, Δ/σ, or the range 2Δ/s of a choice."""
    if expected.kind == "selection":
        return 2 * expected.sensitivity / scales[0]
    if expected.kind == "moments":
        # Orthonormal for the Frobenius norm: the diagonal, and √2 times what is above it.
        diagonal, above = scales
        return expected.sensitivity / min(diagonal, math.sqrt(2) * above)
    return expected.sensitivity / scales[0]
