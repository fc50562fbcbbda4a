"""The commands that answer from a published folder."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import dpcov
from answers import waves
from cli.runner import invoke
from dpcov.publication import write_folder
from publication import releases

FORMULA = "income ~ age + sex"
ALONE = "one/release.npz"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a published folder, and files of other releases."""
    folder = tmp_path_factory.mktemp("published")
    release = waves.survey(1, n_rows=10_000, simulated=False)
    write_folder(release, release.estimate(), folder / "one")
    waves.survey(2, n_rows=10_000, slope=45.0, simulated=False).save(folder / "two.npz")
    waves.survey(3, n_rows=10_000).save(folder / "rehearsed.npz")
    releases.pairs().save(folder / "pairs.npz")
    return folder


def run(*arguments):
    return invoke(arguments)


def refused(*arguments):
    """Run a command that must be refused in one line, and return that line."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("dpcov: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_regression_prints_its_summary(place):
    result = run("regress", place / "one", *FORMULA.split())
    assert (result.exit_code, result.stderr) == (0, "")
    release = dpcov.Release.load(place / "one" / "release.npz")
    assert result.stdout.strip() == release.regress("income", on=["age", "sex"]).summary()


def test_a_regression_for_machines_has_the_numbers_of_the_library(place):
    asked = ("--json", "--about", "table", "--reference", "sex=m", "--confidence", 0.9)
    found = json.loads(run("regress", place / ALONE, FORMULA, *asked).stdout)
    release = dpcov.Release.load(place / ALONE)
    fit = release.regress("income", on=["age", "sex"], about="table", references={"sex": "m"})
    assert [line["coefficient"] for line in found["coefficients"]] == fit.coefficients.tolist()
    assert [line["low"] for line in found["coefficients"]] == fit.interval(0.9)[0].tolist()
    assert [line["name"] for line in found["coefficients"]] == ["intercept", "age", "sex=f"]
    assert found["fits"][0]["r_squared"] == fit.r_squared
    assert found["about"] == "table"


def test_a_file_alone_answers_as_its_folder_does(place):
    whole, alone = (
        run("regress", source, FORMULA).stdout
        for source in (place / "one", place / "one" / "release.npz")
    )
    assert whole == alone


def test_several_outcomes_are_printed_one_after_the_other(place):
    text = run("regress", place / ALONE, "income + mood ~ age").stdout
    assert "income ~ age" in text
    assert "mood ~ age" in text


def test_files_hold_what_was_printed(place, tmp_path):
    result = run("regress", place / ALONE, FORMULA, "--out", tmp_path / "fit")
    assert "written to" in result.stderr
    assert (tmp_path / "fit" / "summary.txt").read_text() == result.stdout
    frame = pd.read_csv(tmp_path / "fit" / "coefficients.csv")
    assert frame["name"].tolist() == ["intercept", "age", "sex=m"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fit"]


def test_truth_values_in_files_are_those_that_r_reads(place, tmp_path):
    run("regress", place / ALONE, FORMULA, "--out", tmp_path / "fit")
    lines = (tmp_path / "fit" / "coefficients.csv").read_text().splitlines()
    cells = {cell for line in lines for cell in line.split(",")}
    assert cells & {"TRUE", "FALSE"}
    assert not cells & {"True", "False", "true", "false"}


def test_what_is_there_is_never_overwritten(place, tmp_path):
    (tmp_path / "fit").mkdir()
    said = refused("regress", place / ALONE, FORMULA, "--out", tmp_path / "fit")
    assert "is there already" in said
    assert list((tmp_path / "fit").iterdir()) == []


def test_nothing_is_written_into_a_folder_that_is_read(place):
    said = refused("regress", place / "one", FORMULA, "--out", place / "one" / "fit")
    assert "which is read" in said


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("income ~ agee", "no column 'agee' (did you mean 'age'?): dpcov show lists them"),
        ("income age", "outcomes, one ~ and predictors"),
        ("income ~ income + age", "'income' is the outcome"),
        ("sex ~ age", "name one of its levels, such as 'sex=f'"),
        ("income ~ age * sex", "need more than second moments"),
        ("income ~ sex=f + sex=m", "All levels of 'sex' are named"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_line(place, formula, said):
    assert said in refused("regress", place / ALONE, formula)


@pytest.mark.parametrize("reference", ["sex", "sex=x", "age=m"])
def test_a_reference_must_be_a_level_of_a_category(place, reference):
    refused("regress", place / ALONE, FORMULA, "--reference", reference)


def test_an_altered_folder_answers_nothing(place, tmp_path):
    shutil.copytree(place / "one", tmp_path / "altered")
    with (tmp_path / "altered" / "pairs.csv").open("a") as file:
        file.write("x\n")
    said = refused("regress", tmp_path / "altered", FORMULA)
    assert "pairs.csv was altered" in said


def test_what_is_no_folder_is_refused(place, tmp_path):
    assert "There is no folder" in refused("regress", tmp_path / "nothing", FORMULA)
    assert "no card.json" in refused("regress", tmp_path, FORMULA)
    (tmp_path / "text.npz").write_text("no release")
    assert "cannot be read as a release" in refused("regress", tmp_path / "text.npz", FORMULA)


def test_what_needs_all_second_moments_is_refused_for_pairs(place):
    said = refused("compare", place / ALONE, place / "pairs.npz")
    assert "all second moments" in said
    said = refused("compare", place / "pairs.npz", place / ALONE)
    assert "all second moments" in said


def test_a_rehearsal_answers_and_says_that_it_is_one(place):
    result = run("regress", place / "rehearsed.npz", FORMULA)
    assert result.exit_code == 0
    assert "rehearsal with a seed: nothing is promised" in result.stderr


def test_wrong_options_are_wrong_usage(place):
    assert run("regress", place / ALONE, FORMULA, "--about", "me").exit_code == 2
    assert run("compare", place / ALONE).exit_code == 2
    assert "--confidence must" in refused("regress", place / ALONE, FORMULA, "--confidence", 2)


def test_names_cannot_steer_the_terminal():
    from dpcov.cli.answer_files import _safe

    assert _safe("a\x1b[31m\nb") == "a [31m\nb"


def test_a_comparison_prints_what_changed(place):
    result = run("compare", place / "one", place / "two.npz")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "age – income" in result.stdout
    assert "--about table asks how these very rows differ" in result.stdout


def test_a_comparison_for_machines_has_the_numbers_of_the_library(place):
    sources = (place / ALONE, place / "two.npz")
    found = json.loads(run("compare", *sources, "age", "income", "--json").stdout)
    one, two = map(dpcov.Release.load, sources)
    table = one.compare(two, columns=["age", "income"]).correlations
    assert [line["difference"] for line in found["correlations"]] == table.difference.tolist()
    assert found["n_rows"] == [10_000, 10_000]


def test_a_comparison_can_be_one_of_coefficients(place):
    asked = ("--regress", "income ~ age + sex", "--json")
    found = json.loads(run("compare", place / ALONE, place / "two.npz", *asked).stdout)
    assert [line["name"] for line in found["coefficients"]] == ["intercept", "age", "sex=m"]
    assert found["coefficients"][1]["difference"] == pytest.approx(15, abs=10)


def test_the_tables_of_a_comparison_are_files(place, tmp_path):
    run("compare", place / ALONE, place / "two.npz", "--out", tmp_path / "changes")
    names = ["correlations.csv", "covariances.csv", "deviations.csv", "means.csv", "summary.txt"]
    assert sorted(file.name for file in (tmp_path / "changes").iterdir()) == names


def test_a_folder_is_not_compared_with_itself(place):
    assert "the same release" in refused("compare", place / ALONE, place / ALONE)


def test_the_help_lists_all_commands_of_answers():
    text = run("--help").stdout
    for name in ("regress", "partial", "components", "factors", "reliability", "compare"):
        assert f"│ {name} " in text


def lacks(method):
    return pytest.mark.skipif(
        not hasattr(dpcov.Release, method), reason=f"Release.{method} is not there yet"
    )


@pytest.fixture(scope="module")
def scale(tmp_path_factory):
    """Six items, of which three each go together, released."""
    generator = np.random.default_rng(0)
    factors = np.repeat(generator.normal(size=(20_000, 2)), 3, axis=1)
    rows = factors + generator.normal(size=factors.shape)
    names = [f"item{place}" for place in range(6)]
    release = dpcov.release(rows, epsilon=2, delta=1e-6, columns=names)
    file = tmp_path_factory.mktemp("scale") / "items.npz"
    release.save(file)
    return file


def answered(scale, *arguments):
    """Run a command on the items, for readers and for machines."""
    command, *rest = arguments
    result = run(command, scale, *rest)
    assert result.exit_code == 0, result.stderr
    machines = run(command, scale, *rest, "--json")
    assert machines.exit_code == 0, machines.stderr
    return result.stdout, json.loads(machines.stdout)


@lacks("partial_correlations")
def test_partial_correlations_are_printed(scale):
    text, found = answered(scale, "partial", "item0", "item1", "item2")
    assert "item0" in text
    assert found["partial_correlations"]


@lacks("components")
def test_components_are_printed(scale):
    assert run("components", scale).exit_code == 0
    text, found = answered(scale, "components", "-n", 2, "--rotation", "varimax")
    assert "item0" in text
    assert len(found["eigenvalues"]) >= 2
    assert found["loadings"][0]["name"] == "item0"


@lacks("factors")
def test_factors_are_printed(scale):
    text, found = answered(scale, "factors", "-n", 2)
    assert "item0" in text
    assert found["loadings"][0]["name"] == "item0"


@lacks("reliability")
def test_the_reliability_of_a_scale_is_printed(scale):
    text, found = answered(scale, "reliability", "item0", "item1", "item2")
    assert text.strip()
    assert 0 < found["alpha"] < 1
    assert len(found["items"]) == 3
