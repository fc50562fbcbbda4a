"""What a device runs: a person's row goes in, the bytes of a report come out.

Owns the order of the steps on the device: center and scale, clip, randomize, encode. This
is the only room of the local model that sees a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError, ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.randomness import RandomStream
from dpcov.local.cap import draw_seed, draw_seeds, draw_uniform, lift_rows
from dpcov.local.gaussian import noisy_products
from dpcov.local.integers import pack
from dpcov.local.plan import CollectionPlan
from dpcov.local.report import encode_reports
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["randomize", "simulate_reports"]

Row = Sequence[float] | Mapping[str, float] | npt.NDArray[Any]


def randomize(x: Row, plan: CollectionPlan, *, seed: int | None = None) -> bytes:
    """Make the report of one person. Spends the privacy budget of the plan.

    Parameters
    ----------
    x : sequence, array, mapping or pandas Series
        The person's row: a number for each column, in the order of the plan; by name for a
        mapping and for whatever has labels. NaN, infinities, None and masked cells are
        missing: see `CollectionPlan`.
    plan : CollectionPlan
        What the server published.
    seed : int, optional
        Makes a repeatable *simulation*, which promises nothing and which a collector of
        real reports refuses.

    Returns
    -------
    bytes
        The report: `plan.report_bytes` of them.

    Raises
    ------
    InputError
        The row does not fit the plan. The message does not say what is in it.

    Notes
    -----
    Formal guarantee: the report is epsilon-differentially private for ``"cap"`` and
    (epsilon, delta)-differentially private for ``"gaussian"``, for any two rows (claims
    P14 and P15 in docs/privacy.md).

    A person who answers again must send the *same* report again. A second call is a second
    disclosure: the promises add up, and two reports of one row tell more than one. Use
    `Device`, which keeps the report.

    Examples
    --------
    >>> plan = CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
    >>> len(randomize({"a": 0.3, "b": -0.5}, plan))
    50
    """
    _check_plan(plan)
    rows = _one_row(x, plan)
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    whole = _whole_rows(rows, plan)
    report_id = draw_uniform(1, stream)
    if plan.mechanism == "cap":
        payload = draw_seed(lift_rows(whole, plan.bits, mean=plan.mean)[0], plan.cap, stream)[None]
    else:
        payload = _packed(whole[0], plan, stream)[None]
    report = encode_reports(plan, report_id, payload, simulated=stream.simulated)
    return report.tobytes()


def simulate_reports(
    rows: npt.NDArray[np.float64], plan: CollectionPlan, *, seed: int
) -> npt.NDArray[np.uint8]:
    """Make the reports of many people at once, for a simulation.

    Parameters
    ----------
    rows : ndarray, shape (n_people, n_columns)
        Their rows.
    plan : CollectionPlan
        What the server published.
    seed : int
        Makes the simulation repeatable. The reports promise nothing.

    Returns
    -------
    ndarray of uint8, shape (n_people, plan.report_bytes)
        For `Collector.add_many` of a collector with ``simulated=True``.

    Examples
    --------
    >>> plan = CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
    >>> simulate_reports(np.zeros((1000, 2)), plan, seed=1).shape
    (1000, 50)
    """
    _check_plan(plan)
    if (
        not isinstance(rows, np.ndarray)
        or rows.ndim != 2
        or rows.shape[1] != plan.n_columns
        or rows.dtype.kind not in "biuf"
    ):
        raise InputError("rows must be an array: a number for each person and column of the plan.")
    rows = _filled(rows)
    stream = RandomStream.from_seed(seed)
    whole = _whole_rows(rows, plan)
    ids = draw_uniform(len(rows), stream)
    if plan.mechanism == "cap":
        payloads = draw_seeds(lift_rows(whole, plan.bits, mean=plan.mean), plan.cap, stream)
    else:
        payloads = np.empty((len(rows), plan.payload_bytes), dtype=np.uint8)
        for row, payload in zip(whole, payloads, strict=True):
            payload[:] = _packed(row, plan, stream)
    return encode_reports(plan, ids, payloads, simulated=True)


def _check_plan(plan: object) -> None:
    if not isinstance(plan, CollectionPlan):
        raise ParameterError(
            "plan must be a CollectionPlan; read the server's text with its from_json."
        )


def _one_row(x: object, plan: CollectionPlan) -> npt.NDArray[np.float64]:
    problem = f"The row must be {plan.n_columns} real numbers, one for each column of the plan."
    if hasattr(x, "items"):  # a mapping, or a Series: labels decide, not the order
        x = _by_name(x, plan)
        problem = "The row must have one real number for each column of the plan, by name."
    try:
        row = _numbers(x)
    except Exception:  # whatever an object says about itself may hold data
        row = None
    if row is None or row.shape != (plan.n_columns,):
        raise InputError(problem)
    return row[None]


def _by_name(x: Any, plan: CollectionPlan) -> list[object] | None:
    try:
        items = [(label, cell) for label, cell in x.items()]
        cells = dict(items)
        fits = len(items) == len(cells) and set(cells) == set(plan.columns)
    except Exception:  # see above
        fits = False
    if not fits:
        raise InputError(
            "The row must have a value for each column of the plan, by name, and no others. "
            "Without names, give a list or an array in the order of the plan."
        )
    return [cells[name] for name in plan.columns]


def _numbers(x: object) -> npt.NDArray[np.float64] | None:
    """Return cells as floats, NaN where they are missing, or None if they are no numbers."""
    if isinstance(x, Sequence) and not isinstance(x, str | bytes):
        x = [_number(cell) if _is_missing(cell) or _is_long(cell) else cell for cell in x]
    row = _filled(x) if isinstance(x, np.ndarray) else np.asarray(x)
    if row.dtype == object and row.ndim == 1:
        return np.array([_number(cell) for cell in row.tolist()], dtype=np.float64)
    if row.dtype.kind not in "biuf":
        return None
    with np.errstate(all="ignore"):  # a warning would be about the data
        return row.astype(np.float64)


def _filled(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array with NaN in the place of masked cells."""
    if not isinstance(rows, np.ma.MaskedArray):
        return rows
    if rows.dtype.kind not in "biuf":
        return np.ma.filled(rows.astype(object), np.nan)
    with np.errstate(all="ignore"):
        return np.ma.filled(rows.astype(np.float64), np.nan)


