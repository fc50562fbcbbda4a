"""Whatever is altered, removed or moved in a ledger is found, and nothing is charged to it."""

import json
import sqlite3

import pytest

import dpcov
from dpcov.errors import AlteredLedgerError, LedgerError
from dpcov.ledger.chain import BEFORE_THE_FIRST, Line, check_chain, next_line
from ledger.ledgers import ONE, ROWS, WHO, new, tamper


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "budget.db"
    ledger = new(path)
    dpcov.release(ROWS, **ONE, ledger=ledger)
    ledger.change_limit(by=WHO["owner"], reason="agreed", epsilon=4.0)
    with pytest.raises(dpcov.errors.BudgetError):
        ledger.enter("tables", epsilon=30.0)
    ledger.enter("tables", epsilon=0.1)
    return path


@pytest.fixture
def copied(written, tmp_path):
    path = tmp_path / "budget.db"
    path.write_bytes(written.read_bytes())
    return path


def lines(path):
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT number, text, hash FROM dpcov_lines ORDER BY number")
    rows = [Line(*row) for row in found.fetchall()]
    connection.close()
    return rows


def rewrite(path, texts):
    """Write other lines with right hashes: a forger who knows how."""
    before, statements = None, ["DELETE FROM dpcov_lines"]
    for text in texts:
        before = next_line(before, json.loads(text))
        statements.append(
            ("INSERT INTO dpcov_lines VALUES (?, ?, ?)", (before.number, before.text, before.hash))
        )
    statements.append(("UPDATE dpcov_ledger SET lines = ?, head = ?", (before.number, before.hash)))
    tamper(path, *statements)


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dpcov_lines SET text = replace(text, '\"kind\"', '\"kins\"') WHERE number = {}",
        "UPDATE dpcov_lines SET text = text || ' ' WHERE number = {}",
        "UPDATE dpcov_lines SET hash = hash || 'x' WHERE number = {}",
        "DELETE FROM dpcov_lines WHERE number = {}",
        "UPDATE dpcov_lines SET number = 99 WHERE number = {}",
    ],
    ids=["altered", "a blank", "hash", "removed", "moved"],
)
def test_an_altered_line_is_found(copied, statement, number):
    assert len(lines(copied)) == 8
    tamper(copied, statement.format(number))
    with pytest.raises(AlteredLedgerError):
        dpcov.Ledger(copied)


def test_lines_that_changed_places_are_found(copied):
    tamper(
        copied,
        "UPDATE dpcov_lines SET number = 99 WHERE number = 6",
        "UPDATE dpcov_lines SET number = 6 WHERE number = 7",
        "UPDATE dpcov_lines SET number = 7 WHERE number = 99",
    )
    with pytest.raises(AlteredLedgerError):
        dpcov.Ledger(copied)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM dpcov_lines WHERE number > 5",
        "UPDATE dpcov_ledger SET lines = 7",
        "UPDATE dpcov_ledger SET head = ''",
        "DELETE FROM dpcov_ledger",
        "DELETE FROM dpcov_lines",
        "DROP TABLE dpcov_lines",
        "DROP TABLE dpcov_ledger",
    ],
)
def test_a_ledger_without_its_end_or_its_tables_is_found(copied, statement):
    tamper(copied, statement)
    with pytest.raises(LedgerError):
        dpcov.Ledger(copied)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"made":false', '"made":1'),
        ('"reason":"agreed"', '"reason":""'),
        ('"kind":"drawing"', '"kind":"return"'),
        ('"reservation":3', '"reservation":2'),
        ('"epsilon":"3"', '"epsilon":"3/1000"'),
        ('"epsilon":"3"', '"epsilon":3'),
        ('"complete":true,', ""),
    ],
)
def test_a_forger_who_mends_the_hashes_must_still_write_what_can_be(copied, old, new):
    texts = [line.text for line in lines(copied)]
    forged = [text.replace(old, new) for text in texts]
    assert forged != texts
    rewrite(copied, forged)
    with pytest.raises(AlteredLedgerError):
        dpcov.Ledger(copied)


def test_a_forged_charge_beyond_the_limit_is_found(copied):
    texts = [line.text for line in lines(copied)]
    forged = [text.replace('"kind":"refusal"', '"kind":"entry"') for text in texts]
    rewrite(copied, forged)
    with pytest.raises(AlteredLedgerError):
        dpcov.Ledger(copied)


def test_a_line_cannot_be_changed_by_accident(copied):
    connection = sqlite3.connect(copied)
    for statement in ("UPDATE dpcov_lines SET text = ''", "DELETE FROM dpcov_lines"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute(statement)
    connection.close()


def test_verify_returns_the_last_hash(written):
    assert dpcov.Ledger(written).verify() == lines(written)[-1].hash


def test_nothing_is_charged_to_an_altered_ledger(copied):
    ledger = dpcov.Ledger(copied)
    tamper(copied, "UPDATE dpcov_lines SET text = replace(text, 'entry', 'limit')")
    with pytest.raises(AlteredLedgerError, match=r"altered\. Nothing was spent\."):
        dpcov.release("not opened.csv", **ONE, ledger=ledger)


def test_a_missing_file_is_no_new_ledger(tmp_path):
    with pytest.raises(LedgerError, match="dpcov ledger create"):
        dpcov.Ledger(tmp_path / "budget.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"no database " * 1000])
def test_another_file_is_no_ledger(tmp_path, content):
    path = tmp_path / "budget.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        dpcov.Ledger(path)
    assert path.read_bytes() == content


def test_a_database_of_others_is_no_ledger(tmp_path):
    connection = sqlite3.connect(tmp_path / "budget.db")
    with connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    with pytest.raises(LedgerError, match="is no ledger"):
        dpcov.Ledger(tmp_path / "budget.db")


def test_damaged_pages_are_found(copied):
    content = bytearray(copied.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    copied.write_bytes(content)
    with pytest.raises(LedgerError):
        dpcov.Ledger(copied)


def test_a_ledger_is_never_replaced(copied):
    before = copied.read_bytes()
    with pytest.raises(LedgerError, match="never replaced"):
        new(copied)
    assert copied.read_bytes() == before


def test_a_creation_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(LedgerError, match="cannot be"):
        new(tmp_path / "no such folder" / "budget.db")
    assert list(tmp_path.iterdir()) == []


def test_a_chain_begins_with_nothing():
    first = next_line(None, {"kind": "ledger"})
    assert check_chain([first], count=1, head=first.hash) == [first]
    with pytest.raises(AlteredLedgerError):
        check_chain([], count=1, head=first.hash)
    assert check_chain([], count=0, head=BEFORE_THE_FIRST) == []


def test_lines_hold_no_data_and_no_file_names(written):
    texts = " ".join(line.text for line in lines(written))
    assert str(written) not in texts
    assert ".csv" not in texts


def test_an_address_of_another_kind_is_refused():
    with pytest.raises(LedgerError, match="postgresql://"):
        dpcov.Ledger("mysql://somewhere/budget")
