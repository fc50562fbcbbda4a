"""Who signed a card, and what a signature does not say."""

import json
import os
import shutil
import stat

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpcov.errors import FolderError, ParameterError
from dpcov.publication import sign_folder, signing, verify_folder, write_folder
from dpcov.publication.keys import (
    fingerprint,
    is_sound,
    load_private_key,
    load_public_key,
    make_keys,
)
from dpcov.publication.signature import _ORDER, _message
from publication import forger, releases

PRIME = 2**255 - 19


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("signed")
    estimate = releases.dense().estimate(threshold=2.0)
    write_folder(estimate.release, estimate, place / "survey", name="Survey")
    make_keys(place / "office.pem")
    make_keys(place / "other.pem")
    sign_folder(place / "survey", key=place / "office.pem", signer="Data office, X")
    return place


@pytest.fixture
def place(written, tmp_path):
    shutil.copytree(written, tmp_path / "place")
    return tmp_path / "place"


def change(file, **fields):
    signed = json.loads(file.read_text(encoding="utf-8")) | fields
    file.write_text(json.dumps(signed, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def test_a_signed_folder_holds_and_nothing_in_it_is_unlisted(place):
    found = verify_folder(place / "survey")
    assert found.holds
    assert found.unlisted == ()


def test_a_signature_without_a_stated_key_says_only_what_its_holder_says(place):
    signature = verify_folder(place / "survey").signature
    assert not signature.expected
    assert "someone who calls themself 'Data office, X'" in signature.in_words


def test_a_signature_of_a_stated_key_is_expected(place):
    keys = [place / "other.pub.pem", place / "office.pub.pem"]
    signature = verify_folder(place / "survey", keys=keys).signature
    assert signature.expected
    assert signature.fingerprint == fingerprint(load_public_key(place / "office.pub.pem"))


def test_a_stated_key_demands_a_signature(place):
    (place / "survey" / "card.sig.json").unlink()
    assert verify_folder(place / "survey").holds
    found = verify_folder(place / "survey", keys=[place / "office.pub.pem"])
    assert found.problems == ("the card has no signature, and a key was stated",)


def test_a_stated_key_demands_its_own_signature(place):
    found = verify_folder(place / "survey", keys=[place / "other.pub.pem"])
    assert "signed with another key" in found.problems[0]
    assert (found.signature, found.card) == (None, None)


@pytest.mark.parametrize("field", ["name", "curator", "description", "date"])
def test_a_forger_cannot_change_a_word_under_a_signature(place, field):
    card = forger.read(place / "survey")
    card["identity"][field] = "1999-01-01"
    forger.seal_with_page(place / "survey", card)
    problems = verify_folder(place / "survey").problems
    assert problems == ("card.sig.json is not a valid signature of this card",)


def test_the_words_of_the_signer_are_signed(place):
    change(place / "survey" / "card.sig.json", signer="Data office, Y")
    problems = verify_folder(place / "survey").problems
    assert problems == ("card.sig.json is not a valid signature of this card",)


def test_another_key_cannot_be_put_in_its_place(place):
    other = load_public_key(place / "other.pub.pem").public_bytes_raw().hex()
    change(place / "survey" / "card.sig.json", public_key=other)
    assert not verify_folder(place / "survey").holds


def test_the_second_form_of_a_signature_is_refused(place):
    file = place / "survey" / "card.sig.json"
    signature = bytes.fromhex(json.loads(file.read_text())["signature"])
    number = int.from_bytes(signature[32:], "little") + _ORDER
    change(file, signature=(signature[:32] + number.to_bytes(32, "little")).hex())
    assert not verify_folder(place / "survey").holds


def test_no_flipped_bit_of_a_signature_passes(place):
    from dpcov.publication.signature import check_signature

    file = place / "survey" / "card.sig.json"
    content, card = file.read_bytes(), (place / "survey" / "card.json").read_bytes()
    for number in range(len(content)):
        flipped = bytes([content[number] ^ (1 << number % 8)])
        file.write_bytes(content[:number] + flipped + content[number + 1 :])
        assert check_signature(place / "survey", card, ())[0] is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 4000,
        b" " * 5000,
    ],
)
def test_a_file_that_is_no_signature_is_refused(place, text):
    (place / "survey" / "card.sig.json").write_bytes(text)
    problems = verify_folder(place / "survey").problems
    assert problems == ("card.sig.json is not a signature of dpcov, or was altered",)


