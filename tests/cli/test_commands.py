"""The commands one by one, in this process."""

import inspect
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import dpcov
from cli.runner import APART, invoke
from dpcov.cli import release as commands
from dpcov.cli.app import COMMANDS, app
from dpcov.cli.on_demand import load
from dpcov.publication import write_folder
from publication import forger, releases

PROMISE = ("--epsilon", "1", "--delta", "1e-6")


def run(*arguments):
    return invoke(arguments)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("published")
    for make in (releases.dense, releases.pairs, releases.simulated):
        release = make()
        write_folder(release, release.estimate(), place / make.__name__, name="Survey")
    return place


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "rows.npy", releases.table())
    return tmp_path / "rows.npy"


def test_the_help_is_a_short_manual():
    text = run("--help").output
    for word in ("release", "verify", "Exit codes", "130", "--install-completion"):
        assert word in text


def test_no_paragraph_of_the_help_is_broken_in_the_middle_of_a_line():
    def paragraphs(command):
        yield from (command.help or "").replace("\b", "").split("\n\n")
        for below in getattr(command, "commands", {}).values():
            yield from paragraphs(below)

    # A terminal has 80 columns, of which two are the margin. Line breaks are kept as they are.
    texts = [app.info.help.replace("\b", "").split("\n\n")]
    texts += [paragraphs(load(name, command)) for name, command in COMMANDS.items()]
    found = [text.strip().splitlines() for part in texts for text in part]
    assert len(found) > 20
    assert all(len(line) <= 78 for lines in found if len(lines) > 1 for line in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_says_of_each_command_what_its_own_help_begins_with(name):
    summary, *_ = load(name, COMMANDS[name]).help.split("\n\n")
    assert " ".join(summary.split()) == COMMANDS[name].summary


def test_a_command_that_is_half_written_is_completed_by_the_names_of_the_manual():
    asked = {"_DPCOV_COMPLETE": "complete_bash", "COMP_WORDS": "dpcov rel", "COMP_CWORD": "1"}
    result = CliRunner(**APART).invoke(app, [], prog_name="dpcov", env=asked)
    assert result.output.split() == ["release", "release-pairs", "reliability"]


def test_options_of_a_command_are_completed():
    asked = {"COMP_WORDS": "dpcov release --row-n", "COMP_CWORD": "2"}
    asked["_DPCOV_COMPLETE"] = "complete_bash"
    result = CliRunner(**APART).invoke(app, [], prog_name="dpcov", env=asked)
    assert result.output.split() == ["--row-norm"]


def test_the_help_names_a_share_that_the_command_takes(rows, tmp_path):
    for command, options in (("release", ()), ("release-pairs", ("--max-pairs", 3))):
        text = " ".join(run(command, "--help").output.replace("│", " ").split())
        share = re.search(r"such as (\w+=\d\.\d)", text)[1]
        asked = ("--share", share, *options, "--out", tmp_path / command, "--quiet")
        assert run(command, rows, *PROMISE, *asked).exit_code == 0


def test_a_plan_is_a_table_and_one_sentence():
    result = run("plan", "--rows", 20_000, "--columns", 300, *PROMISE, "--max-pairs", 200)
    assert result.exit_code == 0
    said = "Use dpcov release-pairs --max-pairs 200 --center differences: a correlation of"
    assert said in result.output


def test_a_plan_for_many_rows_keeps_two_digits():
    result = run("plan", "--rows", 10**8, "--columns", 10, *PROMISE)
    assert "a correlation of 0.00033 will be shown" in result.output


def test_a_plan_for_machines_has_the_numbers_of_the_library():
    asked = ("--rows", 20_000, "--columns", 30, *PROMISE, "--correlation", 0.1, "--json")
    found = json.loads(run("plan", *asked).stdout)
    plan = dpcov.plan(n=20_000, p=30, epsilon=1.0, delta=1e-6)
    assert found["mechanisms"][0]["shown_half"] == plan.outlook("dense").shown_half
    assert found["rows_needed"] == plan.rows_needed(0.1)


def test_a_plan_reads_the_columns_file_of_a_release(tmp_path):
    (tmp_path / "c.toml").write_text("[columns.a]\nlower = 0\nupper = 1\n[columns.b]\nlower = 0\n")
    result = run("plan", "--rows", 20_000, "--columns", tmp_path / "c.toml", *PROMISE)
    assert result.exit_code == 0
    flat = " ".join(result.output.split())
    assert "20,000 rows, 2 columns" in flat
    assert "moments 69.5 %. Stated: facts of 2 of 2 columns; the rest is learned." in flat
    asked = ("--rows", 20_000, "--columns", tmp_path / "c.toml", *PROMISE, "--row-norm", 3)
    found = json.loads(run("plan", *asked, "--json").stdout)
    assert (found["shares"], found["row_norm"], found["n_columns"]) == ({"moments": 1.0}, 3.0, 2)


@pytest.mark.parametrize("columns", ["no-such-file.toml", "-3", "1", "c.txt"])
def test_a_plan_needs_columns_or_their_file(columns):
    result = run("plan", "--rows", 20_000, f"--columns={columns}", *PROMISE)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1


def test_a_plan_of_the_local_model_needs_no_delta():
    result = run("plan", "--rows", 20_000, "--columns", 3, "--epsilon", 2, "--neighbors", "local")
    assert result.exit_code == 0
    assert "cap" in result.output


def test_an_impossible_plan_is_refused_in_one_line():
    result = run("plan", "--rows", 20_000, "--columns", 3, "--epsilon", 0, "--delta", 1e-6)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("dpcov: --epsilon must")
    assert result.stderr.count("\n") == 1


@pytest.mark.claim("P8")
@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(
    "person", ["Ada Lovelace,12 St James Square,diabetes", "Lovelace,Ada,36,diabetes"]
)
def test_columns_never_prints_a_first_person(person, options, tmp_path):
    (tmp_path / "t.csv").write_text(f"{person}\n{person}\n")
    result = run("columns", tmp_path / "t.csv", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "may be somebody's row" in result.stderr
    assert "--header" in result.stderr
    assert not any(cell in result.stderr for cell in ("Ada", "Lovelace", "James", "diabetes"))


def test_columns_prints_wordy_names_when_they_are_confirmed(tmp_path):
    (tmp_path / "t.csv").write_text("Age at diagnosis,2019\n1,2\n")
    result = run("columns", tmp_path / "t.csv", "--header")
    assert result.exit_code == 0
    assert '[columns."Age at diagnosis"]' in result.stdout
    assert '[columns."2019"]' in result.stdout


def test_a_file_of_columns_confirms_the_names_in_it(tmp_path):
    (tmp_path / "t.csv").write_text("who,2019\n" + "x,1\n" * 2000)
    (tmp_path / "c.toml").write_text('[columns."2019"]\nlower = 0\nupper = 2\n')
    promise = ("--columns", tmp_path / "c.toml", "--epsilon", 1, "--delta", 1e-6)
    result = run("release", tmp_path / "t.csv", *promise, "--out", tmp_path / "out", "--quiet")
    assert result.exit_code == 0, result.stderr


def test_a_file_without_a_header_is_released_with_the_names_of_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n" * 2000)
    facts = "".join(f"[columns.{name}]\nlower = 0\nupper = 2\n" for name in "ab")
    (tmp_path / "c.toml").write_text(facts)
    promise = ("--columns", tmp_path / "c.toml", "--epsilon", 1, "--delta", 1e-6)
    out = ("--out", tmp_path / "out", "--json")
    result = run("release", tmp_path / "t.csv", "--no-header", *promise, *out)
    assert result.exit_code == 0, result.stderr
    assert dpcov.Release.load(tmp_path / "out" / "release.npz").n_rows == 2000
    other = ("--out", tmp_path / "other")
    refused = run("release", tmp_path / "t.csv", "--row-norm", 2, *promise[2:], *other)
    assert refused.exit_code == 1
    assert "with --no-header and state them with --columns" in refused.stderr


@pytest.mark.parametrize(
    "stated",
    [
        ("--row-norm", "long"),
        ("--row-norm", 2, "--neighbors", "local"),
        ("--max-pairs", 3),
        ("--share", "moments"),
        ("--share", "moments=much"),
        ("--engine", "spark"),
    ],
)
def test_wrong_usage_has_its_own_code_and_writes_nothing(rows, tmp_path, stated):
    result = run("release", rows, *PROMISE, "--out", tmp_path / "out", *stated)
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        (("--row-norm", -1), "--row-norm must"),
        (("--row-norm", 2, "--fdr", 2), "fdr must"),
        (("--row-norm", 2, "--date", "soon"), "date must"),
        (("--privacy-unit", "x9"), "--privacy-unit needs --rows-per-unit"),
        (("--rows-per-unit", 2), "--rows-per-unit needs --privacy-unit, the column"),
        (("--columns", "nowhere.toml"), "no file 'nowhere.toml'"),
        (
            ("--share", "noise=1"),
            "--share must be a mapping whose keys are among weights, observed, levels, range",
        ),
        (("--share", "range=0.9"), "of the budget for the moments"),
        (("--share", "range=0.1", "--row-norm", 2), "with --row-norm nothing is"),
        (("--out", "."), "has no name of its own"),
    ],
)
def test_what_the_library_refuses_is_one_line_and_code_1(rows, tmp_path, stated, why):
    result = run("release", rows, *PROMISE, "--out", tmp_path / "out", *stated)
    assert result.exit_code == 1
    assert why in result.stderr
    assert result.stderr.endswith("Nothing was spent.\n")
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


