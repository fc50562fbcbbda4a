"""The glossary names what there is, and pages keep to its words."""

import dataclasses
import re
from pathlib import Path

import pytest

import dpcov

DOCS = Path(__file__).parents[2] / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")


def exists(name):
    found = dpcov
    for part in name.split(".")[1:]:
        if dataclasses.is_dataclass(found) and part in {f.name for f in dataclasses.fields(found)}:
            return True
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(dpcov\.[\w.]+)`", GLOSSARY))))
def test_a_name_in_the_glossary_is_in_the_code(name):
    assert exists(name)


def test_a_name_that_is_not_in_the_code_is_found():
    assert not exists("dpcov.Release.nothing")
    assert not exists("dpcov.report")


def test_a_word_stands_once():
    entries = re.findall(r"^\| ([^|-]+) \|", GLOSSARY, flags=re.MULTILINE)
    words = [word for entry in entries for word in entry.split(", ") if word != "word"]
    assert len(set(words)) == len(words) > 30


def test_a_word_from_elsewhere_leads_to_a_word_of_ours():
    ours, _, elsewhere = GLOSSARY.partition("## Words from elsewhere")
    known = {
        word for entry in re.findall(r"^\| ([^|]+) \|", ours, re.M) for word in entry.split(", ")
    }
    led_to = re.findall(r"^\| [^|]+ \| ([^|]+) \|", elsewhere, flags=re.MULTILINE)[2:]
    assert len(led_to) > 25
    assert set(led_to) <= known
