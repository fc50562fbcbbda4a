"""Use what an extra is for, once, in an environment that has this extra and nothing else.

Owns one function for each extra, and ``core`` for none: it also tries what needs an extra, and
wants the sentence that says which. Run by ``install.py`` in a new folder: ``smoke.py plot``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import dpcov

ROWS = np.random.default_rng(0).normal(size=(2_000, 3)) @ [[1, 0.8, 0], [0, 0.6, 0], [0, 0, 1]]
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


def released() -> dpcov.Release:
    """Return a small release that is the same every time and promises nothing."""
    return dpcov.release(ROWS, **PROMISE, seed=1, columns=["a", "b", "c"])


def csv_file() -> Path:
    """Write the table as a CSV file."""
    np.savetxt("survey.csv", ROWS, delimiter=",", header="a,b,c", comments="")
    return Path("survey.csv")


def command(*words: str, code: int = 0) -> str:
    """Run dpcov as a person types it, and return all that it says."""
    run = subprocess.run(
        [str(Path(sys.executable).parent / "dpcov"), *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert run.returncode == code, (words, run.returncode, run.stdout, run.stderr)
    return run.stdout + run.stderr


def core() -> None:
    """Release, save, load and estimate; and be told what other things need."""
    release = released()
    release.save("survey.npz")
    assert dpcov.Release.load("survey.npz") == release
    assert release.estimate().edges()
    assert dpcov.release_pairs(ROWS, **PROMISE, max_pairs=2, seed=1).estimate() is not None
    ledger = dpcov.Ledger.create(
        "budget.db", population="Panel", owner="Office", epsilon=3.0, delta=1e-6
    )
    dpcov.release(ROWS, **PROMISE, ledger=ledger)
    assert ledger.account().spent == 1.0
    # Without typer there is no other way to ask for the version.
    assert dpcov.__version__ == version("dpcov")
    for extra, attempt in without(release).items():
        wants_sentence(extra, attempt)
    assert "pip install 'dpcov[cli]'" in command("--help", code=1)


def without(release: dpcov.Release) -> dict[str, Callable[[], object]]:
    """Return what needs each extra. Spark is not among them: who has a frame has pyspark."""
    return {
        "files": lambda: dpcov.release(csv_file(), **PROMISE),
        "frames": lambda: release.estimate().to_frame(),
        "sklearn": lambda: dpcov.SparseCovariance(**PROMISE),
        "dask": lambda: dpcov.release(ROWS, **PROMISE, engine="dask"),
        "paper": lambda: dpcov.paper.reproduce("figures"),
        "plot": lambda: dpcov.plot.heatmap(release.estimate()),
        "ledger": lambda: dpcov.Ledger("postgresql://nobody@127.0.0.1:1/none").account(),
        "publication": lambda: dpcov.publication.write_page(release, release.estimate(), "p.html"),
        "server": lambda: collection_in_postgresql(),
    }


def wants_sentence(extra: str, attempt: Callable[[], object]) -> None:
    """Try what needs an extra; only the sentence that names it will do."""
    said = "nothing was missing"
    try:
        attempt()
    except dpcov.errors.MissingExtraError as error:
        said = str(error)
    assert f"pip install 'dpcov[{extra}]'" in said, (extra, said)


def empty(name: str) -> Path:
    """Make an empty file."""
    Path(name).touch()
    return Path(name)


def collection_in_postgresql() -> None:
    """Open a collection on a server that is not there."""
    importlib.import_module("dpcov.collect").Collection.open("postgresql://nobody@127.0.0.1:1/none")


def cli() -> None:
    """Go from a file to a folder that holds, by commands."""
    assert "dpcov release" in command("--help")
    assert dpcov.__version__ in command("--version")
    command("release", str(csv_file()), "--epsilon", "1", "--delta", "1e-6", "--out", "survey")
    command("verify", "survey")
    assert "pip install 'dpcov[server]'" in command("collect", "serve", plan_file(), code=1)


def plan_file() -> str:
    """Write a plan of the local model."""
    Path("plan.json").write_text(small_plan().to_json(), encoding="utf-8")
    return "plan.json"


def small_plan() -> Any:
    """Return a plan of two columns."""
    return dpcov.local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap"
    )


def files() -> None:
    """Release CSV and Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(dict(zip("abc", ROWS.T, strict=True))), "survey.parquet")
    for path in (csv_file(), Path("survey.parquet")):
        assert dpcov.release(path, **PROMISE, seed=1).n_rows == len(ROWS)


