"""Cards and tables that say something else than their release."""

import copy
import dataclasses
import json
import os
import random
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.columns import Units
from dpcov.errors import FolderError, NothingDetectableWarning
from dpcov.publication import comparison, table_check, verify_folder, write_folder
from dpcov.publication.card_file import parse_card, problems_of_text
from dpcov.publication.series import Series
from dpcov.publication.tables import matrix_table
from dpcov.releases import Variances
from publication import forger, releases

# What only the curator knows, and options of which the same estimate follows.
CURATORS = {
    ("identity", "name"),
    ("identity", "curator"),
    ("identity", "description"),
    ("identity", "date"),
    ("library", "card_written_by"),
    ("estimate", "options", "sparse"),
    ("related", "fdr"),
}


def small():
    rows = releases.table(2000, 2)
    return dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=4.0).estimate()


def people():
    rows = np.column_stack([np.arange(2000) // 2, releases.table(2000, 2)])
    stated = {
        "privacy_unit": "x0",
        "rows_per_unit": 2,
        "missing": "center",
        "neighbors": "add-remove",
    }
    release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=4.0, **stated)
    return release.estimate(threshold=1.0, rule="soft", psd="clip")


def pairs():
    return releases.pairs_with_variances().estimate()


def learned():
    return releases.learned().estimate(threshold="paper", gamma=0.1)


def reports():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        return releases.collected().estimate(threshold=2.0)


TABLES = ["columns.csv", "correlation.csv", "covariance.csv", "pairs.csv"]
KINDS = [small, people, pairs, learned, reports]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("folders")
    for make in KINDS:
        estimate = make()
        words = {"name": "Survey", "curator": "Office", "description": "Two answers."}
        write_folder(estimate.release, estimate, place / make.__name__, **words)
    return place


@pytest.fixture
def folder(written, tmp_path):
    shutil.copytree(written / "small", tmp_path / "small")
    return tmp_path / "small"


def holds(folder):
    try:
        return verify_folder(folder).holds
    except FolderError:
        return False


def values_of(card):
    """Return the values of a card by their places, but those that the forger makes right again.

    Of a list, such as that of the columns, the first and the last: all are compared alike.
    """
    return {
        place: forger.get(card, place)
        for place in forger.leaves(card)
        if place[0] not in ("files", "digest") and is_at_an_end(card, place)
    }


def is_at_an_end(card, place):
    return all(
        step in (0, len(forger.get(card, place[:depth])) - 1)
        for depth, step in enumerate(place)
        if isinstance(step, int)
    )


def unnoticed(folder, edited_already=()):
    """Edit every value of a card in several ways, and return the places that were not caught."""
    card = forger.read(folder)
    missed = set()
    for place, stated in values_of(card).items():
        if (place, repr(stated)) in edited_already:
            continue
        for value in forger.edits(stated):
            forged = copy.deepcopy(card)
            forger.put(forged, place, value)
            forger.seal(folder, forged)
            if holds(folder):
                missed.add(place)
    forger.seal(folder, card)
    return missed


@pytest.mark.parametrize("make", KINDS)
def test_a_forger_with_right_digests_can_change_only_the_curators_words(written, tmp_path, make):
    folder = tmp_path / "forged"
    shutil.copytree(written / make.__name__, folder)
    # What a card says like that of the first kind is compared like there.
    first = values_of(forger.read(written / KINDS[0].__name__)) if make is not KINDS[0] else {}
    assert unnoticed(folder, {(place, repr(value)) for place, value in first.items()}) <= CURATORS
    assert verify_folder(folder).holds


def test_a_comparison_that_forgets_the_odds_would_be_found(folder, monkeypatch):
    forgetful = comparison._APART | {"guarantee.attack.power"}
    monkeypatch.setattr(comparison, "_APART", forgetful)
    monkeypatch.setattr(forger, "leaves", lambda card: [("guarantee", "attack", "power")])
    assert unnoticed(folder) == {("guarantee", "attack", "power")}


@pytest.mark.parametrize("part", ["known_limits", "mechanism", "related", "digest", "library"])
def test_a_card_without_a_part_does_not_hold(folder, part):
    card = forger.read(folder)
    del card[part]
    (folder / "card.json").write_bytes(forger.card_to_bytes(card))
    assert not holds(folder)


@pytest.mark.parametrize("place", [(), ("guarantee",), ("guarantee", "attack"), ("mechanism",)])
def test_a_field_more_does_not_hold(folder, place):
    card = forger.read(folder)
    forger.put(card, (*place, "audited"), "by everybody")
    forger.seal(folder, card)
    assert not holds(folder)


@pytest.mark.parametrize("place", [("known_limits",), ("guarantee", "not_protected")])
def test_a_sentence_more_or_less_does_not_hold(folder, place):
    card = forger.read(folder)
    for sentences in (forger.get(card, place)[1:], [*forger.get(card, place), "Nothing else."]):
        forger.put(card, place, sentences)
        forger.seal(folder, card)
        assert not holds(folder)


def flip(content, place, bit):
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]


