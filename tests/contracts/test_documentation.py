"""The documentation leads nowhere wrong, asks nobody else, and its gallery is not stale."""

import re

import pytest

from documentation import ROOT, load

GALLERY = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))


def faults(folder, **pages):
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html>{body}</html>", encoding="utf-8")
    return list(load("links").find_faults(folder))


def test_links_to_pages_anchors_files_and_servers_are_taken(tmp_path):
    (tmp_path / "a picture.png").touch()
    first = (
        '<h1 id="top"></h1><a href="#top">a</a><a href="second.html#p1">b</a>'
        '<img src="a%20picture.png" srcset="a%20picture.png 2x, first.html 3x">'
        '<img src="data:image/png;base64,AA">'
        '<a href="https://example.org/x#y">c</a><a href="mailto:office@example.org">d</a>'
        '<a href="a%20picture.png" download><span class="xref download myst">e</span></a>'
    )
    assert faults(tmp_path, first=first, second='<a id="p1"></a>') == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<a href="gone.html">x</a>', "leads to no file"),
        ('<a href="../">x</a>', "leads to no file"),
        ('<a href="#gone">x</a>', "leads to no anchor"),
        ('<a href="other.html#gone">x</a>', "leads to no anchor"),
        ('<span class="xref myst">x</span>', "became plain text"),
        ('<a href="#a" id="a">x</a><span class="xref myst">y</span>', "became plain text"),
        ('<a href="http://example.org">x</a>', "no address with https"),
        ('<a href="https://docs">x</a>', "no address with https"),
        ('<a href="//example.org/x">x</a>', "no address with https"),
        ('<script src="https://cdn.example.org/x.js"></script>', "from elsewhere"),
        ('<link rel="stylesheet" href="https://fonts.example.org/x.css">', "from elsewhere"),
        ('<link rel="preconnect" href="//fonts.example.org">', "from elsewhere"),
        ('<img src="https://example.org/badge.svg">', "from elsewhere"),
        ('<img srcset="gone.png 2x">', "leads to no file"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(body, words, tmp_path):
    [fault] = faults(tmp_path, page=body, other="")
    assert fault.startswith("page.html: ")
    assert words in fault


def test_a_file_beside_the_documentation_is_no_part_of_it(tmp_path):
    (tmp_path / "notes.txt").touch()
    (tmp_path / "site").mkdir()
    [fault] = faults(tmp_path / "site", page='<a href="../notes.txt">x</a>')
    assert "leads to no file" in fault


def test_a_folder_without_pages_is_no_documentation(tmp_path):
    assert faults(tmp_path) == [f"there is no page in {tmp_path.name}"]


def test_styles_ask_for_no_font_and_no_picture_of_others():
    styles = (ROOT / "docs" / "_static").rglob("*.css")
    assert not [
        style.name for style in styles if re.search(r"@import|//", style.read_text("utf-8"))
    ]


def test_the_anchor_of_a_claim_is_its_id():
    slug = load("claims_map").heading_slug
    assert slug("P40 — Budgets may be chosen after answers") == "p40"


def test_the_anchor_of_another_heading_is_that_of_github():
    slug = load("claims_map").heading_slug
    assert slug("Two questions: a population, or this table") == (
        "two-questions-a-population-or-this-table"
    )


# The gallery.


def test_the_gallery_runs_again_when_code_has_changed(tmp_path):
    fresh = load("freshness")
    code, kept = tmp_path / "code", tmp_path / "kept.txt"
    code.mkdir()
    (code / "one.py").write_text("x = 1")
    before = fresh.code_digest(code)
    assert not fresh.ran_with(kept, before)
    kept.write_text(before)
    assert fresh.ran_with(kept, fresh.code_digest(code))
    (code / "one.py").write_text("x = 2")
    assert not fresh.ran_with(kept, fresh.code_digest(code))


def test_a_module_that_was_renamed_is_another_code(tmp_path):
    fresh = load("freshness")
    (tmp_path / "one.py").touch()
    before = fresh.code_digest(tmp_path)
    (tmp_path / "one.py").rename(tmp_path / "two.py")
    assert fresh.code_digest(tmp_path) != before


def test_the_gallery_has_its_seven_pages():
    assert len(GALLERY) == 7


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_page_of_the_gallery_draws_truths_and_counts_them(script):
    text = script.read_text(encoding="utf-8")
    assert re.search(r"^\s*draw\(", text, re.MULTILINE)
    assert re.search(r"print\(count\(", text)


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_page_of_the_gallery_fetches_nothing(script):
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"fetch_|get_rdataset|urlopen|requests|https?://", text)


def test_a_truth_at_the_end_of_its_interval_lies_in_it():
    beside = load("gallery/beside_truth")
    assert beside.inside([0, 0, 0], [1, 1, 1], [0, 1, 1.1]).tolist() == [True, True, False]


def test_the_picture_says_how_many_truths_lie_in_their_intervals():
    from matplotlib.figure import Figure

    beside = load("gallery/beside_truth")
    ax = Figure(layout="constrained").subplots()
    beside.draw(ax, ["a", "b"], [0.5, 0.5], [0, 0], [1, 1], [0.7, 2])
    assert ax.get_title() == "1 of 2 truths lie in their intervals"
    [legend] = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "private, 95 % interval",
        "… that misses the truth",
        "truth",
    ]