DIFFERENCES = ("--center", "differences")


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ((), "Missing option"),
        (("--max-pairs", 3, "--center", "private"), "Invalid value for '--center'"),
        (("--max-pairs", 99), "--max-pairs must be a whole number from"),
        (("--max-pairs", 3, "--cell-bound", 1), "--cell-bound needs --row-norm"),
        (("--max-pairs", 3, *DIFFERENCES, "--neighbors", "add-remove"), "need --neighbors replace"),
        (("--max-pairs", 3, "--share", "values=0"), "share of values must"),
    ],
)
def test_pairs_that_cannot_be_released_are_refused_in_words_of_options(rows, tmp_path, stated, why):
    result = run("release-pairs", rows, *PROMISE, "--out", tmp_path / "out", *stated)
    assert result.exit_code in (1, 2)
    assert why in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


@pytest.mark.parametrize("name", ["release", "release-pairs"])
def test_a_command_has_the_options_and_defaults_of_its_function(name):
    function = getattr(dpcov, name.replace("-", "_"))
    command = getattr(commands, function.__name__)
    stated = inspect.signature(command).parameters
    for option in inspect.signature(function).parameters.values():
        if option.name == "progress":  # --quiet
            continue
        if option.name == "csv":
            assert stated["delimiter"].default is stated["decimal"].default is option.default
            continue
        default = stated[option.name].default
        if option.name == "allow":  # an option that may be given several times
            assert (default, option.default) == (None, ())
            continue
        default = getattr(default, "value", default)
        if (option.name, default) != ("center", "differences"):  # what None means there
            assert default == option.default