def test_no_flipped_bit_leaves_a_card_that_could_be_one(folder):
    content = (folder / "card.json").read_bytes()
    draw = random.Random(0)
    for place in range(0, len(content), 3):
        text = flip(content, place, draw.randrange(8))
        try:
            stated = parse_card(text, folder)
        except FolderError:
            continue
        assert problems_of_text(text, stated)


def test_no_flipped_bit_passes_verification(folder):
    content = (folder / "card.json").read_bytes()
    draw = random.Random(1)
    for _ in range(100):
        text = flip(content, draw.randrange(len(content)), draw.randrange(8))
        (folder / "card.json").write_bytes(text)
        assert not holds(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"epsilon": 1.0', '"epsilon": 0.1,\n    "epsilon": 1.0'),
        ('"epsilon": 1.0', '"epsilon":  1.0'),
        ('"epsilon": 1.0', '"epsilon": 1.00'),
        ('"epsilon": 1.0', '"epsilon": 1'),
        ('"Survey"', '"Surve\\u0079"'),
        ("}\n", "}\n\n"),
    ],
)
def test_a_card_has_one_text_and_no_other(folder, old, new):
    text = (folder / "card.json").read_text(encoding="utf-8")
    assert old in text
    before, _, after = text.rpartition(old)
    (folder / "card.json").write_text(before + new + after, encoding="utf-8")
    assert "card.json was altered" in verify_folder(folder).problems[0]


@pytest.mark.parametrize("place", sorted(CURATORS - {("estimate", "options", "sparse")}))
def test_a_word_of_the_curator_is_covered_by_the_digest(folder, place):
    card = forger.read(folder)
    value = 0.2 if place == ("related", "fdr") else "1999-01-01"
    forger.put(card, place, value)
    (folder / "card.json").write_bytes(forger.card_to_bytes(card))
    assert "it has another digest than it states" in verify_folder(folder).problems[0]


def spoil_cell(file):
    text = file.read_text(encoding="utf-8")
    heading, first, *rest = text.splitlines(keepends=True)
    cells = first.rstrip("\n").split(",")
    place = len(cells) - 1 if file.name == "columns.csv" else 2
    cells[place] = repr(float(cells[place]) * 1.001)
    file.write_text("".join([heading, ",".join(cells) + "\n", *rest]), encoding="utf-8")


def spaced(file):
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r",(?=-?[0-9])", ", ", text, count=1), encoding="utf-8")


def grouped(file):
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"(,-?[0-9.]*[0-9])([0-9])", r"\1_\2", text, count=1), encoding="utf-8")


def drop_line(file):
    file.write_text("".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]))


def other_name(file):
    file.write_text(file.read_text(encoding="utf-8").replace("x0", "x9"), encoding="utf-8")


def no_number(file):
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r",(?=-?\d)", ",nan,", text, count=1), encoding="utf-8")


def much_longer(file):
    with file.open("a", encoding="utf-8") as target:
        target.write("x" * 1_000_000)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "spoil", [spoil_cell, spaced, grouped, drop_line, other_name, no_number, much_longer]
)
def test_a_table_must_follow_from_the_release(folder, name, spoil):
    before = (folder / name).read_bytes()
    spoil(folder / name)
    assert (folder / name).read_bytes() != before
    forger.seal(folder, forger.read(folder))
    assert verify_folder(folder).problems == (f"{name} does not follow from the release",)