def frames() -> None:
    """Give a data frame, and get one."""
    import pandas as pd

    release = dpcov.release(pd.DataFrame(ROWS, columns=list("abc")), **PROMISE, seed=1)
    assert list(release.estimate().to_frame().columns) == list("abc")


def sklearn() -> None:
    """Fit the estimator."""
    assert dpcov.SparseCovariance(**PROMISE).fit(ROWS).covariance_.shape == (3, 3)


def dask() -> None:
    """Get the same numbers from Dask's workers."""
    by_dask = dpcov.release(ROWS, **PROMISE, engine="dask", seed=1)
    assert (by_dask.matrix == released().matrix).all()


def spark() -> None:
    """Release a Spark data frame, where there is Java."""
    from pyspark.sql import SparkSession

    if shutil.which("java") is None:
        print("without Java, no Spark was started", end="; ")
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers would take another python3
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    started = session.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        frame = started.createDataFrame(ROWS[:200].tolist(), list("abc"))
        assert dpcov.release(frame, **PROMISE, seed=1).n_rows == 200
    finally:
        started.stop()


def paper() -> None:
    """Draw one of the paper's figures."""
    study = dpcov.paper.Study(figures=(1,), manners=("printed",), runs=1, sizes=(500,))
    dpcov.paper.reproduce("figures", study, jobs=1)
    assert list(Path("figures").rglob("*.png")) or list(Path("figures").rglob("*.svg"))


def plot() -> None:
    """Draw a plot."""
    import matplotlib

    matplotlib.use("agg")
    dpcov.plot.heatmap(released().estimate())


def ledger() -> None:
    """Open a ledger on a server that is not there, which the driver finds out."""
    try:
        dpcov.Ledger("postgresql://nobody@127.0.0.1:1/none").account()
    except dpcov.errors.LedgerError:
        return
    raise AssertionError("a server that is not there was found")


def publication() -> None:
    """Write a page for readers."""
    release = released()
    dpcov.publication.write_page(release, release.estimate(), "page.html")
    assert "<html" in Path("page.html").read_text(encoding="utf-8")
    wants_sentence(
        "files", lambda: dpcov.publication.write_folder(release, release.estimate(), "folder")
    )


def server() -> None:
    """Ask the service for its plan, without a network."""
    from dpcov.collect import Collection
    from dpcov.collect.service.app import make_app
    from dpcov.collect.service.settings import Settings

    importlib.import_module("dpcov.collect.service.server")
    Collection.create("study", small_plan()).disconnect()
    status, body = asyncio.run(ask(make_app(Settings(database="study")), "/plan"))
    assert status == 200, status
    assert small_plan().id.encode() in body


async def ask(app: Any, path: str) -> tuple[int, bytes]:
    """Send one request through ASGI and return status and body."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent)


def every() -> None:
    """Use all that the extra `all` brings."""
    for use in (files, frames, sklearn, dask, paper, plot, ledger, publication_of_all, server):
        use()
    command("release", str(csv_file()), "--epsilon", "1", "--delta", "1e-6", "--out", "survey")
    command("verify", "survey")


def fast() -> None:
    """Count bits instead of multiplying signs, and cells in compiled loops."""
    from dpcov.exact import binning, scaling, tally
    from dpcov.exact.compiled import compile_loop
    from dpcov.exact.population import counting

    assert counting() is not None
    loops = (binning._write, scaling._write, tally._write)
    assert None not in map(compile_loop, loops)


def publication_of_all() -> None:
    """Write a folder, since pyarrow is there too."""
    release = released()
    dpcov.publication.write_folder(release, release.estimate(), "folder")
    assert dpcov.publication.verify_folder("folder").holds


USES: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        core, cli, files, frames, sklearn, dask, spark, fast,
        paper, plot, ledger, publication, server,
    )
} | {"all": every}  # fmt: skip


if __name__ == "__main__":
    USES[sys.argv[1]]()
    print(f"dpcov {dpcov.__version__} from {Path(dpcov.__file__).parent}")
