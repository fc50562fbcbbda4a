"""The page, card.md, the terminal and the registry entry are views of the card."""

import copy
import re
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

import dpcov
from dpcov.cli.summary import findings, learned, promise
from dpcov.privacy import ApproxDP, PureDP
from dpcov.publication import (
    card,
    card_to_markdown,
    make_card,
    tables,
    write_folder,
)
from dpcov.publication import html as page
from dpcov.publication.card_text import readme_to_markdown
from dpcov.publication.columns import column_rows
from dpcov.publication.pictures import draw_all
from dpcov.publication.tables import tables_to_show
from publication import releases
from publication.releases import estimate_of
from steady_noise import remembered

SOURCES = [
    path
    for room in ("publication", "cli")
    for path in (Path(dpcov.__file__).parent / room).rglob("*")
    if path.suffix in {".py", ".j2"}
]


@remembered
def made(make):
    release = make()
    estimate = estimate_of(release)
    return estimate, make_card(release, estimate, name="Survey", fdr=0.1)


def on_the_terminal(said, tables):
    console = Console(width=100_000)
    with console.capture() as caught:
        console.print(promise(said))
        console.print(learned(said))
        console.print(findings(said, tables))
    return caught.get()


@cache
def pictures(make):
    """Draw the pictures once: what is said of a release does not change them."""
    return draw_all(made(make)[0], 0.1)


def views(make, said):
    estimate, _ = made(make)
    tables = tables_to_show(said, estimate, 0.1)
    return {
        "page": page._render(said, estimate, tables, pictures=pictures(make)),
        "card.md": card_to_markdown(said),
        "README.md": readme_to_markdown(said),
        "terminal": on_the_terminal(said, tables),
    }


def put(said, place, text):
    *parents, last = place.split(".")
    for parent in parents:
        said = said[parent]
    said[last] = [text] if isinstance(said[last], list) else text


@pytest.mark.parametrize(
    ("place", "where"),
    [
        ("guarantee.statement", {"page", "card.md", "README.md", "terminal"}),
        ("guarantee.in_words", {"page", "card.md", "terminal"}),
        ("guarantee.attack.in_words", {"page", "card.md", "terminal"}),
        ("guarantee.can_learn", {"page", "card.md"}),
        ("guarantee.cannot_learn", {"page", "card.md"}),
        ("guarantee.privacy_unit.note", {"page", "card.md"}),
        ("guarantee.not_protected", {"page", "card.md"}),
        ("known_limits", {"page", "card.md"}),
        ("released.in_words", {"page", "card.md"}),
        ("mechanism.sampler", {"card.md"}),
        (
            "estimate.detectable_in_words",
            {"page", "card.md", "README.md", "terminal"},
        ),
        ("related.in_words", {"page", "card.md", "README.md", "terminal"}),
        ("data.in_words", {"page", "card.md", "README.md", "terminal"}),
        ("guarantee.example.in_words", {"page", "card.md", "terminal"}),
        ("guarantee.warning", {"page", "card.md", "terminal"}),
    ],
)
def test_a_sentence_of_the_card_is_what_all_views_say(place, where):
    said = copy.deepcopy(made(releases.dense)[1])
    put(said, place, "Xyzzy says the card")
    shown = views(releases.dense, said)
    assert {name for name, text in shown.items() if "Xyzzy says the card" in text} == where


def test_what_was_learned_is_told_in_the_words_of_the_card():
    said = copy.deepcopy(made(releases.learned)[1])
    put(said, "learned.in_words", "Xyzzy says the card")
    shown = views(releases.learned, said)
    assert {name for name, text in shown.items() if "Xyzzy says the card" in text} == {
        "page",
        "card.md",
        "terminal",
    }


