"""The installed command, from a CSV file to a folder to publish, as a user drives it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import dpcov
from dpcov.publication import card_schema

COMMAND = Path(sys.executable).with_name("dpcov")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(dpcov.__file__).parents[1]), "COLUMNS": "100"}
BOUNDS = {"age": (0, 100), "income": (0, 200_000), "sleep": (0, 24)}
PROMISE = ("--epsilon", "1", "--delta", "1e-6")


def dpcov_command(*arguments, cwd):
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def fill_in(template):
    for name, (lower, upper) in BOUNDS.items():
        before, heading, after = template.partition(f'[columns."{name}"]')
        after = after.replace("# lower =", f"lower = {lower}", 1)
        template = before + heading + after.replace("# upper =", f"upper = {upper}", 1)
    return template


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with survey.csv, columns.toml, and survey/, as released from them."""
    place = tmp_path_factory.mktemp("user")
    generator = np.random.default_rng(0)
    age = generator.normal(45, 15, 20_000)
    income = 300 * age + generator.normal(20_000, 8000, 20_000)
    sleep = generator.normal(7, 1, 20_000)
    rows = np.column_stack([age, income, sleep])
    np.savetxt(place / "survey.csv", rows, delimiter=",", header=",".join(BOUNDS), comments="")
    template = dpcov_command("columns", "survey.csv", cwd=place)
    assert template.returncode == 0, template.stderr
    (place / "columns.toml").write_text(fill_in(template.stdout))
    stated = ("--columns", "columns.toml", *PROMISE, "--out", "survey/", "--name", "My survey")
    made = dpcov_command("release", "survey.csv", *stated, cwd=place)
    assert made.returncode == 0, made.stderr
    (place / "said.txt").write_text(made.stdout)
    return place


def test_a_template_holds_no_number_of_the_table(place):
    template = dpcov_command("columns", "survey.csv", cwd=place).stdout
    _, _, listed = template.partition("[defaults]")  # after examples that are in every template
    assert not re.search(r"\d", listed)
    assert all(f'[columns."{name}"]' in template for name in BOUNDS)


def test_the_release_says_its_promise_and_its_findings(place):
    said = (place / "said.txt").read_text()
    assert "(1, 1e-06)-differential privacy, replace-one neighbors" in said
    assert re.search(r"age +income", said)


def test_a_terminal_without_special_letters_gets_their_escapes(place):
    poor = ENVIRONMENT | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    shown = subprocess.run(
        [COMMAND, "show", "survey"], cwd=place, env=poor, capture_output=True, check=True
    )
    assert b"mean \\xb1 se" in shown.stdout


def test_what_is_piped_has_no_color(place):
    assert "\x1b" not in (place / "said.txt").read_text()


def test_the_folder_verifies_and_its_card_keeps_to_the_schema(place):
    assert dpcov_command("verify", "survey", cwd=place).returncode == 0
    card = json.loads((place / "survey" / "card.json").read_text())
    jsonschema.validate(card, card_schema())
    assert card["identity"]["name"] == "My survey"


def test_nothing_of_the_file_is_in_the_card(place):
    text = (place / "survey" / "card.json").read_text()
    assert "survey.csv" not in text
    # As a number of its own: noise and digests have all kinds of digits.
    size = (place / "survey.csv").stat().st_size
    assert not re.search(rf"(?<![\w.]){size}(?![\w.])", text)


def test_show_prints_what_the_release_printed(place):
    shown = dpcov_command("show", "survey", cwd=place)
    assert shown.returncode == 0
    assert "Promised: What had a chance of 1 % has at most 2.72 %." in shown.stdout
    assert "(1, 1e-06)-differential privacy" in shown.stdout
    assert re.search(r"age +income", shown.stdout)


def test_an_existing_folder_is_refused_in_one_line_before_anything_is_spent(place):
    before = (place / "survey" / "card.json").read_bytes()
    stated = ("--row-norm", "2", *PROMISE, "--out", "survey")
    again = dpcov_command("release", "survey.csv", *stated, cwd=place)
    assert again.returncode == 1
    assert again.stdout == ""
    assert re.fullmatch(r"dpcov: .* exists and is not overwritten\..*\n", again.stderr)
    assert (place / "survey" / "card.json").read_bytes() == before


def test_replacing_a_release_warns_that_budgets_add_up(place):
    shutil.copytree(place / "survey", place / "other")
    stated = ("--columns", "columns.toml", *PROMISE, "--out", "other", "--quiet", "--force")
    again = dpcov_command("release", "survey.csv", *stated, cwd=place)
    assert (again.returncode, again.stdout) == (0, "")
    assert "epsilons add up" in again.stderr
    card = (place / "other" / "card.json").read_bytes()
    assert card != (place / "survey" / "card.json").read_bytes()


def test_a_cell_that_is_no_number_is_refused_without_repeating_it(place):
    (place / "bad.csv").write_text("a,b\n1,2\n3,secret4711\n")
    stated = ("--row-norm", "2", *PROMISE, "--out", "bad")
    refused = dpcov_command("release", "bad.csv", *stated, cwd=place)
    assert refused.returncode == 1
    assert "4711" not in refused.stderr + refused.stdout
    assert refused.stderr.count("\n") == 1
    assert "Traceback" not in refused.stderr
    assert not list(place.glob("*bad")) + list(place.glob(".bad*"))


def test_ctrl_c_leaves_nothing(place):
    arguments = ["release", "survey.csv", "--row-norm", "2", *PROMISE, "--out", "stopped"]
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=place, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 600
    while not list(place.glob(".stopped.*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    stopped = "dpcov: Stopped. Nothing was written, and nothing was published."
    assert said == f"{stopped} Nothing was spent.\n"
    assert not list(place.glob("*stopped*"))


def test_reports_of_devices_become_a_folder(place):
    (place / "few.csv").write_text("a,b\n" + "0.5,-0.5\n" * 40)
    plan = dpcov_command(
        "local", "plan", "--columns", "a,b", "--row-norm", "1", "--epsilon", "4", cwd=place
    )
    (place / "plan.json").write_text(plan.stdout)
    asked = ("local", "randomize", "few.csv", "--plan", "plan.json", "--out", "reports.bin")
    assert dpcov_command(*asked, cwd=place).returncode == 0
    again = dpcov_command(*asked, cwd=place)
    assert again.returncode == 1
    assert "second disclosure" in again.stderr
    twice = ("reports.bin", "reports.bin")
    collected = dpcov_command(
        "local", "collect", *twice, "--plan", "plan.json", "--out", "study", "--json", cwd=place
    )
    assert json.loads(collected.stdout)["card"]["data"]["n_rows"] == 40
    assert dpcov_command("verify", "study", cwd=place).returncode == 0
