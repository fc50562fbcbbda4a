"""Every draw and every selection of whole releases, for all combinations of options.

The plans are tested one by one elsewhere; here it is tested that they are wired together as
the options say. What a step may cost is computed by hand (`wiring.reading`) and added up by
an accountant of our own (`wiring.account`).
"""

import inspect
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

import dpcov
from dpcov import local
from dpcov.mechanisms.learning import stated
from wiring import account
from wiring.audit import RARE, RefusedError, audit, audit_rare, release
from wiring.choices import (
    ALWAYS,
    CORE,
    NOT_OPTIONS,
    SIDES,
    WEIGHTS,
    candidates,
    core_choices,
    is_meant,
    side_choices,
)
from wiring.watching import Watch

pytestmark = [
    pytest.mark.claim("P12"),
    pytest.mark.claim("P13"),
    pytest.mark.claim("P20"),
    pytest.mark.claim("P28"),
    # So few rows earn warnings, which are not the matter here.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
# Far fewer would mean that the library refuses what it should not.
FEWEST_CORE, FEWEST_IN_ALL = 190, 350
TRIES = 8


def is_taken(watch, options):
    try:
        release(watch, options, candidates(options)[0])
    except RefusedError:
        return False
    return True


def with_sides(watch, core):
    """Yield more for each combination of the core, with other options in turn.

    Of all covariances there are few combinations: one more for each. Of pairs, for every other.
    """
    sides, turn = side_choices(), 0
    dense = [options for options in core if options["max_pairs"] is None]
    pairs = [options for options in core if options["max_pairs"] is not None]
    for options in [*dense, *pairs[::2]]:
        for _ in range(TRIES):
            turn += 1
            tried = options | sides[turn % len(sides)]
            if is_meant(tried) and is_taken(watch, tried):
                yield tried
                break


@pytest.fixture(scope="module")
def watch():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stated, "ruler_bits", lambda n_columns: 8)  # of 12: faster
        yield Watch().stand(patch)


@pytest.fixture(scope="module")
def taken(watch):
    """All combinations of options that the library does not refuse."""
    core = [options for options in core_choices() if is_taken(watch, options)]
    return core, list(with_sides(watch, core))


PARTS = 4  # of all combinations, so that no worker has to audit all of them


@pytest.fixture(scope="module", params=range(PARTS))
def part(taken, request):
    """Every fourth combination, from another one on."""
    return [options for some in taken for options in some][request.param :: PARTS]


def test_every_option_of_both_functions_is_tried():
    stated = {
        name
        for make in (dpcov.release, dpcov.release_pairs)
        for name in inspect.signature(make).parameters
    }
    assert stated == set(CORE) | set(SIDES) | set(ALWAYS) | NOT_OPTIONS | WEIGHTS


def test_hundreds_of_combinations_are_taken(taken):
    core, more = taken
    assert len(core) >= FEWEST_CORE
    assert len(core) + len(more) >= FEWEST_IN_ALL


@pytest.mark.parametrize("name", [*CORE, *SIDES])
def test_every_value_of_an_option_is_in_some_release(taken, name):
    tried = [repr(options[name]) for part in taken for options in part]
    assert {repr(value) for value in (CORE | SIDES)[name]} == set(tried)


MEANINGS = {
    "steps": "there are the steps that the options ask for, and no others",
    "overspent": "all steps together cost no more than is promised",
    "wasted": "all steps together cost nearly what is promised",
    "far": "no neighbors are further apart than a step pays for",
    "loose": "some neighbors are nearly as far apart as a step pays for",
    "leak": "a release is a function of what passed the noise door",
    "promise": "a release states the promise that was asked for",
    "listed": "a release lists what its steps did",
}


def test_every_combination_spends_moves_and_says_what_its_options_mean(watch, part):
    problems = [problem for options in part for problem in audit(watch, options)]
    untrue = {MEANINGS[problem.kind] for problem in problems}
    assert not untrue, f"{len(problems)} times, such as {problems[:3]}"


def test_rare_answers_and_tables_of_nothing_are_no_exception(watch, part):
    """Each combination tries some of them, in turn; `test_controls` tries all on a few."""
    found = [
        problem
        for turn, options in enumerate(part)
        for problem in audit_rare(watch, options, [RARE[turn % len(RARE)]])
    ]
    assert not found, f"{len(found)} times, such as {found[:3]}"


@pytest.mark.claim("P15")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_a_gaussian_report_spends_what_its_plan_promises(watch, epsilon):
    plan = local.CollectionPlan(
        columns=list("abcd"), row_norm=2.0, epsilon=epsilon, mechanism="gaussian", delta=1e-6
    )
    exact = []
    for row in (np.eye(4)[0] * 1e9, np.eye(4)[1] * 1e9):
        watch.begin()
        local.randomize(row, plan)
        exact.append([draw.exact.astype(float) for draw in watch.draws])
    on, above = (draw.scales[0] for draw in watch.draws)
    moved = [((a - b) ** 2).sum() for a, b in zip(*exact, strict=True)]
    # Any row in the place of any other: √2 · 4^12 on the grid of 12 bits.
    largest = 2 * 16**12
    assert moved[0] + 2 * moved[1] == largest
    mu = math.sqrt(largest) / min(on, math.sqrt(2) * above)
    assert 0.999 < account.exact_delta(epsilon, mu, ()) / 1e-6 <= 1 + 1e-9


@pytest.mark.parametrize(("epsilon", "mu"), [(1.0, 0.3), (4.0, 0.9), (-0.5, 0.4), (0.1, 2.0)])
def test_the_gaussian_account_is_right_to_nine_digits(epsilon, mu):
    with mpmath.workdps(40):
        exact = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf(mu) / 2 - epsilon / mu
        )
    assert account.gaussian_delta(epsilon, mu) == pytest.approx(float(exact), rel=1e-9)


def test_the_account_of_choices_lies_between_pure_ones_of_half_and_of_the_whole_range():
    width, mu = 0.4, 0.5
    gauss = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-4)

    def composed(pure):
        one = pld.from_randomized_response(
            2 / (1 + math.exp(pure)), 2, value_discretization_interval=1e-4
        )
        return gauss.compose(one.self_compose(2)).get_delta_for_epsilon(2.0)

    found = account.exact_delta(2.0, mu, (width, width))
    assert composed(width / 2) < found < composed(width)


def test_the_account_of_a_choice_alone_is_the_worst_of_two_answers():
    """Losses t and t − η, the probability of the first being what makes both add up to one."""
    width, epsilon = 0.8, 0.3
    t = np.linspace(0, width, 20_001)[1:-1]
    first = np.expm1(width - t) / (np.exp(width - t) - np.exp(-t))
    worst = (first * np.maximum(0, -np.expm1(epsilon - t))).max()
    # A Gaussian of almost no distance beside it adds nothing.
    assert account.exact_delta(epsilon, 1e-3, (width,)) == pytest.approx(worst, rel=2e-3)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.02, 1.0), (0.5, 4.0), (0.001, 0.3)])
def test_the_account_of_zcdp_is_the_smallest_over_orders(rho, epsilon):
    orders = 1 + np.geomspace(1e-2, 1e4, 200_001)
    logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
    exact = np.exp((logs - np.log(orders - 1)).min())
    assert account.zcdp_delta(epsilon, rho) == pytest.approx(exact, rel=1e-7)
