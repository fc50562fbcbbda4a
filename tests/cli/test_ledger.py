"""The commands about a ledger, and releases that are charged to one."""

import json
import sqlite3

import numpy as np
import pytest

import dpcov
from cli.runner import invoke
from dpcov.publication.card_file import read_card

OWNER = "Data office"
NEW = ["--population", "Panel 2026", "--epsilon", 3, "--delta", 1e-6, "--owner", OWNER]
SPEND = ["--epsilon", 1, "--delta", 1e-6, "--row-norm", 4, "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "survey.npy"
    np.save(path, np.random.default_rng(0).normal(size=(2000, 3)))
    return path


@pytest.fixture
def budget(tmp_path):
    path = tmp_path / "budget.db"
    assert invoke(["ledger", "create", path, *NEW]).exit_code == 0
    return path


@pytest.fixture(scope="module")
def published(tmp_path_factory, table):
    """Give a ledger and two folders that were charged to it."""
    place = tmp_path_factory.mktemp("published")
    ledger, folders = place / "budget.db", [place / "spring", place / "autumn"]
    invoke(["ledger", "create", ledger, *NEW])
    for folder in folders:
        more = ["--ledger", ledger, "--out", folder, "--request-id", folder.name]
        result = invoke(["release", table, *SPEND, *more])
        assert result.exit_code == 0, result.stderr
    return ledger, folders


def test_a_new_ledger_is_shown(budget):
    shown = invoke(["ledger", "show", budget]).stdout
    assert "Panel 2026, owner: Data office" in shown
    assert "spent    epsilon = 0 by 0 releases" in shown
    assert "left     one release at epsilon = 3, delta = 1e-06" in shown


def test_a_ledger_is_not_made_twice(budget):
    result = invoke(["ledger", "create", budget, *NEW])
    assert result.exit_code == 1
    assert "never replaced" in result.stderr


def test_what_is_left_is_said_in_correlations(published):
    shown = invoke(["ledger", "show", published[0]]).stdout
    assert "spent    epsilon = 1.455 by 2 releases" in shown
    assert "with 2,000 rows and 3 columns it would show correlations from 0." in shown
    other = invoke(["ledger", "show", published[0], "--rows", 50, "--columns", 40]).stdout
    assert "with 50 rows and 40 columns it would show no correlation" in other


def test_machines_are_told_the_same(published):
    said = json.loads(invoke(["ledger", "show", published[0], "--json"]).stdout)
    (account,) = said["accounts"]
    assert account["releases"] == 2
    assert account["limit"] == {"epsilon": 3.0, "delta": 1e-6, "stated_delta": 0.0}
    assert 1.45 < account["spent"] < 1.46
    assert 2.4 < account["left"] < 2.6
    assert 0 < account["left_would_show"] < 0.2


def test_a_card_says_which_release_about_these_people_it_is(published):
    card = read_card(published[1][1])
    assert card["ledger"]["accounts"][0]["in_words"] == (
        "This is the second release about these people; together they promise (1.455, 1e-06)."
    )
    for file in ("card.md", "page.html"):
        text = (published[1][1] / file).read_text(encoding="utf-8")
        assert "This is the second release about these people" in text


def test_cards_and_ledger_check_each_other(published):
    ledger, folders = published
    options = [option for folder in folders for option in ("--folder", folder)]
    result = invoke(["ledger", "verify", ledger, *options])
    assert result.exit_code == 0, result.stderr
    for folder in folders:
        assert invoke(["verify", folder]).exit_code == 0


def test_the_same_request_replaces_its_folder_without_a_warning(budget, table, tmp_path):
    asked = ["release", table, *SPEND, "--ledger", budget, "--out", tmp_path / "spring"]
    assert invoke([*asked, "--request-id", "spring"]).exit_code == 0
    before = (tmp_path / "spring" / "release.npz").read_bytes()
    again = invoke([*asked, "--request-id", "spring", "--force"])
    assert (again.exit_code, again.stderr) == (0, "")
    assert (tmp_path / "spring" / "release.npz").read_bytes() == before
    assert dpcov.Ledger(budget).account().releases == 1


def test_another_request_warns_when_it_replaces_a_folder(budget, table, tmp_path):
    asked = ["release", table, *SPEND, "--ledger", budget, "--out", tmp_path / "spring", "--force"]
    assert invoke([*asked, "--request-id", "spring"]).exit_code == 0
    assert "both count" in invoke([*asked, "--request-id", "autumn"]).stderr
    # The ledger knows this one, and another is in the folder.
    assert "both count" in invoke([*asked, "--request-id", "spring"]).stderr


def test_an_estimate_keeps_what_the_ledger_said(published, tmp_path):
    ledger, folders = published
    made = invoke(["estimate", folders[1], "--rule", "soft", "--out", tmp_path / "soft", "-q"])
    assert made.exit_code == 0, made.stderr
    assert invoke(["ledger", "verify", ledger, "--folder", tmp_path / "soft"]).exit_code == 0


def test_an_older_copy_of_a_ledger_is_found_by_a_card(published, tmp_path):
    ledger, folders = published
    older = tmp_path / "older.db"
    invoke(["ledger", "create", older, *NEW])
    result = invoke(["ledger", "verify", older, "--folder", folders[0]])
    assert result.exit_code == 1
    assert "its card names another ledger" in result.stderr
    shorter = tmp_path / "shorter.db"
    shorter.write_bytes(ledger.read_bytes())
    connection = sqlite3.connect(shorter)
    with connection:
        connection.execute("DROP TRIGGER dpcov_no_delete")
        connection.execute("DELETE FROM dpcov_lines WHERE number > 5")
        connection.execute(
            "UPDATE dpcov_ledger SET lines = 5, head = (SELECT hash FROM dpcov_lines "
            "WHERE number = 5)"
        )
    connection.close()
    assert invoke(["ledger", "verify", shorter]).exit_code == 0  # nothing else can tell
    assert invoke(["ledger", "verify", shorter, "--folder", folders[0]]).exit_code == 0
    result = invoke(["ledger", "verify", shorter, "--folder", folders[1]])
    assert result.exit_code == 1
    assert "is an older copy" in result.stderr


def test_a_hash_from_elsewhere_is_looked_for(published):
    ledger = published[0]
    last = dpcov.Ledger(ledger).verify()
    assert invoke(["ledger", "verify", ledger, "--head", f"sha256:{last}"]).exit_code == 0
    assert invoke(["ledger", "verify", ledger, "--head", "0" * 64]).exit_code == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"epsilon": 1.455', '"epsilon": 0.5'),
        ('"releases": 2', '"releases": 0'),
        ("second release about", "first release about"),
    ],
)
def test_a_card_that_says_less_of_its_account_does_not_hold(published, tmp_path, old, new):
    import shutil

    folder = tmp_path / "forged"
    shutil.copytree(published[1][1], folder)
    text = (folder / "card.json").read_text(encoding="utf-8")
    assert old in text
    (folder / "card.json").write_text(text.replace(old, new), encoding="utf-8")
    assert invoke(["verify", folder]).exit_code == 1


