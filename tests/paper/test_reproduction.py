import os
import shutil

import pandas as pd
import pytest

from dpcov import paper
from dpcov.errors import ParameterError
from dpcov.paper import reproduction
from dpcov.paper.study import Study

STUDY = Study(figures=(1,), manners=("printed",), runs=2, sizes=(300, 1000))


SMALL = Study(figures=(1,), manners=("printed",), runs=1, sizes=(300,))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the study wrote when nothing stopped it."""
    return paper.reproduce(tmp_path_factory.mktemp("whole") / "new" / "folder", STUDY, jobs=1)


@pytest.fixture
def folder(whole, tmp_path):
    """A copy of its folder."""
    return shutil.copytree(whole[0].parent, tmp_path / "copy")


def test_the_table_and_the_figures_are_written(whole):
    files = whole
    assert [file.name for file in files] == [
        "results.csv",
        "results.parquet",
        "figure-1-printed.png",
        "figure-1-printed.svg",
    ]
    table = pd.read_parquet(files[1])
    assert len(table) == 12 * 2 * 2
    assert set(table.columns) >= {"figure", "panel", "curve", "n", "run", "error", "seed"}
    assert table["versions"].str.startswith("dpcov ").all()
    pd.testing.assert_frame_equal(
        table,
        pd.read_csv(files[0]).sort_values(list(table.columns), ignore_index=True),
        check_dtype=False,
    )
    assert not list(files[0].parent.glob(".*"))


def test_two_processes_give_the_same_table(whole, tmp_path):
    two = paper.reproduce(tmp_path, STUDY, jobs=2)
    assert whole[1].read_bytes() == two[1].read_bytes()


def test_a_killed_run_goes_on_where_it_was(whole, tmp_path, monkeypatch):
    ran = []
    original = reproduction.run_trial

    def killed(trial, study):
        ran.append(trial)
        if len(ran) == 10:
            raise KeyboardInterrupt
        return original(trial, study)

    monkeypatch.setattr(reproduction, "run_trial", killed)
    with pytest.raises(KeyboardInterrupt):
        paper.reproduce(tmp_path / "killed", STUDY, jobs=1)
    table = tmp_path / "killed" / "results.csv"
    table.write_bytes(table.read_bytes()[:-20])  # and the last line is torn
    ran.clear()
    monkeypatch.setattr(
        reproduction, "run_trial", lambda trial, study: ran.append(trial) or original(trial, study)
    )
    resumed = paper.reproduce(tmp_path / "killed", STUDY, jobs=1)
    assert len(ran) == len(STUDY.trials()) - 8
    assert resumed[1].read_bytes() == whole[1].read_bytes()


def test_more_runs_add_to_what_is_there(folder, monkeypatch):
    ran = []
    original = reproduction.run_trial
    monkeypatch.setattr(
        reproduction, "run_trial", lambda trial, study: ran.append(trial) or original(trial, study)
    )
    more = Study(figures=(1,), manners=("printed",), runs=3, sizes=(300, 1000))
    paper.reproduce(folder, more, jobs=1)
    assert {trial.run for trial in ran} == {2}


def test_progress_rises_to_everything(tmp_path):
    seen = []
    paper.reproduce(tmp_path, SMALL, jobs=1, progress=lambda *work: seen.append(work))
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert seen[0][0] == 0
    assert seen[-1][0] == pytest.approx(seen[-1][1])


def test_another_seed_in_the_same_folder_is_refused(folder):
    other = Study(figures=(1,), manners=("printed",), runs=2, sizes=(300, 1000), seed=1)
    with pytest.raises(ParameterError, match="Give another folder"):
        paper.reproduce(folder, other, jobs=1)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ParameterError, match=r"Cannot write into .*folder: not a directory. Choose a folder"
    ):
        paper.reproduce(tmp_path / "file" / "folder", STUDY)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(ParameterError, match="Cannot write into"):
        paper.reproduce(tmp_path, STUDY)


def test_jobs_are_checked(tmp_path):
    with pytest.raises(ParameterError, match="jobs must"):
        paper.reproduce(tmp_path, STUDY, jobs=0)
