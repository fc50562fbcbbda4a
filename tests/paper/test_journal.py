import pytest

from dpcov.errors import CorruptFileError, ParameterError
from dpcov.paper.journal import COLUMNS, Journal, Record

KEYS = [(1, "printed", "privacy", "ε = 0.1", "Algorithm 1", 1000, run) for run in range(3)]
RECORDS = [Record(key, 0.1 + run / 3, 7 + run, "dpcov 1; numpy 2") for run, key in enumerate(KEYS)]


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "results.csv")
    journal.append(RECORDS[:2])
    journal.append(RECORDS[2:])
    return journal.path


def test_records_come_back_to_the_last_bit(path):
    assert list(Journal(path).records.values()) == RECORDS


def test_the_table_is_tidy(path):
    lines = path.read_text("utf-8").splitlines()
    assert lines[0].split(",") == list(COLUMNS)
    assert len(lines) == 4


def test_a_table_cut_anywhere_keeps_its_whole_lines(path):
    whole = path.read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        journal = Journal(path)
        kept = max(0, sum(end < cut for end in ends) - 1)
        assert list(journal.records.values()) == RECORDS[:kept]
        journal.append(RECORDS[kept:])
        assert path.read_bytes() == whole


def test_a_damaged_line_in_the_middle_is_refused(path):
    path.write_bytes(path.read_bytes().replace(b"Algorithm 1,1000,1", b"Algorithm 1,one,1"))
    with pytest.raises(CorruptFileError, match=r"Line 3 of .* is damaged"):
        Journal(path)


def test_another_kind_of_file_is_refused(path):
    path.write_text("name,value\na,1\n")
    with pytest.raises(CorruptFileError, match="not a table of this study"):
        Journal(path)


def test_binary_rubbish_is_refused(path):
    path.write_bytes(bytes(range(256)) * 10)
    with pytest.raises(CorruptFileError):
        Journal(path)


def test_other_versions_are_not_mixed_in(path):
    with pytest.raises(ParameterError, match="was made with dpcov 1; numpy 2, this is dpcov 2"):
        Journal(path).check({}, "dpcov 2")


def test_another_seed_is_not_mixed_in(path):
    with pytest.raises(ParameterError, match="another seed or other entries"):
        Journal(path).check({KEYS[0]: 8}, "dpcov 1; numpy 2")


def test_the_same_study_goes_on(path):
    journal = Journal(path)
    journal.check({KEYS[0]: 7, KEYS[1]: 8}, "dpcov 1; numpy 2")
    assert set(journal.records) == set(KEYS)
