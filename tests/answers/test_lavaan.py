"""lavaan and R, for real: set DPCOV_TEST_R=1 to run these, or `make test-r`.

They need Rscript with the package lavaan: r-base-core and r-cran-lavaan of Debian.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from answers.exported import (
    FACTORS,
    LOADINGS,
    ODD_NAMES,
    UNITS,
    odd_release,
    of_devices,
    three_factor_release,
    three_factors,
    with_categories,
    with_tails,
)
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.publication import write_folder
from publication import releases

R = shutil.which("Rscript")
pytestmark = pytest.mark.skipif(
    os.environ.get("DPCOV_TEST_R") != "1" or R is None,
    reason="needs R with lavaan, and DPCOV_TEST_R=1",
)

MODEL = "factor1 =~ x1 + x2 + x3\nfactor2 =~ x4 + x5 + x6\nfactor3 =~ x7 + x8 + x9"
N_RELEASES = 40


def run_r(text, folder):
    """Run a program of R in a folder and return what it printed."""
    (folder / "test.R").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [R, "--vanilla", "test.R"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def state_model(folder, model=MODEL):
    """Write a model into an exported file, as a user does."""
    file = folder / "model.R"
    before, rest = file.read_text(encoding="utf-8").split("model <- '\n", 1)
    file.write_text(f"{before}model <- '\n{model}\n'{rest.split(chr(10) + chr(39), 1)[1]}")


def true_values():
    """Return the parameters of the model, by lavaan's names: the first loading is 1."""
    first = (LOADINGS * UNITS)[0]
    values = {}
    for factor in range(3):
        for item in range(3):
            name = f"x{3 * factor + item + 1}"
            values[f"factor{factor + 1}=~{name}"] = LOADINGS[item] * UNITS[item] / first
            values[f"{name}~~{name}"] = (1 - LOADINGS[item] ** 2) * UNITS[item] ** 2
            values[f"{name}~1"] = 5.0
        for other in range(factor, 3):
            values[f"factor{factor + 1}~~factor{other + 1}"] = FACTORS[factor, other] * first**2
    return values