def _is_missing(cell: object) -> bool:
    # pandas has a missing value of its own, which is neither a number nor comparable.
    return cell is None or cell is np.ma.masked or type(cell).__name__ == "NAType"


def _is_long(cell: object) -> bool:
    return isinstance(cell, int) and cell.bit_length() > 63


def _number(cell: object) -> float:
    """Return one cell as a float; integers may be longer than 64 bits."""
    if _is_missing(cell):
        return np.nan
    if not isinstance(cell, Real | np.bool_):
        raise TypeError
    try:
        return float(cell)
    except OverflowError:  # beyond all floats: infinite, like 1e999
        return np.inf


def _whole_rows(rows: npt.NDArray[Any], plan: CollectionPlan) -> npt.NDArray[np.float64]:
    """Center, scale and clip rows to integers; each is a function of itself alone (P2)."""
    # Overflow is meant, and a warning about it would be about the data.
    with np.errstate(all="ignore"):
        scaled = (rows - np.array(plan.center)) / np.array(plan.scale)
    whole = np.empty(scaled.shape)
    grid = Grid(row_norm=plan.row_norm, bits=plan.bits)
    # As the protocol has it, for devices of every language.
    quantize_rows(scaled, grid, plan.missing, whole, to_whole=np.trunc)
    return whole


def _packed(
    whole: npt.NDArray[np.float64], plan: CollectionPlan, stream: RandomStream
) -> npt.NDArray[np.uint8]:
    return np.frombuffer(pack(noisy_products(whole, plan.noise, stream), plan.noise), np.uint8)
