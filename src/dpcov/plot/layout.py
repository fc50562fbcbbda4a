"""A small graph on paper: the places of its nodes and of their names.

Owns the room that names take. networkx places the nodes of each connected component (Kamada and
Kawai 1989: distances on paper are those along edges), names go where they cover least, and the
components are packed in rows. Nothing is random: the same graph gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

__all__ = ["LETTER", "LINE", "Layout", "lay_out"]

LETTER, LINE = 0.1, 0.27
"""The room of a letter and of a line of text, in lengths of an edge."""

_GAP = 0.25  # between components
_SHAPE = 1.4  # width over height of the whole
_OFFSET = 0.12  # of a name from its node
# Where a name goes: above, below, right, left, or between two of them; of equal ones the first.
_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
_ROUNDS = 3

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Side = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where nodes and their names go.

    Parameters
    ----------
    places : ndarray, shape (n_nodes, 2)
        Coordinates; an edge is about 1 long.
    sides : tuple of (int, int)
        The side of each node on which its name stands, right and up being positive.
    low, high : ndarray, shape (2,)
        The corners of the whole, names included.
    """

    places: Array
    sides: tuple[Side, ...]
    low: Array
    high: Array


def lay_out(first: Places, second: Places, lengths: Sequence[int]) -> Layout:
    """Lay out a graph whose nodes have names.

    Examples
    --------
    >>> path = lay_out(np.array([0, 1]), np.array([1, 2]), [1, 1, 1])
    >>> round(float(np.linalg.norm(path.places[2] - path.places[0])), 1)
    2.0
    """
    size = len(lengths)
    graph = nx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(zip(first.tolist(), second.tolist(), strict=True))
    widths = LETTER * np.asarray(lengths)
    members = [np.array(sorted(part)) for part in nx.connected_components(graph)]
    drawn = [_spread(graph.subgraph(nodes.tolist()), nodes) for nodes in members]
    sides: list[Side] = [(0, 1)] * size
    boxes = []
    for nodes, part in zip(members, drawn, strict=True):
        own = np.isin(first, nodes)
        ends = (np.searchsorted(nodes, first[own]), np.searchsorted(nodes, second[own]))
        chosen = _choose_sides(part, ends, widths[nodes])
        for node, side in zip(nodes.tolist(), chosen, strict=True):
            sides[node] = side
        boxes.append(_box(part, chosen, widths[nodes]))
    places = np.empty((size, 2))
    moves, corner = _pack([high - low for low, high in boxes])
    for nodes, part, (low, _), move in zip(members, drawn, boxes, moves, strict=True):
        places[nodes] = part - low + move
    return Layout(places, tuple(sides), np.zeros(2), corner)


def _spread(graph: Any, nodes: Places) -> Array:
    """Return the places of the nodes of a connected graph whose edges are about 1 long."""
    if len(nodes) == 2:  # upright: one name above, the other below
        return np.array([[0.0, 0.8], [0.0, 0.0]])
    found = nx.kamada_kawai_layout(graph, pos=nx.circular_layout(nodes.tolist()))
    places = np.array([complex(*found[node]) for node in nodes.tolist()])
    ends = np.searchsorted(nodes, np.array(graph.edges))
    places /= np.abs(places[ends[:, 0]] - places[ends[:, 1]]).mean()
    places -= places.mean()
    flat = places * np.exp(-0.5j * np.angle((places**2).sum()))  # the long side
    return np.column_stack([flat.real, flat.imag])


def _choose_sides(places: Array, ends: tuple[Places, Places], widths: Array) -> list[Side]:
    """Choose for each name the side where it covers the fewest names, nodes and edges.

    In a few rounds: where the last name has no room, another one may make it.
    """
    along = np.linspace(0.05, 0.95, 19)[:, None, None]
    lines = (places[ends[0]] * (1 - along) + places[ends[1]] * along).reshape(-1, 2)
    names: dict[int, tuple[Array, Array]] = {}
    chosen: dict[int, Side] = {}
    # From the outside in: the middle has less choice, but can also be read without it.
    order = np.argsort(-np.linalg.norm(places - places.mean(axis=0), axis=1), kind="stable")
    for node in order.tolist() * _ROUNDS:
        names.pop(node, None)
        others = list(names.values())
        boxes = [_name_box(places[node], side, float(widths[node])) for side in _SIDES]
        costs = [_cost(box, others, places, lines) for box in boxes]
        best = int(np.argmin(costs))
        names[node], chosen[node] = boxes[best], _SIDES[best]
    return [chosen[node] for node in range(len(places))]


def _cost(
    box: tuple[Array, Array], others: list[tuple[Array, Array]], places: Array, lines: Array
) -> float:
    low, high = box
    overlaps = sum(
        float(np.prod(np.maximum(np.minimum(high, b) - np.maximum(low, a), 0))) for a, b in others
    )
    inside = 5 * _count_inside(places, low, high) + _count_inside(lines, low, high)
    return 100 * overlaps + inside


def _count_inside(points: Array, low: Array, high: Array) -> int:
    return int(((points > low) & (points < high)).all(axis=1).sum())


def _name_box(place: Array, side: Side, width: float) -> tuple[Array, Array]:
    half = np.array([width, LINE]) / 2
    middle = place + np.array(side) * (half + _OFFSET)
    return middle - half, middle + half


def _box(places: Array, sides: Sequence[Side], widths: Array) -> tuple[Array, Array]:
    names = [_name_box(*name) for name in zip(places, sides, widths.tolist(), strict=True)]
    low = np.min([places.min(axis=0), *(name[0] for name in names)], axis=0) - _GAP / 2
    high = np.max([places.max(axis=0), *(name[1] for name in names)], axis=0) + _GAP / 2
    return low, high


def _pack(boxes: Sequence[Array]) -> tuple[list[Array], Array]:
    """Put boxes in rows so that the whole can be drawn large; return their lower corners."""
    sizes = np.array(boxes)
    order = np.lexsort((-sizes[:, 0].round(6), -sizes[:, 1].round(6))).tolist()
    widths = np.linspace(sizes[:, 0].max(), max(sizes[:, 0].max(), sizes[:, 0].sum()), 40)
    tried = [_fill_rows(sizes, order, float(width)) for width in widths]
    # The first of equal ones: the narrowest.
    return max(tried, key=lambda packed: round(min(_SHAPE / packed[1][0], 1 / packed[1][1]), 9))


def _fill_rows(sizes: Array, order: list[int], most: float) -> tuple[list[Array], Array]:
    """Fill rows up to a width, the tallest boxes first, each row centered."""
    rows: list[list[int]] = [[]]
    for number in order:
        if rows[-1] and sizes[rows[-1], 0].sum() + sizes[number, 0] > most + 1e-9:
            rows.append([])
        rows[-1].append(number)
    wide = max(sizes[row, 0].sum() for row in rows)
    corners = [np.zeros(2)] * len(sizes)
    bottom = 0.0
    for row in reversed(rows):
        height = sizes[row, 1].max()
        left = (wide - sizes[row, 0].sum()) / 2
        for number in row:
            corners[number] = np.array([left, bottom + (height - sizes[number, 1]) / 2])
            left += sizes[number, 0]
        bottom += height
    return corners, np.array([wide, bottom])
