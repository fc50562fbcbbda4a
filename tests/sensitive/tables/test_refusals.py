import pytest

from dpcov.errors import InputError, MissingValueError
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse


def fail(error):
    raise error


def parts():
    yield 1
    raise ValueError("cell")


@pytest.mark.claim("P8")
def test_what_a_library_says_is_not_in_the_chain():
    with pytest.raises(InputError, match="ours") as caught:
        read_or_refuse(lambda: fail(ValueError("cell")), "ours")
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
def test_what_a_library_says_is_not_chained_to_a_reason_that_fails():
    with pytest.raises(LookupError) as caught:
        read_or_refuse(lambda: fail(ValueError("cell")), lambda error: fail(LookupError("reason")))
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
def test_parts_are_passed_on_until_one_fails():
    with pytest.raises(InputError, match="ours") as caught:
        list(read_all_or_refuse(parts, "ours"))
    assert caught.value.__context__ is None
    iterator = read_all_or_refuse(parts, "ours")
    assert next(iterator) == 1


@pytest.mark.parametrize("error", [MissingValueError("own"), MemoryError("size")])
def test_errors_without_data_pass(error):
    with pytest.raises(type(error)):
        read_or_refuse(lambda: fail(error), "ours")


def test_an_interruption_passes():
    with pytest.raises(KeyboardInterrupt):
        read_or_refuse(lambda: fail(KeyboardInterrupt()), "ours")