def estimates(folders, place):
    """Return the estimates and the errors of exported files, which one process of R runs."""
    listed = ", ".join(f'"{folder.name}"' for folder in folders)
    run_r(
        f"""
        all <- NULL
        for (name in c({listed})) {{
          sink(nullfile()); source(file.path(name, "model.R")); sink()
          found <- parameterEstimates(fit)
          found$release <- name
          by <- function(names) ifelse(names %in% names(unit), unit[names], 1)
          found$unit <- by(found$lhs) * by(found$rhs)
          fits <- fitMeasures(fit)
          found$chisq <- fits[[if ("chisq.scaled" %in% names(fits)) "chisq.scaled" else "chisq"]]
          all <- rbind(all, found[c("release", "lhs", "op", "rhs", "est", "se", "chisq", "unit")])
        }}
        write.csv(all, "estimates.csv", row.names = FALSE)
        """,
        place,
    )
    found = pd.read_csv(place / "estimates.csv", keep_default_na=False)
    found["name"] = found.lhs + found.op + found.rhs
    return found[found.se > 0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("lavaan")
    folders = []
    for seed in range(N_RELEASES):
        release = three_factor_release(seed)
        folders.append(dpcov.answers.export(release, "lavaan", place / f"run{seed}"))
        state_model(folders[-1])
    found = estimates(folders, place)
    truth = true_values()
    found["z"] = (found.est - found.name.map(truth)) / found.se
    assert found.z.notna().all()
    return found


def test_standard_errors_cover(runs):
    assert len(runs) == N_RELEASES * 30
    covered = (runs.z.abs() < 1.96).mean()
    print(f"coverage of 95 % intervals: {covered:.3f}; sd of z: {runs.z.std():.2f}")
    assert 0.90 < covered < 0.99


def test_errors_without_privacy_noise_would_not(runs):
    # What lavaan computes from n alone, for the same model and rows without noise.
    sampling = raw_fit(three_factors(0))
    without = runs.est - runs.name.map(true_values())
    covered = (without.abs() < 1.96 * runs.name.map(sampling.se)).mean()
    print(f"coverage without privacy noise: {covered:.3f}")
    assert covered < 0.85


def test_the_test_of_fit_does_not_reject_the_true_model(runs):
    mean = runs.groupby("release").chisq.first().mean()
    print(f"mean chi-square: {mean:.1f}, of 24 degrees of freedom")
    # 24 degrees: the mean of 40 has an sd of 1.1. Errors are a little too wide, so it is less.
    assert 14 < mean < 30


_RAW = {}


def raw_fit(rows):
    """Return lavaan's estimates on the rows themselves."""
    import tempfile

    if "fit" not in _RAW:
        with tempfile.TemporaryDirectory() as folder:
            rows.to_csv(Path(folder, "rows.csv"), index=False)
            run_r(
                f"""
                suppressMessages(library(lavaan))
                fit <- sem('{MODEL}', read.csv("rows.csv"), meanstructure = TRUE)
                write.csv(parameterEstimates(fit), "raw.csv", row.names = FALSE)
                """,
                Path(folder),
            )
            found = pd.read_csv(Path(folder, "raw.csv"), keep_default_na=False)
            found.index = found.lhs + found.op + found.rhs
            _RAW["fit"] = found
    return _RAW["fit"]


def test_estimates_agree_with_those_of_the_raw_table(runs):
    raw = raw_fit(three_factors(0))
    one = runs[runs.release == "run0"]
    off = (one.est - one.name.map(raw.est)) / one.se
    print(f"farthest from the raw table: {off.abs().max():.2f} standard errors, of {len(off)}")
    assert off.abs().max() < 3.5
    assert (off.abs() < 2).mean() > 0.85


def test_nacov_is_read_in_the_order_in_which_lavaan_has_it(tmp_path):
    out = dpcov.answers.export(three_factor_release(0), "lavaan", tmp_path / "model")
    state_model(out)
    run_r(
        """
        source("model/model.R")
        set.seed(1)
        rows <- as.data.frame(matrix(rnorm(9000), 1000, 9) %*% chol(covariance))
        other <- sem(model, rows, estimator = "MLM", meanstructure = TRUE)
        names <- rownames(lavInspect(other, "gamma"))
        stopifnot(identical(names, rownames(nacov)), identical(names, colnames(nacov)))
        kept <- lavInspect(fit, "gamma")
        stopifnot(max(abs(kept - nacov)) == 0)
        """,
        tmp_path,
    )


def test_a_model_of_some_columns_in_another_order_has_the_same_estimates(tmp_path):
    release = three_factor_release(0)
    folders = []
    models = {"all": None, "some": ["x6", "x1", "x5", "x2", "x4", "x3"]}
    for name, columns in models.items():
        folders.append(dpcov.answers.export(release, "lavaan", tmp_path / name, columns=columns))
        state_model(folders[-1], "factor1 =~ x1 + x2 + x3\nfactor2 =~ x4 + x5 + x6")
    found = estimates(folders, tmp_path).pivot(
        index="name", columns="release", values=["est", "se"]
    )
    np.testing.assert_allclose(found["est", "all"], found["est", "some"], rtol=1e-4)
    np.testing.assert_allclose(found["se", "all"], found["se", "some"], rtol=1e-4)


def test_a_variable_in_other_units_has_the_same_estimates_in_these(tmp_path):
    out = dpcov.answers.export(three_factor_release(0), "lavaan", tmp_path / "one")
    other = dpcov.answers.export(three_factor_release(0), "lavaan", tmp_path / "other")
    for folder in (out, other):
        state_model(folder)
    text = (other / "model.R").read_text()
    place = "# The columns of the model, in the order in"
    (other / "model.R").write_text(text.replace(place, f'unit["x2"] <- 10\n{place}'))
    found = estimates([out, other], tmp_path)
    both = found[found.name == "factor1=~x2"].set_index("release")
    assert both.est["one"] == pytest.approx(10 * both.est["other"], rel=1e-4)
    assert both.se["one"] == pytest.approx(10 * both.se["other"], rel=1e-4)


@pytest.mark.parametrize("make", [odd_release, with_categories, of_devices])
def test_the_placeholder_runs_and_gives_the_moments_back(make, tmp_path):
    release = make()
    out = dpcov.answers.export(release, "lavaan", tmp_path / "model")
    found = estimates([out], tmp_path)
    names = pd.read_csv(out / "names.csv", keep_default_na=False)
    first, second = names.column[:2]
    place = [release.columns.index(name) for name in (first, second)]
    scale = release.units.scale[place]
    row = found[(found.op == "~~") & (found.lhs == names.variable[0])]
    row = row[row.rhs == names.variable[1]].iloc[0]
    exported = moments_of(ask(release, None)).covariance[0, 1]
    assert row.est * row.unit == pytest.approx(exported, rel=1e-4, abs=1e-6)
    released = release.matrix[tuple(place)] * scale.prod()
    assert row.est * row.unit == pytest.approx(released, rel=0.02, abs=0.02 * scale.prod())
    errors = release.entry_covariance([first, second]).matrix()
    assert row.se * row.unit == pytest.approx(np.sqrt(errors[1, 1]), rel=0.02)


def far_units(seed=0):
    """Return a release of columns whose units would make lavaan fail: years, and large sums."""
    rng = np.random.default_rng(seed)
    year = np.round(rng.uniform(1990, 2020, 20_000))
    income = 1e7 * (1 + 0.02 * (year - 2005)) + rng.normal(0, 4e6, 20_000)
    share = 0.01 + 2e-10 * income + rng.normal(0, 1e-3, 20_000)
    table = pd.DataFrame({"share": share, "year": year, "income": income})
    return dpcov.release(table, epsilon=1, delta=1e-6, seed=seed)


def test_columns_of_very_different_units_have_slopes_and_errors(tmp_path):
    release = far_units()
    out = dpcov.answers.export(release, "lavaan", tmp_path / "model")
    state_model(out, "share ~ year + income")
    found = estimates([out], tmp_path)
    text = run_r('source("model/model.R"); cat("\\nUNIT", format(unit, digits = 15))', tmp_path)
    assert "(year - 200" in text
    unit = dict(zip(release.columns, map(float, text.split("UNIT")[1].split()), strict=True))
    slopes = found[found.op == "~"].set_index("rhs")
    fit = release.regress("share", on=["year", "income"])
    for name, slope, error in zip(
        fit.names[1:], fit.coefficients[1:], fit.standard_errors[1:], strict=True
    ):
        per = unit["share"] / unit[name]
        assert slopes.est[name] * per == pytest.approx(slope, abs=0.2 * error)
        assert slopes.se[name] * per == pytest.approx(error, rel=0.05)


def test_columns_that_cannot_be_told_apart_are_warned_of(tmp_path):
    rows = np.random.default_rng(0).normal(size=(4_000, 4))
    rows[:, 1] = rows[:, 0] + 0.02 * rows[:, 1]
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=5, seed=0)
    for name, model in (("both", "x2 ~ x0 + x1"), ("one", "x2 ~ x0 + x3")):
        out = dpcov.answers.export(release, "lavaan", tmp_path / name)
        state_model(out, model)
        done = subprocess.run(
            [R, "--vanilla", out / "model.R"], capture_output=True, text=True, check=True
        )
        assert ("makes these columns indistinguishable: x0, x1" in done.stderr) is (name == "both")