def test_a_number_that_another_machine_rounds_otherwise_is_accepted(folder):
    text = (folder / "covariance.csv").read_text()
    number = text.splitlines()[1].split(",")[1]
    other = repr(float(np.nextafter(float(number), 9)))
    (folder / "covariance.csv").write_text(text.replace(number, other))
    forger.seal_with_page(folder, forger.read(folder))
    assert verify_folder(folder).holds


@pytest.mark.parametrize("how", ["number", "name", "type", "rows", "damage"])
def test_a_parquet_file_must_follow_from_the_release(folder, how):
    import pandas as pd

    file = folder / "covariance.parquet"
    frame = pd.read_parquet(file)
    if how == "number":
        frame.iloc[0, 1] *= 1.001
    elif how == "name":
        frame.iloc[0, 0] = "x9"
    elif how == "type":
        frame["x0"] = frame["x0"].astype("float32")
    elif how == "rows":
        frame = pd.concat([frame, frame])
    frame.to_parquet(file, index=False)
    if how == "damage":
        file.write_bytes(file.read_bytes()[:-20])
    forger.seal(folder, forger.read(folder))
    problems = verify_folder(folder).problems
    assert problems == ("covariance.parquet does not follow from the release",)


def test_a_list_of_entries_must_follow_from_the_release(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcov.publication.tables.MOST_COLUMNS", 1)
    estimate = small()
    write_folder(estimate.release, estimate, tmp_path / "out")
    assert verify_folder(tmp_path / "out").holds
    spoil_cell(tmp_path / "out" / "covariance.csv")
    forger.seal(tmp_path / "out", forger.read(tmp_path / "out"))
    problems = verify_folder(tmp_path / "out").problems
    assert problems == ("covariance.csv does not follow from the release",)


def test_the_card_in_words_must_be_that_of_the_card(folder):
    text = (folder / "card.md").read_text(encoding="utf-8").replace("13.6 %", "5.1 %")
    (folder / "card.md").write_text(text, encoding="utf-8")
    card = forger.read(folder)
    card["files"]["card.md"] = forger.digest_of(folder / "card.md")
    card["digest"] = forger.card_digest(card)
    (folder / "card.json").write_bytes(forger.card_to_bytes(card))
    assert verify_folder(folder).problems == ("card.md does not follow from the release",)


def test_an_intact_folder_is_computed_again_as_a_whole(folder):
    found = verify_folder(folder)
    assert found.checked == found.recomputed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("has at most 2.72 %", "has at most 1.1 %"),
        ("Office", "Another office"),
        ("</main>", "<p>Certified.</p></main>"),
        ("<svg", "<p>Certified.</p><svg"),
        ("</svg>", "</svg></svg>"),
        ("default-src 'none'", "default-src *"),
    ],
)
def test_the_page_must_follow_from_the_release_and_the_card(folder, old, new):
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert old in page
    (folder / "page.html").write_text(page.replace(old, new, 1), encoding="utf-8")
    forger.seal(folder, forger.read(folder))
    assert verify_folder(folder).problems == ("page.html does not follow from the release",)


def test_pictures_are_compared_by_digest_alone(folder):
    page = (folder / "page.html").read_text(encoding="utf-8")
    (folder / "page.html").write_text(page.replace("<svg ", '<svg lang="en" ', 1), encoding="utf-8")
    assert verify_folder(folder).problems == ("page.html was altered",)
    forger.seal(folder, forger.read(folder))
    assert verify_folder(folder).holds


def test_a_word_of_the_curator_must_be_the_same_on_the_page(folder):
    card = forger.read(folder)
    card["identity"]["curator"] = "Somebody else"
    forger.seal(folder, card)
    assert verify_folder(folder).problems == ("page.html does not follow from the release",)
    forger.seal_with_page(folder, card)  # against that there are signatures
    assert verify_folder(folder).holds