def test_pairs_are_released_with_every_option(rows, tmp_path):
    stated = ("--max-pairs", 3, "--row-norm", 4, "--cell-bound", 3, "--center", "stated")
    more = ("--share", "values=2", "--share", "selection=1", "--neighbors", "add-remove")
    out = ("--out", tmp_path / "out", "-q", "--engine", "dask", "--missing", "center")
    assert run("release-pairs", rows, *PROMISE, *stated, *more, *out).exit_code == 0
    made = dpcov.Release.load(tmp_path / "out" / "release.npz")
    assert isinstance(made, dpcov.PairsRelease)
    assert made.provenance.center == "stated"
    assert made.shares["values"] > 1.9 * made.shares["selection"]


def test_nothing_but_the_promise_need_be_stated(rows, tmp_path):
    result = run("release", rows, *PROMISE, "--out", tmp_path / "out", "--json")
    card = json.loads(result.stdout)["card"]
    names = [event["name"] for event in card["mechanism"]["events"]]
    facts = ["observed", "range", "center", "limit", "mean", "scale"]
    assert names == [*facts, "beyond", "radius", "clipping", "moments"]
    assert card["reading"]["center"] == "private"
    assert {column["scale_is"] for column in card["learned"]["columns"]} == {"learned"}


def test_the_terminal_says_what_was_learned(rows, tmp_path):
    said = run("release", rows, *PROMISE, "--out", tmp_path / "out").stdout
    shown = run("show", tmp_path / "out").stdout
    for text in ("limited to the limits of their columns", "of the rows were longer", "limited sd"):
        assert text in said
        assert text in shown
    stated = run("release", rows, *PROMISE, "--out", tmp_path / "two", "--row-norm", 4).stdout
    assert "limits of their columns" not in stated
    assert "None" not in said + stated


def test_a_warning_goes_to_the_error_stream(rows, tmp_path):
    asked = ("--epsilon", 1, "--delta", 0.1, "--row-norm", 4, "--out", tmp_path / "out", "--json")
    result = run("release", rows, *asked)
    json.loads(result.stdout)
    assert "dpcov: warning: delta = 0.1 is above 1 / n_rows" in result.stderr