def answers(seed=0, n_rows=3_000):
    """Return answers from 1 to 6 to five questions on each of five traits, of no simple structure.

    Questions have a second trait, and questions that are asked one after the other have a wording
    in common, as in real questionnaires: no model with five simple factors fits.
    """
    rng = np.random.default_rng(seed)
    traits = rng.multivariate_normal(np.zeros(5), 0.75 * np.eye(5) + 0.25, size=n_rows)
    weights = np.kron(np.eye(5), np.linspace(0.5, 0.8, 5)[None, :])
    weights += 0.25 * np.roll(weights, 6, axis=1) * rng.choice([-1, 1], 25)
    wording = np.repeat(rng.normal(size=(n_rows, 13)), 2, axis=1)[:, 1:]
    cells = 3.5 + traits @ weights + 0.5 * wording + 0.7 * rng.normal(size=(n_rows, 25))
    names = [f"{trait}{number}" for trait in "abcde" for number in range(1, 6)]
    return pd.DataFrame(np.clip(np.round(cells), 1, 6), columns=names)


def test_loadings_of_a_model_that_does_not_fit_are_those_of_the_raw_table(tmp_path):
    table = answers()
    table.to_csv(tmp_path / "rows.csv", index=False)
    traits = [" + ".join(f"{trait}{number}" for number in range(1, 6)) for trait in "abcde"]
    model = "\n".join(
        f"trait{place} =~ NA*{each}\ntrait{place} ~~ 1*trait{place}"
        for place, each in enumerate(traits)
    )
    columns = [dpcov.Column(name, lower=1, upper=6) for name in table.columns]
    folders = []
    for seed in range(10):
        release = dpcov.release(table, epsilon=3, delta=1e-6, columns=columns, seed=seed)
        folders.append(dpcov.answers.export(release, "lavaan", tmp_path / f"run{seed}"))
        state_model(folders[-1], model)
    run_r(
        f"""
        suppressMessages(library(lavaan))
        fit <- sem('{model}', read.csv("rows.csv"))
        stopifnot(fitMeasures(fit, "rmsea") > 0.05)
        write.csv(parameterEstimates(fit), "raw.csv", row.names = FALSE)
        """,
        tmp_path,
    )
    raw = pd.read_csv(tmp_path / "raw.csv")
    raw = raw[raw.op == "=~"].set_index(["lhs", "rhs"]).est
    found = estimates(folders, tmp_path)
    found = found[found.op == "=~"].set_index(["lhs", "rhs"])
    off = (found.est - raw.reindex(found.index)) * np.sign(raw.reindex(found.index))
    covered = (off.abs() < 1.96 * found.se).mean()
    print(f"bias of loadings: {off.mean():.3f}; 95 % intervals that cover: {covered:.3f}")
    assert len(off) == 250
    assert abs(off.mean()) < 0.03
    assert 0.87 < covered < 0.99