def test_a_signature_with_more_in_it_is_refused(place):
    change(place / "survey" / "card.sig.json", role="auditor")
    assert not verify_folder(place / "survey").holds


def test_a_link_is_no_signature(place):
    file = place / "survey" / "card.sig.json"
    file.rename(place / "elsewhere.json")
    file.symlink_to(place / "elsewhere.json")
    assert not verify_folder(place / "survey").holds


def small_order_points():
    """Return the y of the points whose order divides 8, from the curve's equation alone."""
    d = -121665 * pow(121666, -1, PRIME) % PRIME
    root = pow(2, (PRIME - 1) // 4, PRIME)

    def add(one, other):
        (a, b), (e, f) = one, other
        t = d * a * b * e * f
        return (
            (a * f + b * e) * pow(1 + t, -1, PRIME) % PRIME,
            (b * f + a * e) * pow(1 - t, -1, PRIME) % PRIME,
        )

    def times_the_order(point):
        result = (0, 1)
        for bit in bin(_ORDER)[2:]:
            result = add(result, result)
            result = add(result, point) if bit == "1" else result
        return result

    found = set()
    for y in range(2, 40):  # the order of the prime part takes a point to its small part
        square = (y * y - 1) * pow(d * y * y + 1, -1, PRIME) % PRIME
        x = pow(square, (PRIME + 3) // 8, PRIME)
        x = x if x * x % PRIME == square else x * root % PRIME
        if x * x % PRIME == square:
            found.add(times_the_order((x, y))[1])
    return found


def test_keys_of_small_order_are_refused():
    points = small_order_points()
    assert len(points) == 5
    for y in points:
        for sign in (0, 1 << 255):
            assert not is_sound((y | sign).to_bytes(32, "little"))


def test_a_key_has_one_form():
    sound = (PRIME - 2).to_bytes(32, "little")
    assert is_sound(sound)
    assert not is_sound((PRIME + 2).to_bytes(32, "little"))
    assert not is_sound(sound[:31])


def test_a_key_that_fits_every_card_signs_none(place):
    identity = (1).to_bytes(32, "little")
    always = identity + bytes(32)
    public = form.load_der_public_key(bytes.fromhex("302a300506032b6570032100") + identity)
    change(place / "survey" / "card.sig.json", public_key=identity.hex(), signature=always.hex())
    assert not verify_folder(place / "survey").holds
    pem = public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    (place / "bad.pub.pem").write_bytes(pem)
    with pytest.raises(FolderError, match="sound"):
        verify_folder(place / "survey", keys=[place / "bad.pub.pem"])


@pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")
def test_a_private_key_is_for_its_owner_alone(place):
    assert stat.S_IMODE((place / "office.pem").stat().st_mode) == 0o600


@pytest.mark.parametrize("taken", ["new.pem", "new.pub.pem"])
def test_a_key_is_never_overwritten(tmp_path, taken):
    (tmp_path / taken).write_text("dear")
    with pytest.raises(FolderError, match="never overwritten"):
        make_keys(tmp_path / "new.pem")
    assert [file.name for file in tmp_path.iterdir()] == [taken]


def test_a_dangling_link_is_not_written_through(tmp_path):
    (tmp_path / "new.pem").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FolderError, match="never overwritten"):
        make_keys(tmp_path / "new.pem")
    assert not (tmp_path / "elsewhere").exists()


def test_an_encrypted_key_needs_its_passphrase(place):
    make_keys(place / "safe.pem", passphrase="open")  # noqa: S106
    with pytest.raises(FolderError, match="needs its passphrase"):
        load_private_key(place / "safe.pem")
    with pytest.raises(FolderError, match="with this passphrase"):
        load_private_key(place / "safe.pem", "shut")
    load_private_key(place / "safe.pem", "open")
    with pytest.raises(ParameterError, match="empty"):
        make_keys(place / "careless.pem", passphrase="")


def test_a_key_of_another_kind_is_refused(place):
    secret = ec.generate_private_key(ec.SECP256R1())
    (place / "ec.pem").write_bytes(
        secret.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    )
    (place / "ec.pub.pem").write_bytes(
        secret.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(FolderError, match="Ed25519"):
        load_private_key(place / "ec.pem")
    with pytest.raises(FolderError, match="Ed25519"):
        load_public_key(place / "ec.pub.pem")


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PUBLIC KEY-----", b"x" * 100_000])
def test_a_file_that_is_no_key_is_refused(place, content):
    (place / "bad.pem").write_bytes(content)
    for load in (load_private_key, load_public_key):
        with pytest.raises(FolderError):
            load(place / "bad.pem")


def test_a_private_key_is_not_taken_for_a_public_one(place):
    with pytest.raises(FolderError, match="state the public one"):
        verify_folder(place / "survey", keys=[place / "office.pem"])


def test_a_folder_that_does_not_hold_is_not_signed(place):
    (place / "survey" / "pairs.csv").write_text("first,second\n")
    with pytest.raises(FolderError, match=r"not signed: pairs\.csv was altered"):
        sign_folder(place / "survey", key=place / "other.pem", signer="Me", force=True)


def test_a_signature_is_replaced_only_when_that_is_asked_for(place):
    with pytest.raises(FolderError, match="signed already"):
        sign_folder(place / "survey", key=place / "other.pem", signer="Me")
    sign_folder(place / "survey", key=place / "other.pem", signer="Me", force=True)
    found = verify_folder(place / "survey", keys=[place / "other.pub.pem"])
    assert found.signature.signer == "Me"


@pytest.mark.parametrize("signer", ["", " me", "a\nb", "\x1b[31m", "x" * 201, None, "\u202eme"])
def test_a_signer_is_one_printable_line(place, signer):
    with pytest.raises(ParameterError, match="signer"):
        sign_folder(place / "survey", key=place / "office.pem", signer=signer, force=True)


def test_words_and_card_cannot_be_told_otherwise_apart():
    assert _message(b"bc", "a") != _message(b"c", "ab")


def test_a_signature_of_something_else_is_none_of_a_card(place):
    secret = Ed25519PrivateKey.generate()
    card = (place / "survey" / "card.json").read_bytes()
    public = secret.public_key().public_bytes_raw().hex()
    change(place / "survey" / "card.sig.json", public_key=public, signature=secret.sign(card).hex())
    assert not verify_folder(place / "survey").holds


def test_a_rehearsal_is_not_signed(place):
    estimate = releases.simulated().estimate(threshold=2.0)
    write_folder(estimate.release, estimate, place / "rehearsal")
    with pytest.raises(FolderError, match="promises nothing"):
        sign_folder(place / "rehearsal", key=place / "office.pem", signer="Data office, X")


def test_of_two_signers_at_the_same_time_the_second_is_refused(place, monkeypatch):
    (place / "survey" / "card.sig.json").unlink()
    verify = signing.verify_folder

    def meanwhile(folder):
        monkeypatch.undo()
        sign_folder(folder, key=place / "office.pem", signer="First")
        return verify(folder)

    monkeypatch.setattr(signing, "verify_folder", meanwhile)
    with pytest.raises(FolderError, match="signed already"):
        sign_folder(place / "survey", key=place / "other.pem", signer="Second")
    assert verify_folder(place / "survey").signature.signer == "First"
    assert verify_folder(place / "survey").unlisted == ()


def test_a_signature_gets_its_name_where_there_are_no_links(place, monkeypatch):
    def no_links(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    (place / "survey" / "card.sig.json").unlink()
    sign_folder(place / "survey", key=place / "office.pem", signer="First")
    assert verify_folder(place / "survey").signature.signer == "First"
    with pytest.raises(FolderError, match="signed already"):
        sign_folder(place / "survey", key=place / "other.pem", signer="Second")


def test_force_replaces_no_file_that_is_not_a_signature(place):
    (place / "survey" / "card.sig.json").write_text("dear")
    with pytest.raises(FolderError, match="is not a signature of dpcov"):
        sign_folder(place / "survey", key=place / "other.pem", signer="Me", force=True)
    assert (place / "survey" / "card.sig.json").read_text() == "dear"


def test_force_replaces_a_signature_of_another_card(place):
    change(place / "survey" / "card.sig.json", signer="Somebody else")
    sign_folder(place / "survey", key=place / "other.pem", signer="Me", force=True)
    assert verify_folder(place / "survey").signature.signer == "Me"


@pytest.mark.parametrize("failing", [1, 2], ids=["private", "public"])
def test_a_key_that_cannot_be_written_leaves_no_file(tmp_path, monkeypatch, failing):
    calls = []

    def full(_):
        calls.append(1)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FolderError, match="cannot be written"):
        make_keys(tmp_path / "new.pem")
    assert list(tmp_path.iterdir()) == []
