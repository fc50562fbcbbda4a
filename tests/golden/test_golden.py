"""Results that no change of names or structure may move.

(a) From frozen released numbers to estimates, analyses and tables; (b) integer sums and noise;
(c) whole releases. A change of a mechanism may move (b) and (c), and says so; one of estimates may
move (a). ``DPCOV_GOLDEN=write`` writes (a) to (c) anew, from the frozen numbers in ``released/``.
"""

import hashlib
import json
import os
import warnings

import pytest

from dpcov.errors import NothingDetectableWarning
from golden.cases import CASES
from golden.released import FOLDER, facts_of, read_release, write_json, write_release
from golden.results import results_of
from golden.sums import SUMS

NAMES = [case.__name__ for case in CASES]
WRITE = os.environ.get("DPCOV_GOLDEN") == "write"


def golden(name, found):
    """Return what stands in a file, which is written anew if that is asked for."""
    path = FOLDER / "expected" / f"{name}.json"
    if WRITE:
        write_json(path, found)
    return json.loads(path.read_text(encoding="utf-8"))


def differences(found, expected, place=""):
    """Return where two results differ by more than arithmetic of another machine."""
    if isinstance(expected, dict) and isinstance(found, dict):
        names = expected.keys() | found.keys()
        return [
            each
            for name in sorted(names)
            for each in differences(found.get(name), expected.get(name), f"{place}/{name}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            each
            for number, (one, other) in enumerate(zip(found, expected, strict=True))
            for each in differences(one, other, f"{place}/{number}")
        ]
    if isinstance(expected, float) and isinstance(found, float):
        return [] if found == pytest.approx(expected, rel=1e-4, abs=1e-8, nan_ok=True) else [place]
    return [] if found == expected else [place]


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_release_gives_the_same_estimates_analyses_and_tables(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        found = json.loads(json.dumps(results_of(read_release(name))))
    assert differences(found, golden(name, found)) == []


@pytest.mark.skipif(os.environ.get("DPCOV_GOLDEN") != "freeze", reason="freezes releases anew")
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_release_is_frozen(case):
    write_release(case.__name__, case())
    assert read_release(case.__name__).columns


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_release_is_read_as_it_was_written(name):
    text = (FOLDER / "released" / f"{name}.json").read_text(encoding="utf-8")
    assert json.loads(json.dumps(facts_of(read_release(name)))) == json.loads(text)


@pytest.mark.parametrize("name", SUMS)
def test_sums_and_noise_are_the_same_integers(name):
    found = SUMS[name]()
    assert found == golden("sums", {key: each() for key, each in SUMS.items()})[name]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_release_with_a_seed_has_the_same_digest(case):
    found = digest(case())
    digests = {each.__name__: digest(each()) for each in CASES} if WRITE else {}
    assert found == golden("digests", digests)[case.__name__]


def digest(release):
    """Return a digest of all that was released, of 12 digits of each number."""
    text = json.dumps(facts_of(release), sort_keys=True, ensure_ascii=False)
    short = json.loads(text, parse_float=lambda digits: f"{float(digits):.12g}")
    return hashlib.sha256(json.dumps(short, sort_keys=True).encode()).hexdigest()