def test_a_suppressed_mean_leaves_a_model_without_means(tmp_path):
    out = dpcov.answers.export(with_tails(), "lavaan", tmp_path / "model")
    for model, has_means in ((MODEL, False), ("factor1 =~ x1 + x2 + x3", True)):
        state_model(out, model)
        found = estimates([out], tmp_path)
        assert (found.op == "~1").any() == has_means


def test_a_model_of_columns_with_gaps_runs(tmp_path):
    out = dpcov.answers.export(with_categories(), "lavaan", tmp_path / "model")
    state_model(out, "income ~ age + sex_m + sex_x")
    slopes = estimates([out], tmp_path)
    slopes = slopes[slopes.op == "~"].set_index("rhs")
    assert slopes.se["age"] > 0


def test_a_column_named_na_survives_what_the_page_says(tmp_path):
    release = odd_release()
    write_folder(release, release.estimate(), tmp_path / "survey")
    dpcov.answers.export(release, "lavaan", tmp_path / "model")
    page = (Path(__file__).parents[2] / "docs" / "r.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("correlation <- "))
    text = run_r(
        f"""
        {line}
        names <- read.csv("model/names.csv", na.strings = "")
        stopifnot(!anyNA(rownames(correlation)), identical(rownames(correlation), names$column))
        cat("NA" %in% rownames(correlation), is.numeric(correlation), "NA" %in% names$column)
        """,
        tmp_path,
    )
    assert text == "TRUE TRUE TRUE"


def test_truth_values_are_read_as_such_without_a_reader(tmp_path):
    release = three_factor_release(0)
    write_folder(release, release.estimate(), tmp_path / "survey")
    run_r(
        """
        pairs <- read.csv("survey/pairs.csv", na.strings = "")
        stopifnot(is.logical(pairs$told), is.logical(pairs$related), sum(pairs$related) > 5)
        """,
        tmp_path,
    )


def test_matrices_of_categories_have_an_inverse_that_means_something(tmp_path):
    release = with_categories()
    write_folder(release, release.estimate(), tmp_path / "survey")
    dpcov.answers.export(release, "r", tmp_path / "reader")
    text = run_r(
        """
        source("reader/read_dpcov.R")
        survey <- read_dpcov("survey/")
        cat(colnames(survey$covariance), names(survey$means), colnames(survey$released), "|")
        x <- setdiff(colnames(survey$covariance), "income")
        slopes <- solve(survey$covariance[x, x], survey$covariance[x, "income"])
        cat(slopes[["age"]], max(abs(slopes)), "|")
        cat(colnames(read_dpcov("survey/", all_levels = TRUE)$covariance))
        """,
        tmp_path,
    )
    kept, slopes, whole = (part.split() for part in text.split("|"))
    assert kept == ["age", "sex=m", "sex=x", "income"] * 3
    assert whole == ["age", "sex=f", "sex=m", "sex=x", "income"]
    assert float(slopes[0]) == pytest.approx(30, abs=5)
    assert float(slopes[1]) < 300


def test_many_columns_warn_that_errors_are_too_small(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20_000, 41))
    release = dpcov.release(rows, epsilon=8, delta=1e-6, row_norm=10, seed=0)
    out = dpcov.answers.export(release, "lavaan", tmp_path / "model")
    done = subprocess.run(
        [R, "--vanilla", out / "model.R"], capture_output=True, text=True, check=True
    )
    assert "too small" in done.stderr


