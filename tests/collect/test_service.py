import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

import dpcov
from collect.people import GAUSSIAN, PLAIN, PLAN, SECRET, made_up, released
from collect.running import ADMIN, BINARY, TOKEN, serving
from dpcov import local
from dpcov.collect import Collection
from dpcov.collect.service.settings import Settings
from dpcov.errors import ParameterError


@pytest.fixture
def client(address):
    with serving(address, PLAN) as client:
        yield client


@pytest.fixture
def folder_client(tmp_path):
    with serving(str(tmp_path / "c"), PLAN) as client:
        yield client


def post(client, reports, **headers):
    return client.post("/reports", content=reports.tobytes(), headers=BINARY | headers)


def test_the_plan_is_published_as_it_is(client):
    answer = client.get("/plan")
    assert local.CollectionPlan.from_json(answer.text) == PLAN
    assert answer.headers["etag"] == f'"{PLAN.id}"'
    same = client.get("/plan", headers={"If-None-Match": f'W/"{PLAN.id}", "x"'})
    assert (same.status_code, same.text) == (304, "")


def test_reports_are_accepted_once_confirmed_again_and_conflicts_are_said(client):
    reports = made_up(PLAN, 6)
    for _ in range(3):
        answer = post(client, reports[0])
        assert (answer.status_code, answer.json()) == (201, {"status": "accepted", "reports": 1})
    many = post(client, reports)
    assert (many.status_code, many.json()["reports"]) == (201, 6)
    other = reports[0].copy()
    other[-1] ^= 1
    assert post(client, other).status_code == 409
    assert client.get("/status", headers=ADMIN).json()["open"]


def test_concurrent_uploads_of_one_report_are_counted_once(client):
    reports, statuses = made_up(PLAN, 20), []

    def send():
        with httpx.Client(base_url=client.base_url, timeout=30) as mine:
            statuses.extend(post(mine, report).status_code for report in reports)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [201] * 160
    closed = client.post("/admin/close", headers=ADMIN)
    assert closed.json() == {"open": False, "reports": 20}


def test_closing_and_releasing_by_token(client, tmp_path):
    reports = made_up(PLAN, 10)
    post(client, reports)
    assert client.post("/admin/release", headers=ADMIN).status_code == 409
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
        assert client.post("/admin/close", headers=headers).status_code == 401
        assert client.post("/admin/release", headers=headers).status_code == 401
    assert client.post("/admin/close", headers=ADMIN).status_code == 200
    assert post(client, reports[:2]).status_code == 201
    late = made_up(PLAN, 1, seed=9)
    assert post(client, late).status_code == 410
    assert not client.get("/status").json()["open"]
    file = tmp_path / "release.npz"
    file.write_bytes(client.post("/admin/release", headers=ADMIN).content)
    release = dpcov.Release.load(file)
    assert np.array_equal(release.matrix, released(PLAN, reports).matrix)
    assert release.provenance.collected.final


def test_the_count_is_public_only_if_the_plan_says_so(tmp_path, client):
    post(client, made_up(PLAN, 4))
    assert client.get("/status").json() == {
        "plan": PLAN.id,
        "open": True,
        "reports": 4,
        "minimum": 3,
        "simulated": False,
    }
    assert "dpcov_reports_accepted_total 4.0" in client.get("/metrics").text
    with serving(str(tmp_path / "secret"), SECRET) as other:
        post(other, made_up(SECRET, 4))
        assert other.get("/status").json()["reports"] is None
        assert other.get("/status", headers=ADMIN).json()["reports"] == 4
        assert other.get("/metrics").status_code == 401
        assert "dpcov_commit_seconds" in other.get("/metrics", headers=ADMIN).text


def malformed(report):
    yield "empty", b""
    yield "one byte", b"\x01"
    yield "too short", report[:-1]
    yield "too long", report + b"x"
    yield "version", b"\x02" + report[1:]
    yield "kind", report[:1] + b"\x07" + report[2:]
    yield "other kind", report[:1] + b"\x02" + report[2:]
    yield "simulated", report[:1] + b"\x81" + report[2:]
    yield "plan", report[:5] + b"\x00\x00" + report[7:]
    yield "one wrong of two", report + b"\x02" + report[1:]
    yield "text", b"age=41&name=Anna+Schmidt" + b" " * 26


