import base64
import hashlib
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.publication import html, make_card, render_page, write_page
from plot.pictures import HOSTILE, estimate_of, pairs_estimate_of, truth_of

LINKS = (0, 1, 0.5), (2, 3, -0.6), (4, 5, 0.4)


class Page(HTMLParser):
    """Tags, ids, and text of a page, as a browser would see them."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.text = Counter(), [], ""
        self.headings = re.findall(r"<h2>(.*?)</h2>", source)
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data

    @property
    def words(self):
        return " ".join(self.text.split())

    def values(self, *names):
        return [value for name, value in self.attributes if name in names]


def promised(estimate):
    """The same estimate as if its noise had come from the operating system."""
    return replace(estimate, release=replace(estimate.release, simulated=False))


def source_of(estimate, **options):
    return render_page(estimate.release, estimate, fdr=1e-3, **options)


def page_of(estimate, **options):
    return Page(source_of(estimate, **options))


@pytest.fixture(scope="module")
def estimate():
    return promised(estimate_of(truth_of(6, *LINKS)))


@pytest.fixture(scope="module")
def source(estimate):
    card = make_card(estimate.release, estimate, name="</pre><script>")
    return source_of(estimate, card=card)


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


@pytest.fixture(scope="module")
def hostile():
    estimate = promised(estimate_of(truth_of(6, *LINKS), columns=HOSTILE))
    return source_of(estimate, title="A <i>& B", description="One.\n\nTwo <b>.")


def test_the_findings_come_first_and_then_the_promise_in_odds(estimate, page):
    words = page.words
    promise = estimate.release.promise
    order = (
        "20,000 people (one row each); 6 columns. 3 of 15 pairs of columns are related",
        "What had a chance of 1 % has at most 54.6 %.",
        str(promise),
        promise.in_words,
        "Blind guessing",
        "Pairs of columns",
    )
    places = [words.index(text) for text in order]
    assert places == sorted(places)


def test_the_sections_stand_in_order(page):
    headings = [
        "A weak promise",
        "Pairs of columns",
        "The strongest pairs",
        "Correlations",
        "Network",
        "Columns",
        "What was released",
        "Spectrum",
        "How the estimate was chosen",
        "What is not protected",
        "How to cite",
        "Provenance",
    ]
    assert [heading for heading in page.headings if heading in headings] == headings


def test_a_simulated_release_promises_nothing_and_says_so_first():
    words = page_of(estimate_of(truth_of(4))).words
    assert words.index("Nothing is promised to anybody") < words.index("What was released")
    assert "Do not publish this" in words
    assert "What is promised" not in words


@pytest.mark.parametrize(
    ("epsilon", "strength", "warned"),
    [(1.0, "strong", False), (2.0, "moderate", False), (4.0, "weak", True)],
)
def test_a_weak_promise_does_not_look_like_a_strong_one(epsilon, strength, warned):
    source = source_of(promised(estimate_of(truth_of(3), epsilon=epsilon)))
    assert f'<section class="promise {strength}">' in source
    assert ("is a weak promise" in source) == warned
    assert ("A weak promise" in source) == warned


def test_pairs_beyond_the_table_are_counted(estimate, monkeypatch):
    monkeypatch.setattr(html, "_MOST_PAIRS", 1)
    assert "The surest 1 of 15 pairs." in page_of(estimate).words


def test_every_picture_stands_in_the_page_with_its_alternative_text(page):
    assert page.tags["svg"] == 6
    others = ("Pairs of columns", "Columns", "Search pairs by column name")
    others += ("Components", "Partial correlations")
    labels = [text for text in page.values("aria-label") if text not in others]
    assert len(labels) == 6
    assert any(
        "3 pairs of 6 columns were found, 2 with a positive and 1 with a" in x for x in labels
    )
    assert any(
        label.startswith("Correlations with 95 % intervals. The strongest: x2 and x3")
        for label in labels
    )


def test_without_edges_the_page_says_so_and_leaves_their_pictures_out():
    page = page_of(promised(estimate_of(truth_of(4))))
    assert "No pair of columns is related" in page.words
    assert page.tags["svg"] == 3


def test_a_hostile_name_is_text_everywhere(hostile):
    page = Page(hostile)
    assert page.tags["script"] == 1  # ours
    assert page.tags["img"] == 0
    # The findings, the table of columns, and that of pairs: each column is in five of 15; loadings
    # and pairs given all others.
    assert page.words.count("<script>alert(1)</script>") == 9
    assert page.words.count("<script>al…") == 5  # two axes of the heatmap, two networks, forest
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_a_name_is_the_same_in_the_picture_as_in_the_table(hostile):
    network = next(
        svg for svg in re.findall(r"<svg.*?</svg>", hostile, re.DOTALL) if "Network" in svg
    )
    texts = [element.text for element in ElementTree.fromstring(network).iter() if element.text]
    assert "$5 and $6" in texts
    assert any(text.startswith("<script>al") for text in texts)


def test_a_name_that_looks_like_a_color_of_ours_stays_a_name():
    columns = ("stroke: #010203", "url(#a)")
    named = estimate_of(truth_of(2, (0, 1, 0.5)), columns=columns)
    words = page_of(named).words
    # Findings, tables, axes of the heatmap, network, forest.
    assert words.count("stroke: #010203") == 7
    assert "stroke: #010203 – url(#a)" in words


def test_nothing_is_fetched_and_nothing_may_be(hostile):
    page = Page(hostile)
    addresses = page.values("href", "src", "xlink:href", "srcset", "action", "data", "poster")
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    (policy,) = (value for value in page.values("content") if "default-src" in value)
    assert "default-src 'none'" in policy
    assert page.tags["script"] == 1


def test_the_policy_allows_the_script_of_the_page_and_no_other(hostile):
    (policy,) = (value for value in Page(hostile).values("content") if "default-src" in value)
    (script,) = re.findall(r"<script>(.*?)</script>", hostile, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("unsafe-inline") == 1  # of styles


def test_ids_are_unique_and_everything_that_is_referred_to_exists(source, page):
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", source)) <= {
        pair for name in ids for pair in ((name, ""), ("", name))
    }


def test_pictures_take_the_color_of_the_text(source):
    assert "#010203" not in source
    assert source.count("currentColor") > 20


def test_the_same_estimate_is_the_same_page():
    estimate = estimate_of(truth_of(3, (0, 1, 0.5)))
    assert source_of(estimate) == source_of(estimate)


def test_a_page_of_pairs_shows_correlations_and_no_risk_curve():
    page = page_of(pairs_estimate_of(truth_of(8, *LINKS), max_pairs=6))
    assert "6 of 28 pairs" in page.words
    assert "covariancestd. error" not in page.words.replace(" ", "")
    assert "How the estimate was chosen" not in page.words
    assert page.tags["svg"] == 4


def test_a_page_of_the_local_model_states_its_pure_promise():
    plan = dpcov.local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=6.0, mechanism="cap"
    )
    collector = dpcov.local.Collector(plan)
    rows = np.random.default_rng(0).choice([-0.6, 0.6], size=(500, 2))
    collector.add_many([dpcov.local.randomize(row, plan) for row in rows])
    release = collector.release()
    words = page_of(release.estimate()).words
    assert "6-differential privacy in the local model" in words
    assert "two rows that a person may have apart" in words
    assert "noise of a covariance, growing with the signal" in words


def test_a_release_too_noisy_to_show_anything_is_said_to_be():
    noisy = estimate_of(truth_of(30), n_rows=200, epsilon=0.1, allow={"small"})
    words = page_of(noisy).words
    assert "Do not read relations from this release" in words
    assert "no correlation, however strong, would have stood out" in words
    assert "too noisy to tell" in words


def test_where_pairs_are_related_nobody_is_told_not_to_read_them():
    truth = truth_of(30, (0, 1, 0.9))
    truth[2:, 2:] *= 1e-6  # columns that vary too little to be seen beside the noise
    words = page_of(estimate_of(truth)).words
    assert "1 of 435 pairs of columns is related" in words
    assert "Do not read relations" not in words
    assert "'x11' and 18 more vary too little beside the noise" in words


def test_what_could_have_been_seen_is_stated(estimate, page):
    detectable = f"{estimate.smallest_detectable_correlation:.2g}"
    assert f"Correlations below {detectable} could hardly be seen" in page.words


def test_a_page_of_one_column_says_nothing_of_pairs_but_that_there_are_none():
    page = page_of(estimate_of(np.eye(1)))
    assert "There is one column, and so there are no pairs." in page.words
    assert "false discovery rate" not in page.words
    assert "Correlations" not in page.words


def test_an_estimate_of_another_release_is_refused(estimate):
    other = estimate_of(truth_of(6), n_rows=1000)
    with pytest.raises(ParameterError, match="another release"):
        render_page(other.release, estimate)


def test_an_equal_release_that_was_read_from_a_file_is_taken(estimate, tmp_path):
    estimate.release.save(tmp_path / "r.npz")
    loaded = dpcov.Release.load(tmp_path / "r.npz")
    assert "A weak promise" in render_page(loaded, estimate)


def test_title_and_description_are_text(hostile):
    page = Page(hostile)
    assert page.tags["i"] == page.tags["b"] == 0
    assert "A <i>& B" in page.words
    assert "One. Two <b>." in page.words


def test_a_card_is_shown_as_json_that_can_be_unfolded(page):
    assert page.tags["details"] == page.tags["pre"] == 1
    assert page.tags["script"] == 1
    assert '"name": "</pre><script>"' in page.words


def test_a_card_of_another_release_is_refused(estimate):
    other = promised(estimate_of(truth_of(6, *LINKS), n_rows=1000))
    stronger = make_card(estimate.release, estimate)
    stronger["guarantee"]["epsilon"] = 0.1
    for card in (make_card(other.release, other), stronger, {}, {"x": object()}):
        with pytest.raises(ParameterError, match="card must be what make_card returned"):
            render_page(estimate.release, estimate, card=card)


def test_a_page_with_everything_it_can_hold_stays_far_below_three_megabytes(tmp_path):
    # More columns than dots in the heatmap, none of them white, more pairs than rows in the
    # table: a thousand columns would not give a larger page.
    size = 260
    noise = np.random.default_rng(0).normal(scale=0.1, size=(size, size))
    release = replace(
        estimate_of(truth_of(2)).release,
        matrix=0.2 + 0.8 * np.eye(size) + np.triu(noise, k=1) + np.triu(noise, k=1).T,
        columns=tuple(f"{number} {'<long name>' * 20}" for number in range(size)),
        noise_scale=dpcov.NoiseScale(0.01, 0.014),
        mean=np.zeros(size),
        units=dpcov.Units.plain(size),
    )
    path = tmp_path / "page.html"
    write_page(release, release.estimate(threshold=0.0, psd="none"), path)
    assert 200_000 < path.stat().st_size < 2_000_000


def test_half_a_surrogate_pair_does_not_break_the_file(estimate, tmp_path):
    write_page(estimate.release, estimate, tmp_path / "page.html", title="half \ud83d pair")
    assert "half &#55357; pair" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_letters_that_the_plots_have_no_font_for_are_still_text():
    estimate = estimate_of(truth_of(2, (0, 1, 0.5)), columns=("收入", "睡眠"))
    assert page_of(estimate).words.count("收入 – 睡眠") == 1


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_its_packages_the_error_names_the_extra(package):
    code = (
        f"import sys; sys.modules['{package}'] = None\n"
        "import dpcov\n"
        "try:\n    dpcov.publication.write_page\n"
        "except dpcov.errors.MissingExtraError as error:\n    print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert (
        result.stdout.strip()
        == "Pages need jinja2, matplotlib and networkx: pip install 'dpcov[publication]'"
    )


def test_a_page_of_some_pairs_says_what_the_others_do_to_the_estimate():
    some = page_of(pairs_estimate_of(truth_of(9, (0, 1, 0.5)), max_pairs=4)).words
    assert "Pairs that were not released are zero in the estimate." in " ".join(some.split())
    assert "not released" not in page_of(estimate_of(truth_of(4))).words