@pytest.mark.parametrize("make", [odd_release, with_categories, releases.pairs, releases.dense])
def test_the_reader_reads_what_was_published(make, tmp_path):
    release = make()
    estimate = release.estimate()
    card = write_folder(release, estimate, tmp_path / "survey", curator='O "q" é')
    dpcov.answers.export(release, "r", tmp_path / "reader")
    run_r(
        """
        source("reader/read_dpcov.R")
        survey <- read_dpcov("survey/", all_levels = TRUE)
        write.csv(survey$correlation, "correlation.csv")
        writeLines(c(survey$promise, survey$promise_in_words, survey$n), "said.txt")
        writeLines(colnames(survey$correlation), "names.txt")
        stopifnot(is.logical(survey$pairs$told), is.numeric(survey$pairs$q_value))
        stopifnot(identical(names(survey$means), colnames(survey$correlation)))
        if (!is.null(survey$covariance)) {
          stopifnot(max(abs(cov2cor(survey$covariance) - survey$correlation)) < 1e-9)
          both <- survey$columns$column[1:2]
          slope <- solve(survey$covariance[both[1], both[1]], survey$covariance[both[1], both[2]])
          stopifnot(is.finite(slope))
        }
        """,
        tmp_path,
    )
    found = pd.read_csv(tmp_path / "correlation.csv", index_col=0).to_numpy()
    np.testing.assert_allclose(found, estimate.correlation, atol=1e-12)
    said = (tmp_path / "said.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    guarantee = card["guarantee"]
    assert said == [guarantee["statement"], guarantee["in_words"], str(release.n_rows)]
    names = (tmp_path / "names.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert names == list(release.columns)
    assert make is not odd_release or names == ODD_NAMES


def test_the_reader_feeds_a_factor_analysis(tmp_path):
    release = three_factor_release(0)
    write_folder(release, release.estimate(), tmp_path / "survey")
    dpcov.answers.export(release, "r", tmp_path / "reader")
    text = run_r(
        """
        source("reader/read_dpcov.R")
        survey <- read_dpcov("survey/")
        fit <- factanal(covmat = survey$covariance, factors = 3, n.obs = survey$n)
        cat(format(1 - fit$uniquenesses, digits = 10))
        """,
        tmp_path,
    )
    communalities = np.array(text.split(), dtype=float)
    print(f"communalities: {json.dumps(communalities.round(3).tolist())}")
    np.testing.assert_allclose(communalities, np.tile(LOADINGS**2, 3), atol=0.1)


def test_a_folder_that_is_none_is_refused_by_the_reader(tmp_path):
    dpcov.answers.export(three_factor_release(0), "r", tmp_path / "reader")
    text = run_r(
        """
        source("reader/read_dpcov.R")
        cat(tryCatch(read_dpcov("nowhere"), error = conditionMessage))
        """,
        tmp_path,
    )
    assert "There is no folder of dpcov at nowhere" in text
