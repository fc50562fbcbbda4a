"""With missing="refuse" a release says that its promise holds among complete tables. Claim P8."""

import numpy as np
import pytest

import dpcov
from dpcov import local
from dpcov.publication import card_to_markdown, make_card
from dpcov.publication.html import render_page
from steady_noise import remembered

pytestmark = [
    pytest.mark.claim("P8"),
    # Fifty reports show nothing, which is not the matter here.
    pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning"),
]

ROWS = np.random.default_rng(0).normal(size=(5000, 4))
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def dense(missing):
    return dpcov.release(ROWS, row_norm=4.0, missing=missing, **BUDGET)


def pairs(missing):
    return dpcov.release_pairs(ROWS, max_pairs=3, missing=missing, **BUDGET)


def collected(missing):
    plan = local.CollectionPlan(columns=list("abcd"), row_norm=4.0, epsilon=2.0, missing=missing)
    collector = local.Collector(plan)
    collector.add_many([local.randomize(row, plan) for row in ROWS[:50]])
    return collector.release()


@remembered
def described(make, missing):
    """Return everything that is said about a release to a reader."""
    release = make(missing)
    estimate = release.estimate()
    card = make_card(release, estimate)
    said = {
        "words": release.promise.in_words,
        "card": card["guarantee"]["in_words"],
        "card.md": card_to_markdown(card),
        "page": render_page(release, estimate),
    }
    return {where: " ".join(text.split()) for where, text in said.items()}


KINDS = [(dense, "complete tables"), (pairs, "complete tables"), (collected, "complete rows")]


@pytest.mark.parametrize(("make", "domain"), KINDS)
@pytest.mark.parametrize("where", ["words", "card", "card.md", "page"])
def test_a_release_that_refuses_gaps_says_among_what_it_holds(make, domain, where):
    said = described(make, "refuse")[where]
    assert f"It holds among {domain}, without missing or infinite cells" in said


@pytest.mark.parametrize(("make", "domain"), KINDS)
@pytest.mark.parametrize("where", ["words", "card", "card.md", "page"])
def test_a_release_that_reads_gaps_as_the_center_does_not(make, domain, where):
    said = described(make, "center")[where]
    assert "It holds among" not in said
    assert domain not in said


@pytest.mark.parametrize("make", [make for make, _ in KINDS])
def test_a_machine_reads_the_domain_from_the_card(make):
    strict, other = (make(missing) for missing in ("refuse", "center"))
    cards = [make_card(release, release.estimate())["guarantee"] for release in (strict, other)]
    words = strict.promise.neighbors.domain_in_words
    assert cards[0]["domain"] == {"complete": True, "in_words": words}
    assert cards[1]["domain"] == {"complete": False, "in_words": None}


@pytest.mark.parametrize("make", [make for make, _ in KINDS])
def test_what_is_not_protected_names_gaps_only_where_they_are_refused(make):
    strict, other = (make(missing) for missing in ("refuse", "center"))
    lists = [make_card(release, release.estimate())["guarantee"] for release in (strict, other)]
    assert "missing or infinite" in " ".join(lists[0]["not_protected"])
    assert "missing or infinite" not in " ".join(lists[1]["not_protected"])


@pytest.mark.parametrize("missing", ["refuse", "center"])
@pytest.mark.parametrize("make", [make for make, _ in KINDS])
def test_a_file_keeps_the_domain(make, missing, tmp_path):
    release = make(missing)
    release.save(tmp_path / "release.npz")
    loaded = dpcov.Release.load(tmp_path / "release.npz")
    assert loaded == release
    assert loaded.promise.in_words == release.promise.in_words
    assert loaded.promise.complete is (missing == "refuse")


def test_a_plan_says_the_same_as_its_releases():
    for missing in ("refuse", "center"):
        plan = local.CollectionPlan(columns=["a"], row_norm=1.0, epsilon=1.0, missing=missing)
        assert plan.promise.complete is (missing == "refuse")
        assert local.CollectionPlan.from_json(plan.to_json()).promise == plan.promise
