"""Claim P7: what rows make of a probe is exact in floats, as long as rows may be."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.exact.probes import FloatProbe

BITS = st.integers(1, 24)


def python_image(rows, probe, starts):
    """Return the image of one row and column after the other in Python's integers."""
    size = rows.shape[1]
    bounds = [*starts, size]
    image = [0] * size
    for row in rows.astype(np.int64).tolist():
        for start, stop in pairwise(bounds):
            seen = sum(a * int(b) for a, b in zip(row[start:], probe[start:], strict=True))
            for column in range(start, stop):
                image[column] += row[column] * seen
    return [number % 2**64 for number in image]


def wrapped(image):
    return [number % 2**64 for number in image.tolist()]


def longest_rows(bits, n_rows, n_columns, seed):
    """Return rows near their largest norm: all in one column, or in all of them alike."""
    generator = np.random.default_rng(seed)
    rows = np.zeros((n_rows, n_columns))
    rows[:, generator.integers(n_columns)] = 2.0**bits
    flat = generator.random(n_rows) < 0.5
    rows[flat] = np.floor(2.0**bits / np.sqrt(n_columns))
    return rows * generator.choice([-1.0, 1.0], size=rows.shape)


def probe_of(bits, n_rows, n_columns, starts=(0,)):
    return FloatProbe(list(starts), n_columns, squared_norm=4**bits, n_rows=n_rows)


@pytest.mark.claim("P7")
@given(bits=BITS, n_columns=st.integers(1, 30), seed=st.integers(0, 2**32), data=st.data())
def test_images_of_the_longest_rows_are_exact(bits, n_columns, seed, data):
    n_rows = data.draw(st.integers(1, min(40, 2**53 // 4**bits)))
    starts = sorted({0, data.draw(st.integers(0, n_columns - 1))})
    probe = probe_of(bits, n_rows, n_columns, starts)
    rows = longest_rows(bits, n_rows, n_columns, seed)
    assert wrapped(probe.image(rows)) == python_image(rows, probe.integers, starts)


@pytest.mark.claim("P7")
@pytest.mark.parametrize(("bits", "n_rows"), [(20, 8192), (16, 8192), (21, 2048), (24, 32)])
def test_images_of_blocks_as_long_as_they_may_be_are_exact(monkeypatch, bits, n_rows):
    monkeypatch.setattr("dpcov.exact.probes._CHUNK_BYTES", 1 << 40)  # all rows in one sum
    probe = probe_of(bits, n_rows, 3)
    rows = np.zeros((n_rows, 3))
    rows[:, 1] = 2.0**bits
    assert wrapped(probe.image(rows)) == python_image(rows, probe.integers, [0])


def largest_sums(probe, bits, n_rows, n_columns):
    """Return the largest partial sums that the two products of a probe can have."""
    first = 2**bits * int(np.ceil(np.sqrt(n_columns))) * 2**probe.bits
    return first, n_rows * 2**bits * 2**probe.limb


@pytest.mark.claim("P7")
@given(bits=BITS, n_columns=st.integers(1, 50_000), share=st.floats(0, 1))
def test_no_partial_sum_leaves_what_floats_hold(bits, n_columns, share):
    n_rows = max(1, int(share * min(2**53 // 4**bits, 1 << 20)))
    probe = probe_of(bits, n_rows, n_columns)
    first, second = largest_sums(probe, bits, n_rows, n_columns)
    assert first <= 2**53
    assert second <= 2**53
    assert probe.limb * probe._limbs >= 53


def test_a_probe_has_signs_and_as_many_bits_as_it_says():
    integers = np.concatenate([probe_of(20, 8192, 1000).integers for _ in range(20)])
    assert integers.min() < -(2**26)
    assert integers.max() >= 2**26
    assert integers.min() >= -(2**27)
    assert integers.max() < 2**27
    assert 0.45 < (integers & 1).mean() < 0.55


def test_two_probes_differ():
    assert (probe_of(20, 10, 100).integers != probe_of(20, 10, 100).integers).any()
