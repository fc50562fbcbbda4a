"""A server that is killed at any moment loses no accepted report and counts none twice.

`DPCOV_TEST_FAULTS=1` kills it two hundred times.
"""

import os
import threading
import time

import httpx
import numpy as np

from collect.people import PLAN, made_up, released
from collect.running import BINARY, Process, free_port
from dpcov.collect import Collection

KILLS = 200 if os.environ.get("DPCOV_TEST_FAULTS") else 3
CLIENTS = 4


class Client(threading.Thread):
    """Sends reports one after the other, each until the server has it."""

    def __init__(self, url, reports):
        super().__init__(daemon=True)  # a test that fails does not wait for it
        self.url, self.left, self.accepted = url, list(reports), []
        self.answers = set()

    def run(self):
        while self.left:
            try:
                with httpx.Client(base_url=self.url, timeout=10) as client:
                    while self.left:
                        body = self.left[0].tobytes()
                        answer = client.post("/reports", content=body, headers=BINARY)
                        self.answers.add(answer.status_code)
                        if answer.status_code == 201:
                            self.accepted.append(self.left.pop(0))
            except httpx.HTTPError:  # noqa: PERF203
                time.sleep(0.02)


def test_a_killed_server_loses_nothing_and_counts_nothing_twice(tmp_path, address):
    rng = np.random.default_rng(KILLS)
    plan_file, port = tmp_path / "plan.json", free_port()
    plan_file.write_text(PLAN.to_json())
    reports = made_up(PLAN, 60 * CLIENTS * KILLS)
    server = Process(address, plan_file, port)
    server.wait_until_up()
    clients = [Client(server.url, part) for part in np.array_split(reports, CLIENTS)]
    for client in clients:
        client.start()
    for _ in range(KILLS):
        time.sleep(float(rng.uniform(0.02, 0.3)))
        server.kill()
        accepted = [report for client in clients for report in list(client.accepted)]
        with Collection.open(address) as collection:
            stored = {bytes(row) for table in collection.reports() for row in table}
            assert len(stored) == collection.state.reports
        assert {report.tobytes() for report in accepted} <= stored
        server = Process(address, plan_file, port)
        server.wait_until_up()
    for client in clients:
        client.join()
        assert client.answers <= {201, 503}
    assert server.end() in (0, -15)
    with Collection.open(address) as collection:
        assert collection.state.reports == len(reports)
        collection.close()
        assert np.array_equal(collection.release().matrix, released(PLAN, reports).matrix)