def test_a_folder_without_a_ledger_is_said(published, table, tmp_path):
    invoke(["release", table, *SPEND, "--out", tmp_path / "alone"])
    result = invoke(["ledger", "verify", published[0], "--folder", tmp_path / "alone"])
    assert result.exit_code == 1
    assert "it was not charged to one" in result.stderr


def test_what_does_not_fit_is_refused_before_anything_is_written(budget, table, tmp_path):
    out = tmp_path / "out"
    result = invoke(["release", table, *SPEND, "--epsilon", 4, "--ledger", budget, "--out", out])
    assert result.exit_code == 1
    assert result.stderr.strip().endswith("Nothing was spent.")
    assert not out.exists()
    assert "refusal: release" in invoke(["ledger", "show", budget]).stdout


def test_a_missing_ledger_is_refused(table, tmp_path):
    result = invoke(["release", table, *SPEND, "--ledger", tmp_path / "no.db", "--out", tmp_path])
    assert result.exit_code == 1
    assert "--delta LIMIT` makes a new one. Nothing was spent." in result.stderr


def test_a_retry_writes_the_same_release_and_is_not_charged(published, table, tmp_path):
    ledger, folders = published
    before = dpcov.Ledger(ledger).verify()
    more = ["--ledger", ledger, "--request-id", "spring", "--out", tmp_path / "again"]
    assert invoke(["release", table, *SPEND, *more]).exit_code == 0
    again, first = (folder / "release.npz" for folder in (tmp_path / "again", folders[0]))
    assert again.read_bytes() == first.read_bytes()
    assert dpcov.Ledger(ledger).verify() == before


