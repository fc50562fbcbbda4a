"""Several releases of the same people: what is promised to them."""

from fractions import Fraction

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.privacy import (
    ApproxDP,
    Approximate,
    Concentrated,
    Gaussian,
    NoPromise,
    Pure,
    PureDP,
    Selection,
    compose,
    events_delta,
    gaussian_epsilon,
    gaussian_scale,
)

ROWS = np.random.default_rng(0).normal(size=(300, 3))
NOISE = Gaussian("moments", gaussian_scale(epsilon=1.0, delta=1e-6))
WEAK = ApproxDP(1.0, 1e-6, "replace")


def made(**options):
    return dpcov.release(ROWS, **{"epsilon": 1.0, "delta": 1e-6, "row_norm": 2.0} | options)


@pytest.mark.claim("P21")
def test_promises_alone_add_up():
    assert compose(WEAK, WEAK) == ApproxDP(2.0, 2e-6, "replace")
    assert compose(PureDP(0.5, "local"), PureDP(0.25, "local")) == PureDP(0.75, "local")


@pytest.mark.claim("P21")
def test_sums_are_rounded_up():
    ten = compose(*[PureDP(0.1, "replace")] * 10)
    assert Fraction(ten.epsilon) >= 10 * Fraction(0.1) > Fraction(np.nextafter(ten.epsilon, 0))


@pytest.mark.claim("P21")
def test_events_of_two_releases_cost_less_than_their_promises():
    both = compose(made(), made(), delta=2e-6)
    assert 1.4 < both.epsilon < 1.5
    assert both == compose(made().events, NOISE, delta=2e-6, neighbors="replace", complete=True)


@pytest.mark.claim("P21")
def test_gaussians_alone_are_exact():
    both = compose(NOISE, NOISE, delta=2e-6, neighbors="replace")
    exact = gaussian_epsilon(delta=2e-6, scale=NOISE.multiplier / 2**0.5)
    assert exact <= both.epsilon * (1 + 1e-12)
    assert both.epsilon == pytest.approx(exact, rel=1e-12)


@pytest.mark.claim("P21")
def test_what_is_promised_is_what_the_events_pay_for():
    parts = [NOISE, Selection("radius", 0.2), Pure("report", 0.1), Approximate("tool", 0.3, 1e-8)]
    promise = compose(parts, delta=1e-5, neighbors="add-remove")
    assert events_delta(parts, epsilon=promise.epsilon) <= 1e-5
    assert events_delta(parts, epsilon=promise.epsilon * (1 - 1e-9)) > 1e-5


def test_kinds_of_parts_may_be_mixed():
    promise = compose(WEAK, made(), made().events, delta=1e-5, neighbors="replace")
    assert 1.9 < promise.epsilon < 3.0


def test_selections_are_pure_when_no_delta_is_stated():
    choices = Selection("selection", 0.25, 4)
    assert compose(choices, neighbors="replace") == PureDP(1.0, "replace")


def test_with_a_delta_many_pure_parts_cost_less_than_their_sum():
    many = [PureDP(0.1, "replace")] * 100
    assert compose(*many, delta=1e-6).epsilon < 5.5 < compose(*many).epsilon


def test_a_promise_among_complete_tables_stays_one():
    assert compose(made(missing="refuse"), made(missing="center"), delta=1e-5).complete
    assert not compose(made(missing="center"), delta=1e-5).complete


def test_a_promise_for_units_stays_one():
    people = np.column_stack([np.arange(300) // 3, ROWS])
    release = dpcov.release(
        people, epsilon=1, delta=1e-6, row_norm=2.0, privacy_unit="x0", rows_per_unit=3
    )
    assert compose(release, release, delta=1e-5).privacy_unit == "x0"


def test_reports_of_the_local_model_compose():
    plans = [
        dpcov.local.CollectionPlan(columns=["a"], row_norm=1.0, epsilon=1.0, mechanism="cap"),
        dpcov.local.CollectionPlan(
            columns=["a"], row_norm=1.0, epsilon=1.0, mechanism="gaussian", delta=1e-6
        ),
    ]
    releases = []
    for plan in plans:
        collector = dpcov.local.Collector(plan)
        collector.add(dpcov.local.randomize([0.5], plan))
        releases.append(collector.release())
    assert compose(releases[0], releases[0]) == PureDP(2.0, "local")
    assert 1.0 < compose(*releases, delta=2e-6).epsilon <= 2.0


@pytest.mark.parametrize(
    ("parts", "options", "words"),
    [
        ((), {}, "nothing to compose"),
        (([],), {"neighbors": "replace"}, "nothing to compose"),
        ((NOISE,), {"delta": 1e-6}, "neighbors must be stated"),
        ((WEAK, NOISE), {"delta": 1e-5}, "neighbors must be stated"),
        ((NOISE,), {"neighbors": "replace"}, "delta must be stated"),
        ((NOISE, Pure("report", 1.0)), {"neighbors": "replace"}, "delta must be stated"),
        ((Concentrated("tables", 0.1), WEAK), {"neighbors": "replace"}, "delta must be stated"),
        (
            (Pure("report", 1.0),),
            {"neighbors": "replace", "privacy_unit": "person"},
            "all rows of one privacy unit is stated with a delta",
        ),
        ((NOISE,), {"neighbors": "everybody", "delta": 1e-6}, "neighbors must be one of"),
        ((NOISE,), {"neighbors": "replace", "delta": 0.0}, "delta must lie"),
        ((NOISE,), {"neighbors": "replace", "delta": float("nan")}, "delta must lie"),
        ((WEAK, PureDP(1.0, "local")), {}, "neighbors must agree"),
        ((WEAK,), {"neighbors": "add-remove"}, "neighbors must agree"),
        ((WEAK, ApproxDP(1.0, 1e-6, "replace", "person")), {}, "unit must agree"),
        ((WEAK,), {"privacy_unit": "person"}, "unit must agree"),
        ((WEAK, WEAK), {"delta": 1e-6}, "delta must be no less"),
        ((NoPromise("simulated with a seed"),), {}, "promises nothing: simulated"),
        (("moments",), {"neighbors": "replace"}, "A part must be"),
        ((3.0,), {"neighbors": "replace"}, "A part must be"),
        (({"kind": "gaussian"},), {"neighbors": "replace"}, "A part must be"),
        (([NOISE, None],), {"neighbors": "replace"}, "A part must be"),
        ((Gaussian("none", 1e-9),), {"neighbors": "replace", "delta": 1e-6}, "1e6"),
    ],
)
def test_what_does_not_belong_together_is_refused(parts, options, words):
    with pytest.raises(ParameterError, match=words):
        compose(*parts, **options)


def test_a_simulated_release_is_refused():
    with pytest.raises(ParameterError, match="promises nothing"):
        compose(made(seed=1), made(), delta=1e-5)


def test_where_delta_alone_pays_the_least_epsilon_is_stated():
    both = compose(Gaussian("g", 100.0), Gaussian("h", 100.0), delta=0.1, neighbors="replace")
    assert both.epsilon == 1e-9
