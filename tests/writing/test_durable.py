import pytest

from dpcov.writing import replacing_file


def test_a_file_is_replaced_all_at_once(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    with replacing_file(tmp_path / "table.csv") as aside:
        aside.write_text("new")
        assert (tmp_path / "table.csv").read_text() == "old"
    assert (tmp_path / "table.csv").read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path):
    def write_half():
        with replacing_file(tmp_path / "table.csv") as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    (tmp_path / "table.csv").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert (tmp_path / "table.csv").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