def test_what_is_malformed_gets_a_reason_and_no_echo(folder_client):
    report = made_up(PLAN, 1)[0].tobytes()
    for what, body in malformed(report):
        answer = folder_client.post("/reports", content=body, headers=BINARY)
        assert answer.status_code in (400, 422), what
        assert set(answer.json()) == {"error"}
        assert b"Anna" not in answer.content
    said = {
        folder_client.post("/reports", content=report, headers=headers).status_code
        for headers in ({}, {"Content-Type": "text/plain"}, BINARY | {"Content-Encoding": "gzip"})
    }
    assert said == {415}
    assert folder_client.get("/reports").status_code == 405
    missing = folder_client.get("/Anna-Schmidt")
    assert missing.status_code == 404
    assert b"Anna" not in missing.content
    assert folder_client.get("/status").json()["reports"] == 0


def test_mutated_bytes_never_break_the_server(folder_client):
    rng = np.random.default_rng(5)
    report = made_up(PLAN, 1)[0]
    for _ in range(300):
        body = bytearray(report.tobytes())
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(0, 18))
            match rng.integers(3):
                case 0:
                    body[place] ^= 1 << int(rng.integers(8))
                case 1:
                    del body[place : place + int(rng.integers(1, 9))]
                case 2:
                    body[place:place] = rng.bytes(int(rng.integers(1, 60)))
        answer = folder_client.post("/reports", content=bytes(body), headers=BINARY)
        is_whole = bytes(body) == report.tobytes()
        assert answer.status_code == 201 if is_whole else answer.status_code in (400, 422)
    assert folder_client.get("/healthz").text == "ok"


def raw(client, octets, *, wait=5.0):
    """Send bytes as they are, and return what comes back before the connection ends."""
    with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
        connection.settimeout(wait)
        connection.sendall(octets)
        found = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            while piece := connection.recv(65536):
                found += piece
        return found


@pytest.mark.parametrize(
    "octets",
    [
        b"nonsense\r\n\r\n",
        b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\nContent-Length: 60\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 1000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    ],
)
def test_what_is_no_http_is_turned_away(folder_client, octets):
    answer = raw(folder_client, octets, wait=2.0)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert folder_client.get("/healthz").text == "ok"


