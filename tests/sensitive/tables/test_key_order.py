"""The digest of keys and their places: what it must notice, and what it must not."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.sensitive.tables import key_order
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.keys import as_keys

people = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20)


def digest(cells, start=0):
    return KeyOrder.of([as_keys(np.asarray(cells), "who")], start)


def objects(*cells):
    made = np.empty(len(cells), dtype=object)
    made[:] = cells
    return made


FIRST = datetime.datetime(9999, 1, 1)
TRIPLES = {
    "whole numbers": np.array([1, 3, 5]),
    "negative numbers": np.array([-1, -3, 5]),
    "truth values": np.array([True, False, True]),
    "floats": np.array([0.5, 0.25, 0.125]),
    "objects of whole numbers": objects(1, 3, 5),
    "objects of negative numbers": objects(-1, -3, 5),
    "objects beyond 64 bits": objects(2**70 + 1, 2**70 + 3, 5),
    "text": np.array(["ann", "bob", "cid"]),
    "bytes": objects(b"ann", b"bob", b"cid"),
    "far times": objects(FIRST, FIRST.replace(year=9998), FIRST.replace(year=9997)),
}


@pytest.mark.claim("P20")
@pytest.mark.parametrize("cells", TRIPLES.values(), ids=TRIPLES)
def test_two_people_in_each_others_places_are_noticed(cells):
    assert digest(cells) != digest(cells[[1, 0, 2]])
    assert digest(cells) == digest(cells.copy())


@pytest.mark.claim("P20")
@pytest.mark.parametrize("cells", TRIPLES.values(), ids=TRIPLES)
def test_one_person_who_comes_twice_in_the_place_of_another_is_noticed(cells):
    assert digest(cells) != digest(cells[[0, 0, 2]])


@pytest.mark.claim("P20")
def test_people_of_another_kind_are_noticed():
    assert digest(np.array([0, 1, 2])) != digest(np.array([0, 1, 2], "M8[D]"))


@pytest.mark.claim("P20")
@pytest.mark.parametrize("bit", range(64))
def test_a_person_who_is_another_in_one_bit_is_noticed(bit):
    one, other = np.array([0, 1 << bit], np.uint64)
    assert digest([one]) != digest([other])


@pytest.mark.claim("P20")
@given(people, st.lists(st.integers(0, 20), max_size=3))
def test_the_digests_of_pieces_add_up_to_that_of_the_whole(keys, cuts):
    parts = np.split(np.array(keys, dtype=np.int64), sorted(cuts))
    starts = np.cumsum([0, *map(len, parts)])
    whole, total = KeyOrder(), KeyOrder()
    for part, start in zip(parts, starts, strict=False):
        whole.add(as_keys(part, "who"))
        total = total + digest(part, int(start))
    assert total == whole == digest(np.array(keys, dtype=np.int64))


@given(people)
def test_whole_numbers_have_one_digest_however_they_are_stored(keys):
    assert digest(np.array(keys, dtype=np.int64)) == digest(objects(*keys))


@pytest.mark.claim("P20")
def test_keys_and_places_are_scattered_as_splitmix64_does():
    # Its first three numbers from a state of zero, as published with it; all are made odd.
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    states = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert key_order._mix(states).tolist() == [each | 1 for each in known]