@pytest.mark.parametrize("make", [releases.uneven, releases.learned, releases.dense])
def test_the_numbers_of_columns_are_the_same_in_all_views(make):
    said = made(make)[1]
    shown = views(make, said)
    rows = column_rows(said)
    assert len(rows) == 5
    for row in rows:
        texts = [row.name, *row.cells.values()]
        line = "".join(f"<td>{text}</td>" for text in texts[1:])
        shown_line = re.sub(r'<td data-label=".*?">', "<td>", shown["page"])
        assert f"<bdi>{row.name}</bdi></td>{line}" in shown_line
        assert f"| {' | '.join(texts)} |" in shown["card.md"].replace("\\", "")
        if said["learned"] is not None:
            left_out = [row.cells["known"], row.cells["beyond"]]
            assert all(text in shown["terminal"] for text in texts if text not in left_out)


def test_a_simulation_is_told_in_the_words_of_the_card():
    said = copy.deepcopy(made(releases.simulated)[1])
    put(said, "guarantee.in_words", "Xyzzy says the card")
    shown = views(releases.simulated, said)
    assert {name for name, text in shown.items() if "Xyzzy says the card" in text} == {
        "page",
        "card.md",
        "terminal",
    }


@pytest.mark.parametrize(
    "fragment",
    [
        "Blind guessing",
        "false alarms",
        "times as often",
        "Whoever knows the seed",
        "may well be related",
        "could hardly be seen",
        "protected less",
        "people in general",
        "no row left a device",
        "Budgets add up",
        "attack_power",
        "tails are cut",
        "bounds, or center and scale",
        "counts as the limit",
    ],
)
def test_a_sentence_about_the_promise_stands_in_one_place(fragment):
    places = [path.name for path in SOURCES if fragment in path.read_text(encoding="utf-8")]
    assert len(places) == 1


@pytest.mark.parametrize(
    "stated", [PureDP(0.37, "local"), ApproxDP(1.3, 1e-6, "add-remove"), PureDP(2.0, "replace")]
)
def test_the_odds_are_rounded_up(stated):
    from dpcov.publication.card_guarantee import _attack

    attack = _attack(stated, holds=True)
    shown = float(re.search(r"at most ([\d.]+) %", attack["in_words"])[1]) / 100
    power = stated.attack_power(0.05)
    assert power <= attack["power"] <= shown < power + 0.001


def test_a_simulation_has_no_odds():
    guarantee = made(releases.simulated)[1]["guarantee"]
    assert guarantee["attack"]["in_words"] is None
    assert guarantee["can_learn"] == guarantee["cannot_learn"] == []


def test_the_odds_are_about_all_rows_of_a_unit():
    attack = made(releases.persons)[1]["guarantee"]["attack"]
    assert "all rows of one 'patient'" in attack["in_words"]


def test_the_odds_of_reports_are_about_two_rows():
    attack = made(releases.collected)[1]["guarantee"]["attack"]
    assert "two rows that a person may have apart" in attack["in_words"]


class Counter:
    """Counts the calls of a function that it stands for."""

    def __init__(self, monkeypatch, module, name):
        self.calls, self.function = 0, getattr(module, name)
        monkeypatch.setattr(module, name, self)

    def __call__(self, *arguments, **options):
        self.calls += 1
        return self.function(*arguments, **options)


@pytest.mark.parametrize("make", [releases.dense, releases.pairs])
def test_writing_a_folder_computes_everything_once(make, tmp_path, monkeypatch):
    from dpcov.postprocess import estimate, pairs_estimate

    made = make().estimate()
    kind = estimate if make is releases.dense else pairs_estimate
    searches = ["find_edges", "tested_pairs"] if make is releases.dense else []
    watched = [
        *((kind, search) for search in searches),
        (kind, "eigenvalues_by_component"),
        (tables, "listed_pairs"),
        *((card, f"describe_{part}") for part in ("guarantee", "reading", "learned", "mechanism")),
        (card, "_describe_estimate"),
        (card, "known_limits"),
    ]
    counters = {name: Counter(monkeypatch, module, name) for module, name in watched}
    write_folder(made.release, made, tmp_path / "survey", fdr=0.9)
    assert {name: counter.calls for name, counter in counters.items()} == dict.fromkeys(counters, 1)
