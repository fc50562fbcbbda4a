"""What the options mean, by hand: which steps there are, and how far one person moves each.

Written from docs/privacy.md and from the documentation of the options. Calls nothing of
dpcov: a mistake in its plans is not repeated here.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, stats

from wiring.account import gaussian_delta
from wiring.choices import ALWAYS, BOUNDED, learns_centers

MOST_STREAM_ROWS = 3_800_000
SUM_BITS = 62  # exact sums stay below 2^62 (P7)
CENTER_ANSWERS = 20  # about centers of signs, each with noise for all of them together (P30)


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
    draws: int = 1  # answers of one step: each may move as far


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


def _bits(n_rows, options):
    terms = MOST_STREAM_ROWS if options["table"] == "stream" else n_rows
    if options["table"] != "stream" and options["center"] == "differences":
        terms = n_rows // 2
    return _finest(terms)


def _finest(terms, constant_share=0.0):
    return max(b for b in range(4, 21) if terms * 4**b * (1 + constant_share) <= 2**SUM_BITS)


def _dense(options, n_rows, size):
    """P1, P17, P20: B = 4^b is the largest squared norm of a row on the grid."""
    m, learned = _people(options), _learned(options, n_rows, size)
    # What is learned is read from a table of known length.
    terms = n_rows if learned or options["table"] != "stream" else MOST_STREAM_ROWS
    largest = 4 ** _finest(terms, 1 / 16)
    constant = math.isqrt(largest // 16)
    moments = m * math.sqrt(2) * (largest + constant**2)
    nearly = 0.98 if _gaps(options, size) else 0.99
    if options["row_norm"] is None and isinstance(options["columns"], dict):
        nearly = 0.97  # limits let no row be far longer than the radius
    if options["neighbors"] == "add-remove":
        removed = m * math.sqrt(largest**2 + 2 * constant**2 * largest)
        # Where gaps are counted a row without cells leaves traces: any row may take its place
        # (P28). The audit compares with a row of zeros.
        nearly *= removed / moments if _gaps(options, size) else 1.0
        moments = moments if _gaps(options, size) else removed
    # An indicator beside each column whose cells may be missing (P28), and the constant.
    columns = size + _gaps(options, size) + 1
    return [*learned, Expected("moments", "moments", columns, moments, nearly)]


def _counted(options, size):
    """Return how many columns have their cells counted first: all, unless gaps are refused.

    Whoever goes on whatever the counts say has them only where they are used otherwise.
    """
    if "mismatch" in options.get("allow", ()):
        return _gaps(options, size) if options["row_norm"] is None else 0
    return 0 if options["missing"] == "refuse" else size


def _gaps(options, size):
    return size if options["missing"] == "pairwise" else 0


# Documented shares, and how many answers a step has.
SHARES = {
    "center": 0.06, "limit": 0.06, "mean": 0.02, "scale": 0.04,
    "beyond": 0.005, "radius": 0.04, "clipping": 0.03,
}  # fmt: skip
ANSWERS = {"range": 9, "center": 14, "limit": 7, "radius": 7}
CELL_STEPS, SQUARE_STEPS = 1024, 4096


def _learned(options, n_rows, size):
    """P22 to P26: the steps that have something to learn; a cell stands for −low to high."""
    counted = _counted(options, size)
    # As much as lets an empty column be clearly below a tenth of the rows.
    clear = stats.norm.isf(1e-6 / counted) if counted else 0.0
    noise = _multiplier(1.0) * _people(options) * math.sqrt(counted)
    observed = min(0.04, max(0.01, (clear * noise / n_rows / 0.06) ** 2))
    if options["row_norm"] is not None:
        first = _summed("observed", counted, 0, 1, observed, options, n_rows)
        return [first] if counted else []
    centers, scales = _unknown(options, size)
    limits = (centers | scales) - _answers(options, n_rows, size)
    # Of all answers, and one more for each limit, one is wrong once in a million releases.
    margin = stats.norm.isf(1e-6 / (len(limits) * (ANSWERS["range"] + 1))) if limits else 0.0
    whole = _multiplier(1.0) * _people(options) * math.sqrt(len(limits) * ANSWERS["range"])
    # As much as lets the tail of a range be a fifth of the rows, up to a quarter of the budget.
    needed = (margin * whole / n_rows / 0.2) ** 2
    shares = SHARES | {"range": min(0.25, max(0.04, needed)), "observed": observed}
    shares |= options["shares"] or {}

    quantiles = {
        "range": (len(limits), 1, 1),
        "center": (len(centers), 1, 2),
        "limit": (len(limits), 1, 1),
    }
    asked = {"observed": (counted, 0, 1)}
    asked |= {step: (k, a, d - a) for step, (k, a, d) in quantiles.items()}
    asked |= {
        "mean": (len(centers), CELL_STEPS, CELL_STEPS),
        "scale": (len(scales), 0, SQUARE_STEPS),
        "beyond": (size, 0, 1),
        "radius": (1, 0, 1),
        "clipping": (2, 0, SQUARE_STEPS),
    }
    return [
        _summed(step, columns, low, high, shares[step], options, n_rows)
        for step, (columns, low, high) in asked.items()
        if columns
    ]


def _answers(options, n_rows, size):
    """Return the columns whose bounds are those of answers, where tails drown in noise."""
    noise = _multiplier(0.04) * _people(options) * math.sqrt(size * ANSWERS["range"])
    if not isinstance(options["columns"], dict) or 4 * noise <= 0.2 * n_rows:
        return set()
    bounds = [_bounds_of(fact) for fact in options["columns"].values()]
    return {
        place
        for place, (low, high) in enumerate(bounds)
        if float(low).is_integer() and float(high).is_integer() and high - low <= 10
    }


def _bounds_of(fact):
    """Return the bounds that a fact states; infinite ones are no whole numbers."""
    if isinstance(fact, dict):
        fact = fact.get("lower"), fact.get("upper")
    low, high = fact
    return -math.inf if low is None else low, math.inf if high is None else high


def _summed(name, columns, low, high, share, options, n_rows):
    """Return a step of sums over cells that stand for −low to high, on the finest grid."""
    # In either relation: a row that adds nothing to the moments is still a row.
    sensitivity = _people(options) * math.sqrt(columns) * (low + high)
    answers = ANSWERS.get(name, 1)
    scale = math.ceil(_multiplier(share) * sensitivity * math.sqrt(answers))
    largest = n_rows * max(low, high)
    bits = max(0, min(32 - scale.bit_length(), SUM_BITS - largest.bit_length()))
    nearly = _attained(name, options)
    if options["missing"] == "pairwise" and name in ("range", "limit"):
        nearly *= 0.9  # other quantiles are asked for where cells seem to be missing
    if options["neighbors"] == "add-remove":  # the audit compares with a row without cells
        nearly *= max(low, high) / (low + high)
    return Expected(name, "gaussian", columns, sensitivity * 2**bits, nearly, answers)


def _attained(step, options):
    """Return how much of a sensitivity some candidates attain.

    They are not at every median, which the first answers about ranges and limits ask for.
    Within bounds no cell is as far as one can be without, and none is beyond narrow ones. The
    radius lets a row have a far cell, so that few rows of far cells are three radii long, and
    none within narrow bounds is longer.
    """
    if step == "observed" and (options["missing"] == "center" or options["row_norm"] is not None):
        return 0.7  # few candidates lack cells where gaps are not the point
    if options["columns"] == BOUNDED:
        return 0.0 if step in ("beyond", "clipping") else 0.7
    if _bounds(options):
        return 0.86
    return {"range": 0.94, "limit": 0.92, "clipping": 0.94}.get(step, 0.99)


def _unknown(options, size):
    """Return the columns whose center, and those whose scale, is not stated."""
    facts = options["columns"]
    if not isinstance(facts, dict):
        return set(range(size)), set(range(size))
    stated = [fact if isinstance(fact, dict) else {} for fact in facts.values()]
    return tuple(
        {place for place, fact in enumerate(stated) if name not in fact}
        for name in ("center", "scale")
    )


def _multiplier(share):
    """Return noise over sensitivity for a share of the promise: of squared distances."""
    whole = optimize.brentq(
        lambda mu: gaussian_delta(ALWAYS["epsilon"], mu) - ALWAYS["delta"], 1e-3, 1e3
    )
    return 1 / (whole * math.sqrt(share))


def _pairs(options, n_rows, size):
    """P10, P30, P31: one person moves a sum of signs by 2 or 1, the squares by a bound on cells."""
    m = _people(options)
    sign = m * (2 if options["neighbors"] == "replace" else 1)
    count, all_pairs = options["max_pairs"], size * (size - 1) // 2
    expected = []
    if learns_centers(options):
        whole = math.sqrt(size) * 2**20
        # In either relation: a row that adds nothing about the centers is still a row. The audit
        # compares with a row without cells.
        nearly = 0.5 if options["neighbors"] == "replace" else 0.25
        answers = Expected("centers", "gaussian", size, 2 * m * whole, nearly, CENTER_ANSWERS)
        expected += [answers, Expected("signs", "gaussian", size, sign * whole)]
    if count < all_pairs:
        expected.append(Expected("selection", "selection", count, sign, nearly=1.0))
    # At most 4 of 6 products of four signs can change together.
    nearly = 0.99 if count < all_pairs else math.sqrt(4 / 6) * 0.99
    values = sign * math.sqrt(count) * 2**20
    expected.append(Expected("values", "gaussian", count, values, nearly))
    if options["scales"] is None and options["row_norm"] is not None:
        grid = 2 ** _bits(n_rows, options)
        bound = grid if options["cell_bound"] is None else math.floor(options["cell_bound"] * grid)
        expected.append(_variances(options, size, grid, bound))
    return expected


def _variances(options, size, grid, bound):
    """P10: squares of cells up to a bound and, about a center, cells with a weight beside them."""
    differences = options["center"] == "differences" or (
        options["center"] is None and not learns_centers(options)
    )
    weight = 0 if differences else math.isqrt(int(0.8 * grid / math.sqrt(size) * bound))
    share = (weight / bound) ** 2
    most = 1 + share
    if options["neighbors"] == "replace":
        most = 2 * (1 + share + share**2 / 3)
    # The rows of the audit have cells on one side of zero: t = 0 in the proof.
    nearly = 0.99 * math.sqrt((1 + share) / (1 + share + share**2 / 3))
    moved = _people(options) * bound * grid * math.sqrt(most)
    return Expected("variances", "gaussian", size * (1 if differences else 2), moved, nearly)


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
    return math.sqrt(expected.draws) * expected.sensitivity / scales[0]