def test_a_fault_of_ours_shows_neither_message_nor_traceback(rows, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("somebody's row: 4711")

    monkeypatch.setattr(dpcov, "release", fail)
    result = run("release", rows, "--row-norm", 2, *PROMISE, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "internal error: RuntimeError at test_commands.py:" in result.stderr
    assert "4711" not in result.output
    assert not (tmp_path / "out").exists()


def test_another_estimate_is_free_and_may_be_written(written, tmp_path):
    file = written / "dense" / "release.npz"
    asked = ("--rule", "soft", "--threshold", "2.5", "--psd", "clip")
    result = run("estimate", file, *asked, "--out", tmp_path / "soft")
    assert result.exit_code == 0
    card = json.loads((tmp_path / "soft" / "card.json").read_text())
    assert (card["estimate"]["rule"], card["estimate"]["threshold"]) == ("soft", 2.5)
    assert card["estimate"]["psd"] == "clip"
    assert card["identity"]["name"] == "Survey"
    assert run("verify", tmp_path / "soft").exit_code == 0


def test_an_estimate_for_machines_has_the_related_pairs_of_the_library(written):
    file = written / "pairs" / "release.npz"
    found = json.loads(run("estimate", file, "--fdr", "0.01", "--json").stdout)
    edges = dpcov.Release.load(file).estimate(fdr=0.01).edges(0.01)
    assert [line["first"] for line in found["related"]] == list(edges.first)
    assert [line["q_value"] for line in found["related"]] == edges.q_value.tolist()


def test_a_release_of_pairs_has_no_rule(written):
    assert run("estimate", written / "pairs" / "release.npz", "--rule", "soft").exit_code == 2


@pytest.mark.parametrize("file", ["card.json", "nothing.npz"])
def test_what_is_no_release_is_refused(written, file):
    result = run("estimate", written / "dense" / file)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1


def test_a_simulation_is_shown_as_one(written):
    assert "Nothing is promised to anybody" in run("show", written / "simulated").stdout


def test_an_altered_file_fails_verification_and_is_named(written, tmp_path):
    release = releases.dense()
    write_folder(release, release.estimate(), tmp_path / "out")
    with (tmp_path / "out" / "pairs.csv").open("a") as file:
        file.write("x0,x4,9,0.1,0\n")
    for command in ("verify", "show"):
        result = run(command, tmp_path / "out")
        assert result.exit_code == 1
        assert "dpcov: pairs.csv was altered" in result.stderr
        assert "+9" not in result.stdout
    assert json.loads(run("verify", tmp_path / "out", "--json").stdout)["holds"] is False


def test_a_card_is_printed_in_each_format(written):
    folder = written / "dense"
    written_words = (folder / "card.md").read_text().partition("## Files")[0]
    assert run("card", folder).stdout.startswith(written_words)
    assert run("card", folder, "--format", "json").stdout == (folder / "card.json").read_text()


@pytest.mark.parametrize("command", ["show", "verify", "card"])
def test_a_folder_that_is_none_is_refused(tmp_path, command):
    result = run(command, tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "has no card.json" in result.stderr
    (tmp_path / "release.npz").touch()
    result = run(command, tmp_path / "release.npz")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not a folder. Name the folder that dpcov wrote." in result.stderr


def test_a_promise_that_the_release_does_not_keep_is_not_shown(tmp_path):
    release = releases.dense()
    write_folder(release, release.estimate(), tmp_path / "out")
    file = tmp_path / "out" / "card.json"
    file.write_text(file.read_text().replace('"epsilon": 1.0', '"epsilon": 0.1'))
    result = run("show", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "another guarantee.epsilon than the release" in result.stderr


@pytest.mark.parametrize("command", ["show", "verify", "card"])
def test_a_card_with_holes_is_refused(written, tmp_path, command):
    card = json.loads((written / "dense" / "card.json").read_text())
    card["guarantee"] = {}
    shutil.copytree(written / "dense", tmp_path / "out")
    (tmp_path / "out" / "card.json").write_text(json.dumps(card))
    result = run(command, tmp_path / "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "altered" in result.stderr or "the card states another" in result.stderr


@pytest.mark.parametrize("command", ["show", "verify", "card", "show --json"])
@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999", "1" * 400])
def test_a_number_that_is_none_is_an_altered_card(written, tmp_path, command, number):
    shutil.copytree(written / "dense", tmp_path / "out")
    text = (tmp_path / "out" / "card.json").read_text()
    text = text.replace('"epsilon": 1.0', f'"epsilon": {number}')
    (tmp_path / "out" / "card.json").write_text(text)
    name, *options = command.split()
    result = run(name, tmp_path / "out", *options)
    assert result.exit_code == 1
    assert "altered" in result.stderr
    assert "differential privacy" not in result.stdout


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_a_card_of_many_brackets_is_an_altered_card(written, tmp_path, depth):
    shutil.copytree(written / "dense", tmp_path / "out")
    text = (tmp_path / "out" / "card.json").read_text()
    text = text.replace('"epsilon": 1.0', f'"epsilon": {"[" * depth}{"]" * depth}')
    (tmp_path / "out" / "card.json").write_text(text)
    assert run("show", tmp_path / "out").exit_code == 1


@pytest.mark.parametrize("command", ["show", "card", "show --json"])
def test_odds_that_a_forger_wrote_are_not_printed(written, tmp_path, command):
    shutil.copytree(written / "dense", tmp_path / "out")
    card = forger.read(tmp_path / "out")
    card["guarantee"]["attack"]["power"] = 0.0512
    forger.seal(tmp_path / "out", card)
    name, *options = command.split()
    result = run(name, tmp_path / "out", *options)
    assert result.exit_code == 1
    assert "another guarantee.attack.power than the release" in result.stderr
    assert "5.1" not in result.stdout
    assert "0.0512" not in result.stdout


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_sentences_of_another_version_are_not_printed(written, tmp_path, form):
    shutil.copytree(written / "dense", tmp_path / "out")
    card = forger.read(tmp_path / "out")
    card["library"]["card_written_by"] = "0.9"
    card["guarantee"]["in_words"] = "Nobody can learn anything."
    forger.seal(tmp_path / "out", card)
    assert "Nobody" not in run("show", tmp_path / "out").stdout
    printed = run("card", tmp_path / "out", "--format", form)
    assert printed.exit_code == 0
    assert "Nobody can" not in printed.stdout
    assert "wrote its sentences" in run("verify", tmp_path / "out").stderr


def test_a_hostile_name_cannot_steer_the_terminal(tmp_path):
    names = ["\x1b[31mred", "[bold]x[/bold]", "c", "d", "e"]
    release = replace(releases.dense(), columns=tuple(names))
    write_folder(release, release.estimate(), tmp_path / "out", name="\x1b]0;title\x07")
    shown = run("show", tmp_path / "out").stdout
    assert "\x1b" not in shown
    assert "[bold]x[/bold]" in shown


def test_a_plan_of_reports_takes_public_facts(tmp_path):
    (tmp_path / "c.toml").write_text('[columns."a"]\nlower = 0\nupper = 10\n')
    result = run("local", "plan", "--columns", tmp_path / "c.toml", "--epsilon", 2)
    plan = dpcov.local.CollectionPlan.from_json(result.stdout)
    assert (plan.columns, plan.center, plan.scale) == (("a",), (5.0,), (5.0,))


def test_a_report_of_one_person_for_another_plan_is_refused(tmp_path):
    for name, epsilon in (("one", 2), ("two", 3)):
        asked = ("--columns", "a,b", "--row-norm", 1, "--epsilon", epsilon)
        (tmp_path / f"{name}.json").write_text(run("local", "plan", *asked).stdout)
    (tmp_path / "rows.csv").write_text("a,b\n0,0\n")
    reports = tmp_path / "reports.bin"
    made = run(
        "local",
        "randomize",
        tmp_path / "rows.csv",
        "--plan",
        tmp_path / "one.json",
        "--out",
        reports,
    )
    assert made.exit_code == 0
    collected = run(
        "local", "collect", reports, "--plan", tmp_path / "two.json", "--out", tmp_path / "out"
    )
    assert collected.exit_code == 1
    assert "another plan" in collected.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "stated",
    [
        ("--out", "new", "--fdr", 2),
        ("--out", "new", "--date", "soon"),
        ("--out", "."),
        ("--out", "nowhere/new"),
        ("--out", "rows.npy", "--force"),
    ],
)
def test_what_can_be_refused_is_refused_before_anything_is_spent(rows, stated, monkeypatch):
    spent = []
    monkeypatch.chdir(rows.parent)
    monkeypatch.setattr(dpcov, "release", lambda *_, **__: spent.append(1))
    result = run("release", rows, "--row-norm", 4, *PROMISE, *stated)
    assert (result.exit_code, spent) == (1, [])
    assert [path.name for path in rows.parent.iterdir()] == ["rows.npy"]
