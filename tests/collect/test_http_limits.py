"""What clients without manners cannot do: fill the memory, or keep others out."""

import contextlib
import socket
import threading
import time

import httpx
import pytest

from collect.people import PLAN, made_up
from collect.running import ADMIN, BINARY, TOKEN, Process, free_port, serving
from dpcov.collect.service.rates import Rates

HEAD = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"


@pytest.fixture
def client(tmp_path):
    with serving(str(tmp_path / "c"), PLAN) as client:
        yield client


def connect(client):
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=10)


def takes(client, begin, piece, times):
    """Return how many pieces a server takes before it hangs up."""
    with connect(client) as connection:
        connection.sendall(begin)
        for sent in range(times):
            try:
                connection.sendall(piece)
            except OSError:
                return sent
            time.sleep(0.001)
    return times


def has_ended(connection):
    try:
        for _ in range(50):
            connection.sendall(b"GET /plan HTTP/1.1\r\n")
            time.sleep(0.01)
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET /plan HTTP/1.1\r\nHost: x\r\nX: ", b"a" * 65536),
        (b"GET /plan HTTP/1.1\r\nHost: x\r\n", b"X: " + b"a" * 65531 + b"\r\n"),
        (b"GET /", b"a" * 65536),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: " + b"a" * 65531 + b"\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a" * 65536),
    ],
    ids=["a header", "headers", "a path", "trailers", "a trailer"],
)
def test_headers_without_an_end_are_not_kept_in_memory(client, begin, piece):
    assert takes(client, begin, piece, 400) < 400  # of 26 MB; loopback itself holds some
    assert client.get("/healthz").text == "ok"


def test_many_requests_at_once_on_one_connection_are_not_queued_without_end(client):
    with connect(client) as connection:
        connection.settimeout(3)
        found = b""
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /plan HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)
            while piece := connection.recv(1 << 20):
                found += piece
    assert found.count(b"HTTP/1.1 200") < 2000
    assert client.get("/healthz").text == "ok"


