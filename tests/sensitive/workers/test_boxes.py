"""Claim P34: only the process that asked can open what comes back."""

import pickle
import subprocess
import sys

import pytest

from dpcov.errors import EngineError
from dpcov.sensitive.workers.boxes import Recipient, close_box

CONTENT = b"sums of ann and bob"


@pytest.mark.claim("P34")
@pytest.mark.parametrize("content", [b"", CONTENT, bytes(10**6)])
def test_the_recipient_opens_a_box(content):
    recipient = Recipient()
    assert recipient.open(close_box(recipient.address, content)) == content


@pytest.mark.claim("P34")
def test_another_recipient_does_not():
    box = close_box(Recipient().address, CONTENT)
    with pytest.raises(EngineError, match="damaged, or was meant for another") as caught:
        Recipient().open(box)
    assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.claim("P34")
def test_no_two_boxes_of_the_same_are_alike():
    recipient = Recipient()
    one, other = (close_box(recipient.address, CONTENT) for _ in range(2))
    assert one[:32] != other[:32]
    assert one[32:] != other[32:]
    assert CONTENT not in one + other


@pytest.mark.claim("P34")
@pytest.mark.parametrize("place", [0, 31, 32, 40, -1])
def test_a_box_that_was_changed_is_refused(place):
    recipient = Recipient()
    box = bytearray(close_box(recipient.address, CONTENT))
    box[place] ^= 1
    with pytest.raises(EngineError, match="damaged"):
        recipient.open(bytes(box))


@pytest.mark.parametrize("box", [b"", bytes(10), bytes(32), bytes(100)])
def test_what_is_no_box_is_refused(box):
    with pytest.raises(EngineError, match="damaged"):
        Recipient().open(box)


@pytest.mark.claim("P34")
def test_the_key_does_not_leave_its_process():
    with pytest.raises(TypeError):
        pickle.dumps(Recipient())


def test_it_shows_nothing():
    assert repr(Recipient()) == "Recipient()"


def test_a_box_can_be_closed_in_another_process():
    recipient = Recipient()
    code = (
        "import sys; from dpcov.sensitive.workers.boxes import close_box;"
        f"sys.stdout.buffer.write(close_box({recipient.address!r}, {CONTENT!r}))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert recipient.open(made) == CONTENT


@pytest.mark.claim("P34")
def test_lengths_are_rounded():
    address = Recipient().address
    few = {len(close_box(address, bytes(length))) for length in range(900)}
    many = {len(close_box(address, bytes(length))) for length in range(100_000, 200_000, 1000)}
    assert len(few) == 1
    assert len(many) <= 10


@pytest.mark.claim("P34")
def test_between_powers_of_two_there_are_eight_lengths():
    address = Recipient().address
    low, high = (1 << 16) - 8, (1 << 17) - 8
    found = {len(close_box(address, bytes(length))) for length in range(low + 1, high + 1, 1024)}
    around = len(close_box(address, b"")) - 1024
    assert found == {around + (1 << 16) + step * (1 << 13) for step in range(1, 9)}
    assert around == 32 + 16, "the sender's key, and the tag"


@pytest.mark.claim("P34")
@pytest.mark.parametrize("length", [0, 1, 1015, 1016, 1017, 4096, 70_000])
def test_what_fills_a_box_up_does_not_come_out(length):
    recipient = Recipient()
    content = b"\0\1" * (length // 2) + b"\0" * (length % 2)
    assert recipient.open(close_box(recipient.address, content)) == content
