"""``dpcov columns``, and options about cells: what a person sees."""

import json

import numpy as np
import pandas as pd
import pytest

import dpcov
from cli.runner import invoke as _invoke

PROMISE = ("--epsilon", "1", "--delta", "1e-6")


def run(*arguments):
    return _invoke(arguments)


def survey(n=3000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person_id": range(n),
            "age": rng.integers(18, 90, n),
            "A1": rng.choice([1, 2, 3, -9], n),
            "A2": rng.choice([1.5, 2.5], n),
            "sex": rng.choice(["secret f", "m"], n),
        }
    )


@pytest.fixture
def folder(tmp_path):
    survey().to_csv(tmp_path / "s.csv", index=False)
    survey().to_csv(tmp_path / "e.csv.gz", index=False, sep=";", decimal=",")
    survey().to_parquet(tmp_path / "s.parquet", index=False)
    return tmp_path


def test_a_template_says_where_it_comes_from_and_comments_out_what_needs_a_decision(folder):
    typed = run("columns", folder / "s.parquet")
    assert "what the table declares: no cell was read." in typed.stdout
    assert '\n# [columns."sex"]   # text\n# levels = ["…", "…"]\n' in typed.stdout
    assert '\n# [columns."person_id"]   # whole number, by its name an identifier' in typed.stdout
    assert "something to decide: person_id, sex" in typed.stderr
    untyped = run("columns", folder / "s.csv").stdout
    assert "a CSV file declares no types, and no cell was read" in untyped
    assert '\n[columns."age"]   # type not known\n' in untyped
    assert "secret" not in typed.output + untyped


GOOD = """
[defaults]
missing = [-9]
[columns]
"A*" = [1, 6]
age = {lower = 18, upper = 110, complete = true}
sex = {levels = ["f", "m"]}
"""


def test_a_file_of_facts_is_checked_against_a_table(folder):
    (folder / "c.toml").write_text(GOOD)
    result = run("columns", "--check", folder / "c.toml", folder / "s.parquet")
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["A1", "whole", "number", "number,", "1", "to", "6", "-9"] in lines
    assert ["age", "whole", "number", "number,", "18", "to", "110", "none"] in lines
    assert ["sex", "text", "category:", "f,", "m", "-9"] in lines
    assert "Not used: person_id" in result.stdout


@pytest.mark.claim("P8")
@pytest.mark.parametrize("name", ["s.parquet", "s.csv"])
def test_a_check_reads_no_cell(name, folder):
    (folder / "c.toml").write_text(GOOD)
    before = run("columns", "--check", folder / "c.toml", folder / name).stdout
    table = survey().assign(sex="nobody", A1=77.5 if name == "s.csv" else 77)
    table.to_csv(folder / "s.csv", index=False)
    table.to_parquet(folder / "s.parquet", index=False)
    assert run("columns", "--check", folder / "c.toml", folder / name).stdout == before


def test_a_check_lists_all_problems_and_ends_with_2(folder):
    wrong = GOOD + '"B*" = [1, 6]\nagge = {}\nperson_id = {unit = "days"}\nA1 = {uper = 2}\n'
    (folder / "c.toml").write_text(wrong)
    result = run("columns", "--check", folder / "c.toml", folder / "s.parquet")
    assert result.exit_code == 2
    said = result.stderr.splitlines()
    assert len(said) == 4
    for part in (
        "'uper' (did you mean 'upper'?)",
        "'agge' (did you mean 'age'?)",
        "'B*'",
        "unit is for",
    ):
        assert sum(part in line for line in said) == 1
    found = json.loads(
        run("columns", "--check", folder / "c.toml", folder / "s.parquet", "--json").stdout
    )
    assert len(found["problems"]) == 4
    assert [column["name"] for column in found["columns"]] == ["A1", "A2", "age", "sex"]


@pytest.mark.claim("P8")
def test_a_check_shows_no_name_of_a_table_that_may_be_somebody_s_row(tmp_path):
    (tmp_path / "t.csv").write_text("Lovelace,Ada,36\nJones,Bob,40\n")
    (tmp_path / "c.toml").write_text("[columns]\nage = [18, 110]\n'*' = {}\n")
    result = run("columns", "--check", tmp_path / "c.toml", tmp_path / "t.csv")
    assert result.exit_code != 0
    assert not any(cell in result.output for cell in ("Ada", "Lovelace", "36"))


def test_a_file_that_cannot_be_read_ends_a_check_with_2(folder):
    (folder / "c.toml").write_text("columns = [")
    assert run("columns", "--check", folder / "c.toml", folder / "s.csv").exit_code == 2


def test_a_compressed_file_with_semicolons_and_decimal_commas_is_released(folder):
    (folder / "c.toml").write_text(GOOD.replace('sex = {levels = ["f", "m"]}\n', ""))
    form = ("--delimiter", ";", "--decimal", ",", "--columns", folder / "c.toml")
    asked = (*PROMISE, "--missing", "center", "--seed", 1, "--quiet")
    result = run("release", folder / "e.csv.gz", *form, *asked, "--out", folder / "e")
    assert result.exit_code == 0, result.stderr
    plain = ("--columns", folder / "c.toml", "--out", folder / "s")
    assert run("release", folder / "s.csv", *plain, *asked).exit_code == 0
    one, other = (dpcov.Release.load(folder / name / "release.npz") for name in ("e", "s"))
    assert one.columns == ("A1", "A2", "age")
    assert np.array_equal(one.matrix, other.matrix)
    refused = run("release", folder / "e.csv.gz", *asked, "--out", folder / "x")
    assert "--delimiter ';'" in refused.stderr
    assert "Nothing was spent." in refused.stderr


def test_codes_on_the_command_line_are_missing_cells(folder):
    (folder / "c.toml").write_text("[columns]\nA1 = [1, 6]\nage = {}\n")
    asked = ("--columns", folder / "c.toml", *PROMISE, "--missing", "refuse", "--quiet")
    codes = ("--missing-code", "-9", "--missing-code", "refused")
    refused = run("release", folder / "s.csv", *asked, *codes, "--out", folder / "x")
    assert (refused.exit_code, "missing" in refused.stderr) == (1, True)
    done = run("release", folder / "s.csv", *asked, "--out", folder / "x")
    assert done.exit_code == 0, done.stderr
