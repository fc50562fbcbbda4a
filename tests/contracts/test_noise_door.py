"""Nothing but the noise door draws noise, and nothing but the samplers read random words."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dpcov"
DOOR = "mechanisms/noise.py"
SAMPLERS = {"draw_rounded_gaussian", "select_largest"}
DRAWING = {"exact.rounded_gaussian", "exact.selection"}
# Who reads a stream of random words: samplers, and seeds of a pairing that no row decides.
READERS = {
    "exact/rounded_gaussian.py",
    "exact/selection.py",
    "mechanisms/differences.py",
    "local/cap.py",
}
# Generators of numpy: the pairing of rows, whose seed comes from the stream.
PAIRINGS = {"sensitive/tables/differences.py"}
ROOMS = ("exact", "mechanisms", "sensitive", "local")
RANDOM = {"random", "secrets", "urandom", "default_rng"}
# A key for each stream; random vectors that check products and are forgotten.
KEYS = {"exact/randomness.py", "exact/products.py"}


def imports_sampler(tree):
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").removeprefix("dpcov.") in DRAWING
        and SAMPLERS & {alias.name for alias in node.names}
        for node in ast.walk(tree)
    )


def imports_samplers_module(tree):
    """Whether a whole module of samplers is imported, and could be reached into."""
    names = {
        f"{getattr(node, 'module', None) or ''}.{alias.name}".strip(".").removeprefix("dpcov.")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return bool(names & DRAWING)


def attributes(tree):
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def modules(*rooms):
    for room in rooms or ("",):
        for path in sorted((SOURCE / room).rglob("*.py")):
            yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_only_the_noise_door_knows_the_samplers():
    known = {name for name, tree in modules() if imports_sampler(tree)}
    assert known == {DOOR}


def test_nobody_reaches_into_the_samplers_modules():
    assert not [name for name, tree in modules() if imports_samplers_module(tree)]


def test_only_samplers_and_pairings_read_random_words():
    readers = {name for name, tree in modules() if {"words", "spare_word"} & attributes(tree)}
    assert readers == READERS


def test_rooms_that_see_rows_have_no_other_randomness():
    found = {name for name, tree in modules(*ROOMS) if RANDOM & attributes(tree)}
    assert found <= KEYS | PAIRINGS


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("from dpcov.exact.rounded_gaussian import draw_rounded_gaussian", imports_sampler),
        ("from dpcov.exact.selection import select_largest", imports_sampler),
        ("from dpcov.exact import rounded_gaussian", imports_samplers_module),
        ("import dpcov.exact.selection", imports_samplers_module),
        ("noise = stream.words(3)", lambda tree: "words" in attributes(tree)),
        ("np.random.default_rng(0)", lambda tree: RANDOM & attributes(tree)),
    ],
)
def test_a_way_around_the_door_is_found(text, is_found):
    assert is_found(ast.parse(text))
