from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.releases import NoiseScale, Provenance, Release

ROWS = np.random.default_rng(0).normal(scale=0.3, size=(200, 3))


@pytest.fixture
def release():
    return dpcov.release(ROWS, epsilon=1, delta=1e-6, row_norm=1, columns=["a", "b", "c"])


def test_it_says_how_it_was_made(release):
    made = release.provenance
    assert made.version == dpcov.__version__
    assert made.mechanism == "second moment, rounded Gaussian"
    assert (made.bits, made.row_norm) == (20, 1.0)
    assert made.calibrated_for.neighbors == "replace"
    assert (release.n_rows, release.n_columns, release.columns) == (200, 3, ("a", "b", "c"))


def test_it_cannot_be_changed(release):
    with pytest.raises(FrozenInstanceError):
        release.n_rows = 5
    with pytest.raises(ValueError, match="read-only"):
        release.matrix[0, 0] = 1


def test_its_repr_states_the_promise(release):
    assert repr(release) == (
        "Release(200 rows × 3 columns, (1, 1e-06)-differential privacy, replace-one neighbors)"
    )


def test_releases_are_equal_when_everything_is(release):
    assert release == release
    assert release != dpcov.release(ROWS, epsilon=1, delta=1e-6, row_norm=1)
    assert release != 1
    with pytest.raises(TypeError):
        hash(release)


def test_a_matrix_that_does_not_fit_the_names_is_refused(release):
    with pytest.raises(ParameterError, match="one row and column for each name"):
        Release(
            matrix=np.eye(2),
            noise_scale=NoiseScale(1.0, 1.0),
            n_rows=3,
            columns=("a",),
            provenance=release.provenance,
            simulated=False,
            units=dpcov.Units.plain(1),
        )


def test_what_is_exported_is_what_it_is_made_of():
    assert {NoiseScale, Provenance, Release} == {
        getattr(dpcov, name) for name in ("NoiseScale", "Provenance", "Release")
    }