def test_a_length_must_be_stated_and_kept_to(folder_client):
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
    chunked = raw(folder_client, head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", wait=2.0)
    assert b" 411 " in chunked
    huge = raw(folder_client, head + b"Content-Length: 99999999999\r\n\r\n", wait=2.0)
    assert b" 413 " in huge


def test_slow_clients_and_open_connections_do_not_stop_it(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcov.collect.service.server._HEADERS_WITHIN", 1.0)
    with serving(str(tmp_path / "c"), PLAN, slowest=1.0) as client:
        place = (client.base_url.host, client.base_url.port)
        silent = [socket.create_connection(place) for _ in range(50)]
        for connection in silent[:25]:
            connection.sendall(b"POST /reports HTTP/1.1\r\nHost: x\r\n")
        for connection in silent[25:40]:
            connection.sendall(
                b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
                b"Content-Length: 50\r\n\r\nslow"
            )
        begun = time.monotonic()
        assert post(client, made_up(PLAN, 1)).status_code == 201
        assert time.monotonic() - begun < 5
        ends = []
        for connection in silent:
            connection.settimeout(20)
            with contextlib.suppress(ConnectionError):
                ends.append(connection.recv(100))
            connection.close()
        assert all(end == b"" or b" 408 " in end for end in ends)
        assert sum(b" 408 " in end for end in ends) == 15


def test_an_address_that_sends_too_much_is_told_to_wait(tmp_path):
    reports = made_up(PLAN, 30)
    with serving(str(tmp_path / "c"), PLAN, rate=0.01, burst=10) as client:
        assert post(client, reports[:10]).status_code == 201
        answer = post(client, reports[10:11])
        assert answer.status_code == 429
        assert int(answer.headers["Retry-After"]) > 10
        assert post(client, reports[10:21]).status_code == 413
        assert post(client, reports, **ADMIN).status_code == 201


def test_more_than_fits_into_memory_is_told_to_come_back(tmp_path):
    reports = made_up(PLAN, 100)
    options = {"largest_upload": 5000, "waiting_bytes": 5000}
    with serving(str(tmp_path / "c"), PLAN, **options) as client:
        place = (client.base_url.host, client.base_url.port)
        with socket.create_connection(place) as slow:
            slow.sendall(
                b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
                b"Content-Length: 5000\r\n\r\n"
            )
            for _ in range(100):
                answer = post(client, reports[:50])
                if answer.status_code != 201:
                    break
                time.sleep(0.02)
            assert answer.status_code == 503
            assert "Retry-After" in answer.headers
        assert client.post("/reports", content=bytes(5050), headers=BINARY).status_code == 413


def test_a_database_that_fails_is_said_and_loses_nothing(tmp_path, monkeypatch):
    reports = made_up(PLAN, 3)
    with serving(str(tmp_path / "c"), PLAN) as client:
        assert post(client, reports[:1]).status_code == 201
        with monkeypatch.context() as patch:
            patch.setattr("dpcov.collect.sqlite_store._count", lambda *_: 1 / 0)
            answer = post(client, reports[1:])
            assert answer.status_code == 503
            assert "Retry-After" in answer.headers
        assert post(client, reports).status_code == 201
    with Collection.open(tmp_path / "c") as collection:
        assert collection.state.reports == 3


def test_every_answer_has_the_headers_and_sets_no_cookie(folder_client):
    for path in ("/", "/plan", "/status", "/page.js", "/nothing"):
        answer = folder_client.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers
        assert "server" not in answer.headers


def test_the_description_names_every_route(folder_client):
    described = folder_client.get("/openapi.json").json()
    assert set(described["paths"]) == {
        *("/plan", "/reports", "/status", "/healthz", "/metrics", "/openapi.json"),
        *("/admin/close", "/admin/release"),
    }
    json.dumps(described)


def test_the_server_does_what_its_description_says(tmp_path):
    pytest.importorskip("schemathesis")
    with serving(str(tmp_path / "c"), PLAN, rate=0) as client:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run"]
        command += [f"{client.base_url}/openapi.json", "--max-examples", "10", "--seed", "1"]
        command += ["--phases", "examples,coverage,fuzzing", "--no-color"]
        # That bytes are a report, no description can say.
        command += ["--exclude-checks", "positive_data_acceptance"]
        found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert found.returncode == 0, found.stdout[-5000:]
        assert client.get("/healthz").text == "ok"


def test_gaussian_reports_are_collected_too(tmp_path):
    reports = made_up(GAUSSIAN, 8)
    with serving(str(tmp_path / "c"), GAUSSIAN) as client:
        assert post(client, reports).status_code == 201
        assert client.get("/status").json()["reports"] is None
    with Collection.open(tmp_path / "c") as collection:
        collection.close()
        found = collection.release()
    assert np.array_equal(found.matrix, released(GAUSSIAN, reports).matrix)


@pytest.mark.parametrize("token", ["short", "with a space in the middle of it", "ü" * 30, 5])
def test_a_weak_token_is_refused(token):
    with pytest.raises(ParameterError, match="token"):
        Settings(database="x", token=token)


def test_without_a_token_there_is_no_administration(tmp_path, monkeypatch):
    monkeypatch.setattr("collect.running.TOKEN", None)
    with serving(str(tmp_path / "c"), PLAIN) as client:
        for given in ("Bearer None", "Bearer", "None"):
            headers = {"Authorization": given}
            assert client.post("/admin/close", headers=headers).status_code == 401