def test_sentences_of_another_version_are_not_compared_and_that_is_said(folder):
    card = forger.read(folder)
    card["library"]["card_written_by"] = "0.9"
    card["guarantee"]["in_words"] = "Nobody can learn anything."
    forger.seal(folder, card)
    found = verify_folder(folder)
    assert found.holds
    assert "dpcov 0.9 wrote its sentences" in found.notes[0]
    assert "card.md" not in found.recomputed
    assert "Nobody" not in json.dumps(found.card)


@pytest.mark.parametrize(
    "place", [("guarantee", "attack", "power"), ("guarantee", "neighbors", "relation")]
)
def test_numbers_of_another_version_are_compared(folder, place):
    card = forger.read(folder)
    card["library"]["card_written_by"] = "0.9"
    forger.put(card, place, "replaced" if place[-1] == "relation" else 0.01)
    forger.seal(folder, card)
    assert not verify_folder(folder).holds


def test_a_rule_of_ones_own_is_said_to_be_beyond_verification(tmp_path):
    release = small().release
    estimate = release.estimate(
        rule=lambda size, threshold: size * (size > threshold), threshold=1.0
    )
    write_folder(release, estimate, tmp_path / "out")
    found = verify_folder(tmp_path / "out")
    assert found.holds
    assert "a rule of the curator's own" in found.notes[0]
    assert found.recomputed == ("columns.csv", "columns.parquet", "release.npz")
    assert found.card["estimate"] is None
    assert found.card["related"] == forger.read(tmp_path / "out")["related"]
    assert found.tables == {}


@pytest.fixture(scope="module")
def own_rule(tmp_path_factory):
    release = small().release
    estimate = release.estimate(
        rule=lambda size, threshold: size * (size > threshold), threshold=1.0
    )
    place = tmp_path_factory.mktemp("own") / "out"
    write_folder(release, estimate, place)
    return place


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("estimate", "smallest_detectable_correlation"), 0.0001),
        (("estimate", "pairs_kept"), 2),
        (("estimate", "pairs_kept"), 1.0),
        (("estimate", "threshold"), "high"),
        (("estimate", "costs_privacy"), True),
        (("estimate", "anything"), "x"),
        (("estimate", "rule"), "oracle " * 100),
        (("related", "number"), 0),
        (("related", "fdr"), 1e-300),
        (("related", "note"), "all certain"),
    ],
)
def test_what_does_not_need_the_curators_rule_is_computed(own_rule, tmp_path, place, value):
    folder = tmp_path / "out"
    shutil.copytree(own_rule, folder)
    card = forger.read(folder)
    forger.put(card, place, value)
    forger.seal(folder, card)
    assert not holds(folder)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("spoil", [drop_line, other_name, no_number, much_longer])
def test_a_table_of_the_curators_own_rule_must_have_its_form(own_rule, tmp_path, name, spoil):
    folder = tmp_path / "out"
    shutil.copytree(own_rule, folder)
    spoil(folder / name)
    forger.seal(folder, forger.read(folder))
    assert verify_folder(folder).problems == (f"{name} does not follow from the release",)


