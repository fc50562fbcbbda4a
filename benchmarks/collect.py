"""Collections: reports a second over HTTP and into the database, and releases of many.

The server is a process of its own, the load comes from another on the same machine: both share
its cores. With ``DPCOV_TEST_POSTGRESQL`` set (``.ci/postgresql.sh python -m benchmarks collect``)
PostgreSQL is measured, too.
"""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Table
from dpcov import collect, local
from dpcov.local.report import encode_reports

__all__ = ["tables"]

_COLUMNS = 20
_CONNECTIONS = 64
_SINGLES, _SECONDS = 20_000, 10.0
_MANY = 10_000_000
_JANUS = 100.0  # requests a second in the load test that Janus, a server of Prio, published

Bytes = npt.NDArray[np.uint8]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    server = os.environ.get("DPCOV_TEST_POSTGRESQL", "")
    yield _http_table(["SQLite", *(["PostgreSQL"] if server else [])], server)
    yield _store_table()


def _plan() -> local.CollectionPlan:
    names = [f"x{i}" for i in range(_COLUMNS)]
    return local.CollectionPlan(columns=names, row_norm=1.0, epsilon=2.0, mean=True)


def _reports(plan: local.CollectionPlan, count: int) -> Bytes:
    """Return reports with any ids and seeds: no server can tell them from real ones."""
    octets = np.frombuffer(secrets.token_bytes(32 * count), np.uint8).reshape(count, 32)
    return encode_reports(plan, octets[:, :16], octets[:, 16:], simulated=False)


def _http_table(kinds: list[str], server: str) -> Table:
    table = Table(
        f"Uploads over HTTP, {_CONNECTIONS} connections, load and server on the same cores",
        (
            "database",
            "single reports/s",
            "… over Janus's 100",
            "p99 at half load, ms",
            "reports/s, 10,000 at a time",
            "reports/s, 100,000 at a time",
        ),
    )
    plan = _plan()
    for kind in kinds:
        with _place(kind, server) as address, _serving(address, plan) as port:
            singles, _ = _load(port, plan, requests=_SINGLES, size=1)
            waits = _half_load(port, plan, singles / 2)
            some, _ = _load(port, plan, requests=200, size=10_000, connections=2)
            many, _ = _load(port, plan, requests=30, size=100_000, connections=2)
        table.rows.append(
            (
                kind,
                f"{singles:,.0f}",
                f"{singles / _JANUS:.0f}",
                f"{1e3 * float(np.percentile(waits, 99)):.0f}",
                f"{some:,.0f}",
                f"{many:,.0f}",
            )
        )
    return table


def _store_table() -> Table:
    table = Table(
        f"A collection of {_MANY:,} reports in SQLite, {_COLUMNS} columns",
        ("step", "seconds", "reports/s", "peak memory, MB"),
    )
    with tempfile.TemporaryDirectory(dir=os.environ.get("DPCOV_BENCHMARK_DIR")) as folder:
        for step in ("add", "open", "close", "release"):
            seconds, memory = _in_a_process(step, folder)
            table.rows.append((step, f"{seconds:.1f}", f"{_MANY / seconds:,.0f}", f"{memory:.0f}"))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        table.rows.append(("bytes on the disk", f"{size:,}", "", ""))
    return table


def _in_a_process(step: str, folder: str) -> tuple[float, float]:
    """Return seconds and peak memory of one step, in a process of its own."""
    command = [sys.executable, "-c", f"from benchmarks.collect import run; run({step!r})", folder]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, memory = said.split()
    return float(seconds), float(memory)


def run(step: str) -> None:
    """Do one step with the collection in the folder of the command line, and print its cost."""
    folder, plan = sys.argv[1], _plan()
    spent = 0.0
    collection = collect.Collection.create_or_open(folder, plan)
    begun = time.perf_counter()
    if step == "add":
        for _ in range(_MANY // 100_000):
            reports = _reports(plan, 100_000)
            begun = time.perf_counter()
            collection.add_many(reports)
            spent += time.perf_counter() - begun
    else:
        if step == "open":  # the index is read with the first report
            collection.add_many(_reports(plan, 1))
        elif step == "close":
            collection.close()
        else:
            collection.release(progress=False)
        spent = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(spent, memory)


@contextmanager
def _place(kind: str, server: str) -> Iterator[str]:
    if kind == "SQLite":
        with tempfile.TemporaryDirectory(dir=os.environ.get("DPCOV_BENCHMARK_DIR")) as folder:
            yield f"{folder}/collection"
        return
    import psycopg

    name = f"dpcov_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _serving(address: str, plan: local.CollectionPlan) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        file.write_text(plan.to_json(), encoding="utf-8")
        command = [sys.executable, "-m", "dpcov", "collect", "serve", str(file), "--quiet"]
        command += ["--database", address, "--port", str(port), "--rate", "0"]
        process = subprocess.Popen(command)
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz").read()
            return
        except OSError:  # noqa: PERF203
            time.sleep(0.1)
    raise SystemExit("The server does not come up.")


def _load(
    port: int,
    plan: local.CollectionPlan,
    *,
    requests: int,
    size: int,
    connections: int = _CONNECTIONS,
) -> tuple[float, list[float]]:
    """Return reports a second, and how long each request took: the next when one is answered."""
    bodies = [_reports(plan, size).tobytes() for _ in range(requests)]
    waits: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while bodies:
            waits.append(await _post(reader, writer, bodies.pop()))
        writer.close()

    async def all_clients() -> None:
        await asyncio.gather(*[client() for _ in range(connections)])

    begun = time.perf_counter()
    asyncio.run(all_clients())
    return requests * size / (time.perf_counter() - begun), waits


def _half_load(port: int, plan: local.CollectionPlan, rate: float) -> list[float]:
    """Return how long requests take that come at random times, so many a second on average."""
    count = int(rate * _SECONDS)
    bodies = [_reports(plan, 1).tobytes() for _ in range(count)]
    gaps = np.random.default_rng(0).exponential(1 / rate, count)
    waits: list[float] = []

    async def run() -> None:
        free: asyncio.Queue[Connection] = asyncio.Queue()
        for _ in range(2 * _CONNECTIONS):
            free.put_nowait(await asyncio.open_connection("127.0.0.1", port))

        async def one(body: bytes, due: float) -> None:
            connection = await free.get()
            await _post(*connection, body)
            waits.append(time.perf_counter() - due)
            free.put_nowait(connection)

        begun, due, tasks = time.perf_counter(), 0.0, []
        for body, gap in zip(bodies, gaps, strict=True):
            due += float(gap)
            await asyncio.sleep(max(0.0, begun + due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(body, begun + due)))
        await asyncio.gather(*tasks)

    asyncio.run(run())
    return waits


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> float:
    begun = time.perf_counter()
    writer.write(
        b"POST /reports HTTP/1.1\r\nHost: study\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 201 " not in head:
        raise SystemExit(head.decode())
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    await reader.readexactly(length)
    return time.perf_counter() - begun