def test_a_few_requests_at_once_on_one_connection_are_answered(client):
    with connect(client) as connection:
        connection.settimeout(2)
        connection.sendall(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
        found = b""
        with contextlib.suppress(TimeoutError):
            while piece := connection.recv(1 << 20):
                found += piece
    assert found.count(b"HTTP/1.1 200") == 10


def test_a_client_that_reads_no_answer_is_hung_up_on(client, monkeypatch):
    monkeypatch.setattr("dpcov.collect.service.server._ANSWER_WITHIN", 0.5)
    monkeypatch.setattr("dpcov.collect.service.server._MOST_IN_LINE", 1 << 30)
    with connect(client) as connection:
        connection.sendall(b"GET /page.js HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)  # 30 MB
        time.sleep(1.5)
        assert has_ended(connection)


def test_lengths_that_are_stated_and_never_sent_keep_nobody_out(client):
    promising = []
    try:
        for _ in range(12):  # more than 64 MiB in all
            promising.append(connect(client))
            promising[-1].sendall(HEAD + b"Content-Length: 8388600\r\n\r\n")
        time.sleep(0.3)
        answer = client.post("/reports", content=made_up(PLAN, 1).tobytes(), headers=BINARY)
        assert answer.status_code == 201
        answers = [connection.recv(100) for connection in promising]
        assert all(b" 413 " in said for said in answers)
    finally:
        for connection in promising:
            connection.close()


def test_asking_how_it_goes_does_not_hold_up_reports(tmp_path, monkeypatch):
    asked = []

    def slowly(self):
        asked.append(1)
        time.sleep(0.2)

    monkeypatch.setattr("dpcov.collect.Collection.check_writable", slowly)
    with serving(str(tmp_path / "c"), PLAN) as client:
        many = [
            threading.Thread(target=lambda: client.get("/healthz", timeout=60)) for _ in range(40)
        ]
        for thread in many:
            thread.start()
        begun = time.monotonic()
        answer = client.post("/reports", content=made_up(PLAN, 1).tobytes(), headers=BINARY)
        waited = time.monotonic() - begun
        for thread in many:
            thread.join()
    assert answer.status_code == 201
    assert waited < 2
    assert len(asked) < 10


def test_headers_do_not_change_who_somebody_is(tmp_path):
    reports = made_up(PLAN, 30)
    with serving(str(tmp_path / "c"), PLAN, rate=0.01, burst=10) as client:

        def send(part, **headers):
            content = reports[part].tobytes()
            return client.post("/reports", content=content, headers=BINARY | headers).status_code

        assert send(slice(0, 10)) == 201
        for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host", "Client-IP"):
            assert send(slice(10, 11), **{name: "203.0.113.9"}) == 429
        assert send(slice(10, 11), Authorization="Bearer wrong") == 429
        assert send(slice(10, 11), **ADMIN) == 201


def test_people_behind_ipv4_are_told_apart_however_their_address_is_written():
    rates = Rates(0.01, 10)
    assert rates.wait("::ffff:192.0.2.1", 10, 0.0) == 0
    assert rates.wait("::ffff:192.0.2.2", 10, 0.0) == 0
    assert rates.wait("192.0.2.1", 1, 0.0) > 0
    assert rates.wait("2001:db8::1", 10, 0.0) == 0
    assert rates.wait("2001:db8::ffff:2", 1, 0.0) > 0


def test_rates_forget_whom_they_need_not_know():
    rates = Rates(1.0, 10)
    for place in range(100):
        assert rates.wait(f"192.0.2.{place}", 1, 0.0) == 0
    assert len(rates._debts) == 100
    assert rates.wait("198.51.100.1", 1, 2.0) == 0
    assert len(rates._debts) == 1


def test_a_part_of_the_token_is_not_enough(client):
    for given in (TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN[:5]):
        for path in ("/admin/close", "/admin/release"):
            answer = client.post(path, headers={"Authorization": f"Bearer {given}"})
            assert answer.status_code == 401
    assert client.get("/status").json()["open"]


def test_a_server_says_nothing_about_requests(tmp_path):
    plan_file, address = tmp_path / "plan.json", str(tmp_path / "c")
    plan_file.write_text(PLAN.to_json())
    server = Process(address, plan_file, free_port())
    server.wait_until_up()
    report = made_up(PLAN, 1)[0].tobytes()
    for content in (report, b"Anna" + report[4:], b"Anna"):
        httpx.post(f"{server.url}/reports", content=content, headers=BINARY)
    agent = {"User-Agent": "Anna/1.0", "X-Forwarded-For": "203.0.113.9"}
    httpx.get(f"{server.url}/Anna?name=Anna", headers=agent)
    httpx.get(f"{server.url}/plan", headers=agent | {"Connection": "upgrade", "Upgrade": "Anna"})
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as raw:
        raw.sendall(b"Anna\r\n\r\n")
        raw.recv(100)
    said = server.end_and_read()
    for word in (b"Anna", b"203.0.113", b"127.0.0.1", b"POST", b"GET", b"/reports", b"/plan"):
        assert word not in said


def test_closing_is_said_at_once_though_the_state_was_asked_before(client):
    client.post("/reports", content=made_up(PLAN, 2).tobytes(), headers=BINARY)
    assert client.get("/status").json()["open"]
    client.post("/reports", content=made_up(PLAN, 3, seed=1).tobytes(), headers=BINARY)
    assert client.post("/admin/close", headers=ADMIN).json() == {"open": False, "reports": 5}
    assert not client.get("/status").json()["open"]


def test_room_is_given_back_when_uploads_end_however_they_do(tmp_path):
    options = {"largest_upload": 5000, "waiting_bytes": 5000}
    content = made_up(PLAN, 60).tobytes()
    with serving(str(tmp_path / "c"), PLAN, **options) as client:
        for body in (content, b"x" * 3000, content, content):
            answer = client.post("/reports", content=body, headers=BINARY)
            assert answer.status_code in (201, 400)
        with connect(client) as leaving:
            leaving.sendall(HEAD + b"Content-Length: 5000\r\n\r\nx")
            time.sleep(0.1)
        for _ in range(100):
            answer = client.post("/reports", content=content, headers=BINARY)
            if answer.status_code == 201:
                break
            time.sleep(0.02)
        assert answer.status_code == 201