def test_a_released_value_follows_from_the_release_whatever_the_rule(own_rule, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(own_rule, folder)
    spoil_cell(folder / "pairs.csv")
    forger.seal(folder, forger.read(folder))
    assert verify_folder(folder).problems == ("pairs.csv does not follow from the release",)


def test_pairs_have_no_rule_of_the_curators_own(written, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(written / "pairs", folder)
    card = forger.read(folder)
    card["estimate"]["options"] = None
    forger.seal(folder, card)
    assert not holds(folder)


def test_numbers_that_overflow_are_refused_and_never_compared(written, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(written / "pairs", folder)
    release = releases.pairs()
    size = release.n_columns
    units = Units(np.zeros(size), np.full(size, 1e100))
    variances = Variances(np.full(size, 1e230), 0.0)
    forged = dataclasses.replace(release, units=units, variances=variances)
    forged.save(folder / "release.npz")
    forger.seal(folder, forger.read(folder))
    with pytest.raises(FolderError, match="so large or so small"):
        verify_folder(folder)


def test_no_number_is_near_another_by_an_infinite_measure():
    assert table_check._series_differs(np.array([-7.0]), Series(np.array([1.0]), np.inf))
    assert not table_check._series_differs(np.array([-7.0]), Series(np.array([-7.0]), 0.0))


def test_a_number_where_none_is_known_is_another_table():
    unknown = Series(np.array([np.nan, 1.0]))
    assert not table_check._series_differs(np.array([np.nan, 1.0]), unknown)
    assert table_check._series_differs(np.array([0.0, 1.0]), unknown)
    assert table_check._series_differs(np.array([np.nan, np.nan]), unknown)


@pytest.mark.parametrize("name", ["page.html", "release.npz", "pairs.csv", "card.md"])
def test_a_file_of_terabytes_is_refused_before_it_is_read(folder, name, monkeypatch):
    stat = os.stat_result((0o100644, 0, 0, 1, 0, 0, 1 << 42, 0, 0, 0))
    before = Path.stat

    def enormous(file, **options):
        return stat if file.name == name else before(file, **options)

    monkeypatch.setattr(Path, "stat", enormous)
    problems = verify_folder(folder).problems
    assert f"{name} is longer than dpcov writes it for the columns in the card" in problems


def bomb(file, n_rows, letters, **options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(n_rows, np.int32)), pa.array(["a" * letters])
    )
    numbers = {name: pa.array(np.zeros(n_rows)) for name in ("x0", "x1")}
    pq.write_table(pa.table({"column": names, **numbers}), file, store_schema=False, **options)


@pytest.mark.parametrize(
    ("n_rows", "letters", "options"),
    [(60_000, 60_000, {"compression": "zstd"}), (2, 1 << 20, {"compression": "zstd"})],
)
def test_a_table_that_unfolds_is_refused_before_it_is_read(
    tmp_path, n_rows, letters, options, monkeypatch
):
    was_read = []
    bomb(tmp_path / "covariance.parquet", n_rows, letters, **options)
    monkeypatch.setattr(table_check, "_values", lambda *_: was_read.append(True))
    expected = matrix_table(small(), "covariance")
    assert table_check.parquet_differs(tmp_path / "covariance.parquet", expected)
    assert not was_read


def test_a_name_in_a_table_cannot_be_longer_than_the_table(folder):
    bomb(folder / "covariance.parquet", 2, 1 << 20)
    forger.seal(folder, forger.read(folder))
    problems = verify_folder(folder).problems
    assert problems == ("covariance.parquet does not follow from the release",)


@pytest.mark.parametrize(
    "inner",
    ["[" * 60 + "0" + "]" * 60, "[" * 975 + "0" + "]" * 975, "[" + "[]," * 700_000 + "[]]"],
    ids=["deep", "deeper", "wide"],
)
def test_a_card_that_a_parser_would_choke_on_is_refused(folder, inner):
    text = (folder / "card.json").read_text(encoding="utf-8").rstrip("}\n")
    (folder / "card.json").write_text(f'{text}, "x": {inner}}}', encoding="utf-8")
    with pytest.raises(FolderError, match="is not a card"):
        verify_folder(folder)


@pytest.mark.parametrize(
    "value", [10**400, "x" * 10_000, [[]], {}, True, -1.0, 1e308, "infinite", None]
)
def test_options_that_make_no_sense_are_refused(folder, value):
    card = forger.read(folder)
    card["estimate"]["options"]["threshold"] = value
    forger.seal(folder, card)
    assert not holds(folder)


def test_a_folder_with_strange_names_of_columns_holds(tmp_path):
    names = ['c",', "=1+1", "ü", "e" * 200_000, " x "]
    release = releases.dense(columns=names)
    write_folder(release, release.estimate(threshold=2.0), tmp_path / "out")
    assert verify_folder(tmp_path / "out").problems == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are a POSIX matter")
def test_a_pipe_is_not_waited_for(folder):
    (folder / "card.json").unlink()
    os.mkfifo(folder / "card.json")
    with pytest.raises(FolderError, match=r"no card\.json"):
        verify_folder(folder)


def test_a_name_of_two_halves_of_a_letter_is_one_letter(tmp_path):
    estimate = small()
    write_folder(estimate.release, estimate, tmp_path / "out", name="\ud83d\ude00 \udc80")
    assert verify_folder(tmp_path / "out").holds
