"""Controls of the audit: it finds every planted bug, and nothing without it."""

import pytest

from dpcov.privacy import gaussian, zcdp
from wiring.audit import audit, audit_means, audit_rare
from wiring.planted_bugs import BUGS, CENTERS, LESS, MEANS_BUGS, PAIRS, PLAIN, RARE_BUGS, UNITS
from wiring.planting import plant
from wiring.watching import Watch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Let no scale that was computed with a bug be used without it, nor the other way round."""
    remembered = [gaussian._smallest_multiplier, zcdp._largest_rho]
    for function in remembered:
        function.cache_clear()
    yield
    for function in remembered:
        function.cache_clear()


def each_once(bugs):
    """Return the options under which bugs show, those of several bugs once."""
    return list({repr(PLAIN | bug[3]): PLAIN | bug[3] for bug in bugs.values()}.values())


@pytest.mark.parametrize("options", each_once(BUGS))
def test_without_the_bug_nothing_is_found(monkeypatch, options):
    assert audit(Watch().stand(monkeypatch), options) == []


@pytest.mark.parametrize(("where", "old", "new", "options"), BUGS.values(), ids=list(BUGS))
def test_a_planted_bug_is_found(monkeypatch, where, old, new, options):
    plant(monkeypatch, where, old, new)
    assert audit(Watch().stand(monkeypatch), PLAIN | options)


@pytest.mark.parametrize("options", each_once(RARE_BUGS))
def test_without_the_bug_rare_answers_show_nothing(monkeypatch, options):
    assert audit_rare(Watch().stand(monkeypatch), options) == []


@pytest.mark.parametrize(
    ("where", "old", "new", "options"), RARE_BUGS.values(), ids=list(RARE_BUGS)
)
def test_a_planted_bug_is_found_by_rare_answers(monkeypatch, where, old, new, options):
    plant(monkeypatch, where, old, new)
    assert audit_rare(Watch().stand(monkeypatch), PLAIN | options)


@pytest.mark.parametrize(
    "options", [CENTERS, CENTERS | LESS | {"missing": "center"}, CENTERS | UNITS]
)
def test_without_the_bug_large_means_show_nothing(monkeypatch, options):
    assert audit_means(Watch().stand(monkeypatch), PLAIN | options) == []


@pytest.mark.parametrize(
    ("where", "old", "new", "options"), MEANS_BUGS.values(), ids=list(MEANS_BUGS)
)
def test_a_planted_bug_is_found_by_large_means(monkeypatch, where, old, new, options):
    plant(monkeypatch, where, old, new)
    assert audit_means(Watch().stand(monkeypatch), PLAIN | options)


def test_a_selection_at_half_its_cost_is_found(monkeypatch):
    """In both places: one checks the other."""
    plant(monkeypatch, "privacy.zcdp:_selection_cost", "/ 8 * _UP", "/ 16 * _UP")
    plant(monkeypatch, "privacy.zcdp:selection_scale", "(8 * rho)", "(16 * rho)")
    found = audit(Watch().stand(monkeypatch), PLAIN | PAIRS)
    assert "overspent" in [problem.kind for problem in found]
