import itertools

import numpy as np
import pytest

from dpcov.plot.layout import _name_box, lay_out


def graph(edges):
    first, second = np.array(edges).T
    return first, second


def star(leaves):
    return [(0, leaf) for leaf in range(1, leaves + 1)]


def clique(size):
    return list(itertools.combinations(range(size), 2))


def ring(size):
    return [(node, (node + 1) % size) for node in range(size)]


def places_of(edges):
    return lay_out(*graph(edges), [1] * (np.max(edges) + 1)).places


@pytest.mark.parametrize("edges", [star(8), clique(12), ring(9), [*star(3), (1, 4), (4, 5)]])
def test_no_two_nodes_fall_on_each_other(edges):
    places = places_of(edges)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
    assert apart.min() > 0.3


def test_a_path_is_drawn_flat_and_at_its_length():
    places = places_of([(0, 1), (1, 2), (2, 3), (3, 4)])
    assert np.ptp(places[:, 0]) == pytest.approx(4, abs=0.05)
    assert np.ptp(places[:, 1]) < 0.3


def test_the_same_graph_is_the_same_drawing():
    first, second = graph(clique(6))
    one, two = (lay_out(first, second, [5] * 6) for _ in range(2))
    assert np.array_equal(one.places, two.places)
    assert one.sides == two.sides


def test_names_of_separate_components_do_not_overlap():
    first, second = graph([(0, 1), (2, 3), (4, 5), (5, 6), (7, 8), (8, 9), (9, 7)])
    lengths = [14, 3, 20, 20, 8, 14, 14, 5, 20, 1]
    layout = lay_out(first, second, lengths)
    part = [0, 0, 1, 1, 2, 2, 2, 3, 3, 3]
    boxes = [
        _name_box(place, side, 0.1 * length)
        for place, side, length in zip(layout.places, layout.sides, lengths, strict=True)
    ]
    for one, two in itertools.combinations(range(10), 2):
        if part[one] != part[two]:
            (low, high), (other_low, other_high) = boxes[one], boxes[two]
            assert not (np.minimum(high, other_high) > np.maximum(low, other_low)).all()


def test_everything_lies_within_the_corners():
    first, second = graph(star(5))
    layout = lay_out(first, second, [12] * 6)
    for place, side in zip(layout.places, layout.sides, strict=True):
        low, high = _name_box(place, side, 1.2)
        assert (low >= layout.low).all()
        assert (high <= layout.high).all()


def test_a_name_stands_where_its_edge_is_not():
    first, second = graph([(0, 1)])
    layout = lay_out(first, second, [4, 4])
    assert layout.places[0, 1] > layout.places[1, 1]
    assert layout.sides == ((0, 1), (0, -1))