def test_a_folder_is_not_written_over_the_ledger(budget, table):
    result = invoke(["release", table, *SPEND, "--ledger", budget, "--out", budget])
    assert result.exit_code == 1
    assert dpcov.Ledger(budget).verify()


def test_pairs_are_charged(budget, table, tmp_path):
    spend = ["--epsilon", 1, "--delta", 1e-6, "--max-pairs", 1, "--quiet"]
    more = ["--ledger", budget, "--out", tmp_path / "pairs"]
    result = invoke(["release-pairs", table, *spend, *more])
    assert result.exit_code == 0, result.stderr
    shown = invoke(["ledger", "show", budget]).stdout
    assert "spent    epsilon = 1 by 1 release" in shown


def test_two_accounts_are_charged_at_once(budget, table, tmp_path):
    other = ["--population", "Panel 2027", *NEW[2:]]
    assert invoke(["ledger", "add", budget, *other]).exit_code == 0
    more = ["--ledger", budget, "--out", tmp_path / "both"]
    result = invoke(["release", table, *SPEND, *more])
    assert "name one or more of 'Panel 2026', 'Panel 2027'" in result.stderr
    accounts = ["--account", "Panel 2026", "--account", "Panel 2027"]
    assert invoke(["release", table, *SPEND, *more, *accounts]).exit_code == 0
    card = read_card(tmp_path / "both")
    assert [each["releases"] for each in card["ledger"]["accounts"]] == [1, 1]


def test_other_tools_are_entered_and_limits_changed(budget):
    assert (
        "Entered as line 3"
        in invoke(["ledger", "enter", budget, "--name", "Counts", "--epsilon", 0.5]).stdout
    )
    refused = invoke(["ledger", "enter", budget, "--name", "Counts", "--epsilon", 30])
    assert refused.exit_code == 1
    words = ["--owner", OWNER, "--reason", "agreed"]
    assert "epsilon = 5" in invoke(["ledger", "limit", budget, "--epsilon", 5, *words]).stdout
    wrong = ["--owner", "me", "--reason", "agreed"]
    assert "Only the owner" in invoke(["ledger", "limit", budget, "--epsilon", 9, *wrong]).stderr


def test_a_reservation_is_given_back_by_its_owner(budget):
    words = ["--owner", OWNER, "--reason", "lost"]
    result = invoke(["ledger", "give-back", budget, 2, *words])
    assert result.exit_code == 1
    assert "is no reservation" in result.stderr


def test_accounts_need_a_ledger(table, tmp_path):
    result = invoke(["release", table, *SPEND, "--out", tmp_path / "x", "--account", "a"])
    assert result.exit_code == 2


def test_several_folders_promise_something_together(published):
    folders = published[1]
    said = json.loads(invoke(["show", *folders, "--together", "--json"]).stdout)
    assert said["releases"] == 2
    assert said["added_up"] == {"epsilon": 2.0, "delta": 2e-6}
    assert 1.40 < said["epsilon"] < 1.41
    text = invoke(["show", *folders, "--together", "--delta", 1e-6]).stdout
    assert "Promised together: (1.455, 1e-06)-differential privacy" in text


def test_a_folder_that_is_named_twice_counts_once(published):
    folder = published[1][0]
    said = json.loads(invoke(["show", folder, folder, "--together", "--json"]).stdout)
    assert said["releases"] == 1
    assert said["epsilon"] == pytest.approx(1.0)


def test_simulations_promise_nothing_together(published, table, tmp_path):
    invoke(["release", table, *SPEND, "--seed", 1, "--out", tmp_path / "sim"])
    result = invoke(["show", published[1][0], tmp_path / "sim", "--together"])
    assert result.exit_code == 1
    assert "promises nothing" in result.stderr


def test_several_folders_are_shown_together_or_not_at_all(published):
    assert invoke(["show", *published[1]]).exit_code == 2
