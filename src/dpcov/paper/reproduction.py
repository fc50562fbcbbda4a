"""The whole study: run what is missing, write the table, draw the figures.

Owns the order of the job and its processes. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpcov.errors import MissingExtraError, ParameterError
from dpcov.paper.experiments import run_trial
from dpcov.paper.journal import COLUMNS, Journal, Record
from dpcov.paper.study import Key, Study, Trial
from dpcov.parameters import check_count
from dpcov.version import __version__
from dpcov.writing import locate_target, replacing_file, reserve

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Progress", "reproduce"]

# Called with the work that is done and the work in all.
Progress = Callable[[float, float], None]

_JOURNAL, _TABLE = "results.csv", "results.parquet"


def reproduce(
    out: str | os.PathLike[str],
    study: Study | None = None,
    *,
    jobs: int = 2,
    progress: Progress | None = None,
) -> list[Path]:
    """Run a study and return the files that it wrote.

    Parameters
    ----------
    out : path
        The folder for ``results.csv``, ``results.parquet`` and the figures. If it holds
        results of the same study already, only what is missing is run.
    study : Study, optional
        What to run; by default all four figures in both manners, 20 runs each.
    jobs : int, default 2
        Processes to use.
    progress : callable, optional
        Called with the work done and the work in all.
    """
    study = Study() if study is None else study
    jobs = check_count("jobs", jobs, low=1)
    try:
        from dpcov.paper.figures import draw
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"Figures need {error.name}: pip install 'dpcov[paper]'") from None
    folder = _writable(Path(out))
    with reserve(locate_target(folder / _JOURNAL)):  # two runs would do the same work twice
        return _reproduce(folder, study, jobs, progress or (lambda done, all_: None), draw)


def _reproduce(
    folder: Path, study: Study, jobs: int, progress: Progress, draw: Callable[..., list[Path]]
) -> list[Path]:
    _check_new(folder, study)
    journal = Journal(folder / _JOURNAL)
    expected, versions = study.keys(), _versions()
    journal.check(expected, versions)
    _run(study, journal, versions, jobs, progress)
    table = _table(journal, expected)
    written = [journal.path, _write_parquet(table, folder)]
    for manner in dict.fromkeys(study.manners):
        for number in sorted(set(study.figures)):
            written += draw(table, number, manner, folder)
    return written


def _run(study: Study, journal: Journal, versions: str, jobs: int, progress: Progress) -> None:
    trials = study.trials()
    missing = [trial for trial in trials if not set(study.keys_of(trial)) <= journal.records.keys()]
    everything = sum(trial.work for trial in trials)
    done = everything - sum(trial.work for trial in missing)
    progress(done, everything)
    for trial, errors in _outcomes(missing, study, jobs):
        journal.append(Record(key, error, trial.seed, versions) for key, error in errors.items())
        done += trial.work
        progress(done, everything)


def _outcomes(
    trials: list[Trial], study: Study, jobs: int
) -> Iterator[tuple[Trial, dict[Key, float]]]:
    if not trials:
        return
    if jobs == 1:
        yield from ((trial, run_trial(trial, study)) for trial in trials)
        return
    others = set(multiprocessing.active_children())
    # Fresh processes: a fork would inherit the locks of BLAS threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_interrupts_to_parent)
    try:
        waiting = iter(trials)
        running: dict[Future[dict[Key, float]], Trial] = {}
        while True:
            # A few at a time, so that little is lost when the job is stopped.
            for trial in itertools.islice(waiting, 2 * jobs - len(running)):
                running[pool.submit(run_trial, trial, study)] = trial
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):  # a terminal that is closed sends it to every process
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _table(journal: Journal, expected: dict[Key, int]) -> pd.DataFrame:
    import pandas as pd

    rows = [journal.records[key].row for key in sorted(expected)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _write_parquet(table: pd.DataFrame, folder: Path) -> Path:
    path = folder / _TABLE
    with replacing_file(path) as aside:
        table.to_parquet(aside, index=False, compression="zstd")
    return path


def _versions() -> str:
    return f"dpcov {__version__}; numpy {np.__version__}; scipy {scipy.__version__}"


def _check_new(folder: Path, study: Study) -> None:
    """Refuse to write over files of a folder that holds no results of a study."""
    if (folder / _JOURNAL).exists():  # what it says is looked at when it is read
        return
    figures = {
        f"figure-{number}-{manner}.{kind}"
        for number in study.figures
        for manner in study.manners
        for kind in ("png", "svg")
    }
    found = sorted(name for name in {_TABLE, *figures} if os.path.lexists(folder / name))
    if found:
        raise ParameterError(
            f"{folder} holds {', '.join(found)} but no {_JOURNAL}, so these are not of this study. "
            "Move them, or choose another folder."
        )


def _writable(folder: Path) -> Path:
    reason = "permission denied"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError as error:
        reason = (error.strerror or reason).lower()
    raise ParameterError(
        f"Cannot write into {folder}: {reason}. Choose a folder in which you may write."
    )
