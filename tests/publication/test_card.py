import datetime
import html
import io
import json
import math

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import dpcov
from dpcov.cli.summary import promise
from dpcov.errors import ParameterError
from dpcov.privacy import event_from_dict
from dpcov.publication import (
    card_schema,
    card_to_markdown,
    make_card,
    verify_folder,
    write_folder,
)
from dpcov.publication.card import card_to_json
from publication import releases
from publication.releases import ALL, estimate_of


def card_of(release, **identity):
    return make_card(release, estimate_of(release), **identity)


def words(markdown):
    return " ".join(markdown.replace("\\", "").split())


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(card_schema())


@pytest.mark.parametrize("make", ALL)
def test_a_card_of_any_release_keeps_to_the_schema(make):
    card = card_of(make(), name="A", files={"release.npz": "0" * 64})
    read = json.loads(card_to_json(card))
    jsonschema.validate(read, card_schema(), format_checker=jsonschema.FormatChecker())
    assert read == card


@pytest.mark.parametrize("part", ["guarantee", "files", "data", "known_limits"])
def test_a_card_without_a_part_is_refused_by_the_schema(part):
    card = card_of(releases.dense())
    del card[part]
    with pytest.raises(jsonschema.ValidationError, match=part):
        jsonschema.validate(card, card_schema())


def test_a_part_that_nobody_knows_is_refused_by_the_schema():
    card = card_of(releases.dense())
    card["guarantee"]["epsilon_after_rounding"] = 0.5
    with pytest.raises(jsonschema.ValidationError, match="epsilon_after_rounding"):
        jsonschema.validate(card, card_schema())


def test_the_numbers_are_those_of_the_promise():
    release = releases.dense()
    guarantee = card_of(release)["guarantee"]
    assert (guarantee["epsilon"], guarantee["delta"]) == (1.0, 1e-6)
    assert guarantee["statement"] == str(release.promise)
    assert math.e <= guarantee["factor"] < math.e * 1.0001
    assert guarantee["attack"]["power"] >= release.promise.attack_power(0.05)


def test_a_simulation_does_not_hold_and_says_so_first():
    card = card_of(releases.simulated())
    assert card["guarantee"]["holds"] is False
    assert card["guarantee"]["statement"].startswith("no promise")
    text = card_to_markdown(card)
    assert text.index("Nothing is promised") < text.index("How it was made")
    assert "What is promised" not in text


def test_events_are_those_of_the_release_with_shares_that_add_up():
    release = releases.learned()
    events = card_of(release)["mechanism"]["events"]
    shares = [event.pop("share") for event in events]
    assert tuple(event_from_dict(event) for event in events) == release.events
    assert sum(shares) == pytest.approx(1)
    assert {event["kind"] for event in events} == {"gaussian"}


def test_an_event_of_another_kind_is_refused_by_the_schema():
    card = card_of(releases.dense())
    card["mechanism"]["events"][0]["kind"] = "laplace"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(card, card_schema())


def test_gaussian_steps_alone_have_a_mu():
    guarantee = card_of(releases.dense())["guarantee"]
    assert guarantee["mu"] == pytest.approx(math.sqrt(2 * guarantee["rho"]))
    learned = card_of(releases.learned())["guarantee"]
    assert learned["mu"] == pytest.approx(guarantee["mu"])
    assert card_of(releases.pairs_with_variances())["guarantee"]["mu"] is None
    assert card_of(releases.collected())["guarantee"]["rho"] is None


def test_what_was_learned_is_told_from_what_was_stated():
    learned, stated = (card_of(make())["reading"] for make in (releases.learned, releases.dense))
    assert (learned["scales"], stated["scales"]) == ("learned and paid for", "none")
    assert (learned["row_norm_is"], stated["row_norm_is"]) == ("learned and paid for", "stated")
    assert card_of(releases.scaled())["reading"]["scales"] == "stated"
    assert card_of(releases.facts())["reading"]["missing_cells"] == "center"


def test_the_unit_of_privacy_is_named():
    unit = card_of(releases.persons())["guarantee"]["privacy_unit"]
    assert unit == {
        "is": "all rows with the same 'patient'",
        "note": None,
        "column": "patient",
        "rows_per_unit": 2,
        "person_column": None,
    }


ASKS = (
    "5,000 rows; 2 columns. Column 'pid' seems to say whose row it is. If somebody has several "
    "rows, state privacy_unit='pid', rows_per_unit=3 (how many of each to use): without, only one "
    "row is protected."
)


