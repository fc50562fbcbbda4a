"""Tables of which nothing could be seen, or learned, are refused before anything is spent.

What a refusal advises is then accepted.
"""

import re

import numpy as np
import pytest

import dpcov
from cli.runner import invoke
from dpcov.columns.missing import Missing
from dpcov.errors import InputError
from dpcov.mechanisms.dense import DenseOptions
from dpcov.mechanisms.dense_outlook import check_size
from dpcov.mechanisms.door import NOTHING_SPENT
from dpcov.mechanisms.options import read_columns
from dpcov.privacy import ApproxDP

TOO_FEW = [
    (30, 5, 1.0),
    (5_000, 100, 0.5),
    (1_000, 10, 0.5),
    (2_000, 20, 0.5),
    (10_000, 50, 0.1),
]
ENOUGH = [(10_000, 200, 2.0), (20_000, 1_000, 2.0), (10_000, 100, 1.0)]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
THIRTY = np.random.default_rng(1).normal(size=(30, 5))


def options_of(epsilon, columns=None):
    """Return the options of a release of which nothing but columns is stated."""
    return DenseOptions(
        promise=ApproxDP(epsilon, 1e-6, "replace"),
        facts=read_columns(columns)[0],
        row_norm=None,
        shares=None,
        rows_per_unit=1,
        missing=Missing.PAIRWISE,
    )


def check(n_rows, n_columns, epsilon, columns=None):
    options = options_of(epsilon, columns)
    check_size(options, options.fields(n_columns), n_rows)


def advised(message):
    """Return the number of rows and the epsilon that a refusal advises."""
    rows = re.search(r"at least ([\d,]+) rows", message)[1]
    return int(rows.replace(",", "")), float(
        re.search(r"epsilon of at least ([\d.]+)\b", message)[1]
    )


@pytest.mark.parametrize(("n_rows", "n_columns", "epsilon"), TOO_FEW)
def test_rows_or_an_epsilon_that_are_advised_are_accepted_and_fewer_are_not(
    n_rows, n_columns, epsilon
):
    with pytest.raises(InputError) as refusal:
        check(n_rows, n_columns, epsilon)
    rows, larger = advised(str(refusal.value))
    check(rows, n_columns, epsilon)
    check(n_rows, n_columns, larger)
    for fewer, smaller in ((rows - 1, epsilon), (n_rows, larger - 0.01)):
        with pytest.raises(InputError):
            check(fewer, n_columns, smaller)


@pytest.mark.parametrize(("n_rows", "n_columns", "epsilon"), ENOUGH)
def test_tables_of_which_ranges_can_be_learned_are_accepted(n_rows, n_columns, epsilon):
    check(n_rows, n_columns, epsilon)


@pytest.mark.parametrize(("n_rows", "n_columns", "epsilon"), [(1_000, 10, 0.5), (2_000, 20, 0.5)])
def test_bounds_that_are_advised_are_accepted(n_rows, n_columns, epsilon):
    with pytest.raises(InputError, match=r"State both bounds of x0, x1, .* and"):
        check(n_rows, n_columns, epsilon)
    check(n_rows, n_columns, epsilon, {f"x{place}": (-100, 100) for place in range(n_columns)})


def test_only_columns_without_both_bounds_are_named():
    columns = {"a": (0, 100), "b": (0, None), "c": {}}
    with pytest.raises(InputError, match="State both bounds of b, c; or use at least"):
        check(500, 3, 1.0, columns)


def test_a_single_column_has_no_correlations_and_is_refused_for_its_range_alone():
    check(1000, 1, 1.0)
    with pytest.raises(InputError, match="to learn between which bounds"):
        check(30, 1, 1.0)


RELEASES = {dpcov.release: {}, dpcov.release_pairs: {"max_pairs": 3}}


@pytest.mark.parametrize("release", RELEASES)
def test_thirty_rows_are_refused_and_the_ledger_is_not_charged(release, tmp_path):
    ledger = dpcov.Ledger.create(tmp_path / "budget.db", population="P", owner="O", **BUDGET)
    before = ledger.lines()
    with pytest.raises(InputError, match="30 rows of 5 columns are too few") as refusal:
        release(THIRTY, **BUDGET, **RELEASES[release], ledger=ledger)
    assert str(refusal.value).endswith(NOTHING_SPENT)
    assert ledger.lines() == before


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("release", RELEASES)
def test_thirty_rows_are_released_all_the_same_if_that_is_allowed(release):
    assert release(THIRTY, **BUDGET, **RELEASES[release], allow={"small"}).n_rows == 30


def test_a_plan_says_that_a_release_would_be_refused():
    forecast = dpcov.plan(n=30, p=5, **BUDGET)
    assert forecast.advice.startswith("dpcov.release would refuse it: 30 rows of 5 columns are too")
    # One mechanism is, and the other is not.
    advice = dpcov.plan(n=1_000, p=10, epsilon=0.5, delta=1e-6).advice
    assert advice.startswith("Use dpcov.release_pairs")
    assert "dpcov.release would refuse it: 1,000 rows are too few" in advice
    assert "refuse" not in dpcov.plan(n=10_000, p=5, **BUDGET).advice


@pytest.mark.parametrize("command", [["release"], ["release-pairs", "--max-pairs", "3"]])
def test_the_command_refuses_thirty_rows_with_the_option_that_releases_them(command, tmp_path):
    table = tmp_path / "small.csv"
    np.savetxt(table, THIRTY, delimiter=",", header="a,b,c,d,e", comments="")
    promised = ["--epsilon", "1", "--delta", "1e-6", "--header"]
    line = [*command, table, *promised, "--out", tmp_path / "out"]
    refused = invoke(line)
    assert refused.exit_code == 1
    assert not (tmp_path / "out").exists()
    assert "or release it all the same with --allow small. Nothing was spent." in refused.stderr
    made = invoke([*line, "--allow", "small"])
    assert made.exit_code == 0
    assert (tmp_path / "out").exists()


def test_the_command_plan_says_that_a_release_would_be_refused():
    plan = invoke(["plan", "--rows", 30, "--columns", 5, "--epsilon", 1, "--delta", "1e-6"])
    assert plan.exit_code == 0
    assert "dpcov release would refuse it: 30 rows of 5 columns" in plan.stdout
    assert "--allow small" in plan.stdout
