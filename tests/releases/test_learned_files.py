"""Files of releases that learned something: whatever was learned is read back."""

import numpy as np
import pytest

import dpcov

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(3000, 3))
TABLES = {
    "normal": NORMAL,
    "one column": NORMAL[:, :1],
    "few rows": NORMAL[:2],
    "constant": np.full((500, 2), 7.0),
    "zero": np.zeros((500, 2)),
    "large": 1e250 * NORMAL,
    "at the end of the ruler": 2.0**40 * NORMAL,
    "far from zero": 1e9 + NORMAL,
    "small": 1e-250 * NORMAL,
    "heavy": np.sign(NORMAL) * np.exp(5 * np.abs(NORMAL)),
    "rare": (NORMAL > 2.5).astype(float),
}
STATED = {
    "nothing": {},
    "centers": {"center": 0.5},
    "scales": {"scale": 2.0},
    "both": {"center": 0.5, "scale": 2.0},
    "a bound": {"lower": -0.25},
    "bounds": {"lower": -0.25, "upper": 1.0},
    "bounds and a scale": {"lower": -1e-9, "upper": 1e9, "scale": 1e-3},
    "bounds beside zero": {"lower": 5.0, "upper": 6.0},
}


def check(release, path):
    release.save(path)
    again = dpcov.Release.load(path)
    assert again == release
    assert again.learned == release.learned
    assert (again.learned is None) == (len(release.events) == 1)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_whatever_was_learned_is_read_back(tmp_path, kind, epsilon):
    for neighbors in ("replace", "add-remove"):
        for seed in range(3):
            options = {"neighbors": neighbors, "seed": seed, "allow": {"small"}}
            made = dpcov.release(TABLES[kind], epsilon=epsilon, delta=1e-6, **options)
            check(made, tmp_path / "release.npz")


@pytest.mark.parametrize("facts", STATED.values(), ids=STATED)
@pytest.mark.parametrize("kind", ["normal", "large", "constant"])
def test_whatever_is_stated_a_file_is_read_back(tmp_path, kind, facts):
    table = TABLES[kind]
    columns = {f"x{place}": facts for place in range(table.shape[1])}
    for chosen in (columns, {"x0": facts} | {name: {} for name in columns if name != "x0"}):
        made = dpcov.release(table, epsilon=1.0, delta=1e-6, columns=chosen, seed=0)
        check(made, tmp_path / "release.npz")


def test_a_stated_norm_learns_nothing(tmp_path):
    made = dpcov.release(NORMAL, epsilon=1.0, delta=1e-6, row_norm=3.0)
    assert (made.learned, made.limits, made.factor, made.factor_error) == (None, None, 1.0, 0.0)
    check(made, tmp_path / "release.npz")


def test_shares_of_the_budget_are_read_back(tmp_path):
    shares = {"range": 1e-6, "radius": 0.3, "clipping": 0.2}
    made = dpcov.release(NORMAL, epsilon=1.0, delta=1e-6, shares=shares, allow={"small"})
    check(made, tmp_path / "release.npz")