@pytest.mark.parametrize("kind", [dpcov.release, dpcov.release_pairs])
def test_a_table_with_a_column_called_like_a_person_has_rows_and_asks_for_the_unit(kind, tmp_path):
    made = releases.panel()
    if kind is dpcov.release_pairs:
        frame = pd.DataFrame(releases.table(5000, 2), columns=["a", "b"])
        frame["pid"] = np.arange(5000) // 5
        made = dpcov.release_pairs(
            frame, epsilon=1, delta=1e-6, max_pairs=1, columns={"a": {}, "b": {}}
        )
    estimate = made.estimate()
    card = write_folder(made, estimate, tmp_path / "x")
    console = Console(file=io.StringIO(), width=400)
    console.print(promise(card))
    assert card["data"]["in_words"] == ASKS
    assert card["guarantee"]["privacy_unit"]["person_column"] == "pid"
    for text in (
        words(card_to_markdown(card)),
        html.unescape((tmp_path / "x" / "page.html").read_text(encoding="utf-8")),
        console.file.getvalue(),
    ):
        assert ASKS in text
        assert "one row each" not in text
        assert "people (rows)" not in text
    assert verify_folder(tmp_path / "x").problems == ()


def test_a_card_says_that_the_rows_of_a_unit_are_chosen_at_random():
    for most, said in ((2, "at most 2"), (1, "at most one")):
        card = card_of(releases.panel(privacy_unit="pid", rows_per_unit=most))
        sentence = f"{1000 * most:,} rows, {said} of each 'pid', chosen at random; 2 columns."
        assert card["data"]["in_words"] == sentence
        assert sentence in words(card_to_markdown(card))


def test_reports_from_devices_are_the_local_model():
    card = card_of(releases.collected())
    assert (card["model"], card["guarantee"]["variant"]) == ("local", "pure")
    assert "no row left a device" in card_to_markdown(card)


def test_a_release_that_shows_nothing_has_no_smallest_correlation():
    card = card_of(releases.hopeless())
    assert card["estimate"]["smallest_detectable_correlation"] is None
    assert "no correlation, however strong" in card_to_markdown(card)


def test_an_estimate_of_another_release_is_refused():
    with pytest.raises(ParameterError, match="another release"):
        make_card(releases.dense(), estimate_of(releases.dense()))


@pytest.mark.parametrize("date", ["2026-13-01", "yesterday", "", 5])
def test_a_date_that_is_no_day_is_refused(date):
    with pytest.raises(ParameterError, match="YYYY-MM-DD"):
        card_of(releases.dense(), date=date)


@pytest.mark.parametrize(
    "date", ["2026-02-03", datetime.date(2026, 2, 3), datetime.datetime(2026, 2, 3, 4)]
)
def test_a_day_is_written_in_one_way(date):
    assert card_of(releases.dense(), date=date)["identity"]["date"] == "2026-02-03"


@pytest.mark.parametrize("make", ALL)
def test_every_card_can_be_said_in_words(make):
    text = card_to_markdown(card_of(make(), name="Survey"))
    assert text.startswith("# Survey\n")
    assert "None" not in text
    assert "What is not protected" in text


def test_the_words_state_the_odds_rounded_up():
    text = words(card_to_markdown(card_of(releases.dense())))
    assert "at most e^ε = 2.72 times as often" in text
    assert "a chance of δ = 1e-06 on top" in text
    assert "What had a chance of 1 % has at most 2.72 %." in text
    assert "with probability at most 13.6 %" in text


def test_a_card_counts_the_moments_with_whether_cells_are_there():
    table = np.random.default_rng(0).normal(size=(5000, 3))
    card = card_of(dpcov.release(table, epsilon=1.0, delta=1e-6))
    assert card["released"]["number"] == 21
    assert card["released"]["in_words"].startswith(
        "21 second moments of 6 numbers for each row, 3 of which say whether a cell is there: "
    )


def test_a_promise_that_says_nothing_is_not_made_to_look_like_one():
    text = words(card_to_markdown(card_of(releases.dense(epsilon=800.0))))
    assert "at most e^800 times as often" in text
    assert "has any." in text


@pytest.mark.filterwarnings("ignore::dpcov.errors.WeakPromiseWarning")
@pytest.mark.parametrize(("delta", "strength"), [(1 / 4000, "strong"), (1 / 3999, "weak")])
def test_a_delta_above_one_over_the_number_of_rows_is_a_weak_promise(delta, strength):
    release = dpcov.release(releases.table(), epsilon=1.0, delta=delta, row_norm=4.0)
    guarantee = card_of(release)["guarantee"]
    assert guarantee["strength"] == strength
    assert (guarantee["warning"] is None) == (strength == "strong")
    if guarantee["warning"]:
        assert "a weak promise for 4,000 rows" in guarantee["warning"]


def test_text_of_the_curator_is_not_markup():
    hostile = "<script>x</script> [a](javascript:b) `c` *d*\n# e"
    card = card_of(releases.dense(), name=hostile, curator=hostile, description=hostile)
    text = card_to_markdown(card)
    assert "<script>" not in text.replace("\\<", "")
    assert "[a](" not in text
    assert "\n# e" not in text


@pytest.mark.parametrize(
    ("name", "written"),
    [("group_means.csv", "`group_means.csv`"), ("a`_`b.csv", "`` a`_`b.csv ``")],
)
def test_a_file_stands_as_code_with_nothing_escaped(name, written):
    card = {**card_of(releases.dense()), "files": {name: "sha256:0"}}
    assert f"- {written} sha256:0" in card_to_markdown(card).splitlines()
