"""Where readers of a folder stumbled: each as a test."""

import csv
import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import NothingDetectableWarning
from dpcov.publication import card_to_markdown, make_card, render_page, write_folder
from dpcov.publication.card_text import readme_to_markdown
from plot.pictures import estimate_of, truth_of
from publication import releases

VIEWS = ("page.html", "card.md", "README.md")


def read(file):
    with file.open(encoding="utf-8", newline="") as content:
        return list(csv.DictReader(content))


def words(file):
    return " ".join(file.read_text(encoding="utf-8").replace("\\", "").split())


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """Few rows for many columns: some related for sure, most too noisy, some that hardly vary."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(3000, 40))
    rows[:, 1] = 0.98 * rows[:, 0] + 0.2 * rows[:, 1]
    rows[:, 2:6] += rows[:, :1]
    rows[:, 20:] = rows[:, 20:] > 2.6
    frame = pd.DataFrame(rows, columns=[f"c{place}" for place in range(40)])
    release = dpcov.release(frame, epsilon=1.0, delta=1e-6, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        estimate = release.estimate()
    folder = tmp_path_factory.mktemp("uneven") / "out"
    write_folder(release, estimate, folder)
    return folder, estimate


def test_nobody_is_told_not_to_read_relations_above_a_list_of_them(uneven):
    folder, estimate = uneven
    assert len(estimate.edges()) > 3
    for view in VIEWS:
        assert "Do not read relations" not in words(folder / view)
    blind = json.loads((folder / "card.json").read_text())["estimate"]["blind_columns"]
    assert 0 < len(blind) < 40  # it is said of the columns that it is about


def test_all_views_mean_the_same_by_related(uneven):
    folder, estimate = uneven
    related = [row for row in read(folder / "pairs.csv") if row["related"] == "TRUE"]
    assert len(related) == len(estimate.edges()) != estimate.pairs_kept
    for view in VIEWS:
        text = words(folder / view)
        assert f"{len(related)} of 780 pairs of columns are related" in text
        assert not re.search(r"keeps [\d,]+ of", text)


def test_no_correlation_of_a_folder_is_beyond_one(uneven):
    folder, _ = uneven
    for row in read(folder / "pairs.csv"):
        numbers = [float(row[name]) for name in ("low", "released", "high", "estimate")]
        assert all(-1 <= number <= 1 for number in numbers)
        assert numbers[0] <= numbers[1] <= numbers[2]
    for row in read(folder / "correlation.csv"):
        assert all(-1 <= float(cell) <= 1 for name, cell in row.items() if name != "column")


def test_the_heatmap_has_the_estimates_of_the_table_of_pairs(uneven):
    folder, estimate = uneven
    drawn = estimate.kept_correlations.toarray()  # what the heatmap shows
    place = {name: number for number, name in enumerate(estimate.columns)}
    for row in read(folder / "pairs.csv"):
        shown = drawn[place[row["first"]], place[row["second"]]]
        assert float(row["estimate"]) == pytest.approx(shown, abs=1e-12)


def test_what_is_too_noisy_to_tell_is_no_number_on_the_page(uneven):
    folder, _ = uneven
    source = (folder / "page.html").read_text(encoding="utf-8")
    lines = re.findall(
        r"<tr[^>]*><td><bdi>(c\d+)</bdi><td><bdi>(c\d+)</bdi><td[^>]*>([^<]*)", source
    )
    told = {(row["first"], row["second"]): row["told"] for row in read(folder / "pairs.csv")}
    assert len(lines) == len(told)
    assert "FALSE" in told.values()
    for first, second, shown in lines:
        assert (shown == "too noisy to tell") == (told[first, second] == "FALSE")


def test_what_is_called_a_covariance_is_one(tmp_path):
    release = releases.pairs()
    write_folder(release, release.estimate(), tmp_path / "out")
    for file in (tmp_path / "out").glob("*.csv"):
        assert "covariance" not in file.name
        assert "covariance" not in file.read_text(encoding="utf-8")
    with_variances = releases.pairs_with_variances()
    write_folder(with_variances, with_variances.estimate(), tmp_path / "more")
    rows = read(tmp_path / "more" / "covariance.csv")
    diagonal = [float(row[row["column"]]) for row in rows]
    assert diagonal != [1.0] * len(diagonal)


@pytest.mark.parametrize(
    ("epsilon", "warned"), [(1.0, False), (3.0, False), (3.5, True), (4.0, True)]
)
def test_a_large_epsilon_is_warned_of_in_every_view(epsilon, warned):
    made = estimate_of(truth_of(3), epsilon=epsilon)
    estimate = replace(made, release=replace(made.release, simulated=False))
    card = make_card(estimate.release, estimate, fdr=0.1)
    assert (card["guarantee"]["warning"] is not None) == warned
    page = render_page(estimate.release, estimate)
    for text in (card_to_markdown(card), page):
        assert ("is a weak promise" in text) == warned
    assert ('class="promise strong"' in page) == (epsilon <= 1)
    assert "weak" not in readme_to_markdown(card)
