"""Kills releases that are charged to a ledger, and lets many of them race. Prints JSON.

A process of its own with one thread, so that it may fork. With the name of a bug at the end, it
does the same with that bug: the tests that use it must then fail.
"""

import json
import os
import random
import signal
import sys
import time
import warnings
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

import dpcov
from dpcov.errors import BudgetError, DpcovError
from dpcov.exact.randomness import RandomStream
from dpcov.ledger.book import Book
from dpcov.ledger.charge import Charge
from dpcov.mechanisms.door import Request
from dpcov.privacy import ApproxDP, Gaussian, gaussian_scale

warnings.simplefilter("ignore")
ROWS = np.random.default_rng(0).normal(size=(50, 3))
WATCHED = (
    "dpcov/ledger/",
    "mechanisms/door.py",
    "mechanisms/covariance.py",
    "mechanisms/strongest_pairs.py",
    "exact/randomness.py",
)
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "allow": {"small"}}
KINDS = (
    partial(dpcov.release, ROWS, **PROMISE, row_norm=4.0),
    partial(dpcov.release, ROWS, **PROMISE),
    partial(dpcov.release_pairs, ROWS, **PROMISE, max_pairs=2),
)
DEAD = 77


def in_child(work):
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(9)
    return process


def code_of(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def new(address, **stated):
    who = {"population": "p", "owner": "o", "epsilon": 3.0, "delta": 1e-6}
    return dpcov.Ledger.create(address, **(who | stated))


def append(log, line):
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def write_words_down(log, request):
    """Note, in a file, whenever random words for noise are about to be seen."""
    read = RandomStream._read

    def noted(self, keystream, count):
        words = read(self, keystream, count)
        if keystream is self._main:
            append(log, f"drawn {request()}")
        return words

    RandomStream._read = noted


def states(ledger):
    with ledger.reading() as pages:
        return {each.request: each.state for each in pages.book.reservations.values()}


def unpaid(ledger, log):
    """Return requests whose noise was drawn and that the ledger does not count."""
    ledger.verify()
    said = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    known = states(ledger)
    spent = {"drawn": ("drawing", "finished"), "got": ("finished",)}
    return [request for word, request in said if known.get(request) not in spent[word]]


# Every line


def die_at_each_line(addresses, place, first, stride, kind):
    """Release again and again; the process dies one watched line later each time."""
    found = {"deaths": 0, "drawn": 0, "unpaid": [], "left": Counter()}
    for number in range(first, 10**6, stride):
        ledger, log = new(addresses()), place / f"log {number}"
        process = in_child(partial(release_and_die, ledger, log, number, KINDS[kind]))
        if code_of(process) != DEAD:
            break
        found["deaths"] += 1
        found["drawn"] += log.exists()
        found["left"][states(ledger).get("spring", "nothing")] += 1
        found["unpaid"] += [number] * bool(unpaid(ledger, log))
        forget(ledger, log)
    return found


def release_and_die(ledger, log, number, release):
    write_words_down(log, lambda: "spring")
    counted = [0]

    def trace(frame, event, argument):
        name = frame.f_code.co_filename
        return count if any(part in name for part in WATCHED) else None

    def count(frame, event, argument):
        if event == "line":
            counted[0] += 1
            if counted[0] > number:
                os._exit(DEAD)
        return count

    sys.settrace(trace)
    release(ledger=ledger, request_id="spring")
    append(log, "got spring")


def forget(ledger, log):
    log.unlink(missing_ok=True)
    if "://" not in ledger.address:
        for file in Path(ledger.address).parent.glob(f"{Path(ledger.address).name}*"):
            file.unlink()


# Random moments


def kill_at_random(addresses, place, times):
    found = {"deaths": 0, "drawn": 0, "unpaid": [], "left": Counter()}
    ledger = None
    longest = 1.5 if addresses.__name__ == "database" else 0.4
    for number in range(times):
        if number % 10 == 0:
            ledger, log = new(addresses(), epsilon=1000.0), place / f"log {number}"
        process = in_child(partial(release_forever, ledger, log, number))
        time.sleep(random.uniform(0.0, longest))
        os.kill(process, signal.SIGKILL)
        code = code_of(process)
        assert code == -signal.SIGKILL, code
        found["deaths"] += 1
        found["unpaid"] += unpaid(ledger, log)
        if number % 10 == 9:
            found["drawn"] += log.read_text().count("drawn") if log.exists() else 0
            found["left"].update(states(ledger).values())
    return found


def release_forever(ledger, log, number):
    current = [""]
    write_words_down(log, lambda: current[0])
    for count in range(10**6):
        current[0] = f"{number}-{count}"
        KINDS[(number + count) % len(KINDS)](ledger=ledger, request_id=current[0])
        append(log, f"got {current[0]}")


# Races


def race(addresses, processes, attempts):
    """Let processes ask for the last of a budget at once."""
    promise = ApproxDP(0.5, 1e-6, "replace")
    event = Gaussian("moments", gaussian_scale(epsilon=0.5, delta=1e-6))
    ledger = new(addresses())
    fits = int(ledger.account().budget * Fraction(event.multiplier) ** 2)
    gate = Path(os.environ["GATE"])
    ask = partial(ask_often, ledger, promise, event, attempts, gate)
    children = [in_child(ask) for _ in range(processes)]
    gate.touch()
    codes = [code_of(child) for child in children]
    found = {"fits": fits, "attempts": processes * attempts, "failed": sum(map(bool, codes))}
    try:
        kinds = Counter(line["kind"] for line in ledger.lines())
        account = ledger.account()
        found |= {"granted": kinds["reservation"], "refused": kinds["refusal"]}
        found["overspent"] = account.cost > account.budget
    except DpcovError as error:  # a ledger that says more than its limit is not read
        found |= {"overspent": True, "said": str(error)}
    return found


def ask_often(ledger, promise, event, attempts, gate):
    while not gate.exists():
        time.sleep(0.001)
    for _ in range(attempts):
        charge = Charge(
            ledger, what="release", promise=promise, complete=True, request_id=None, stated={}
        )
        try:
            charge.reserve([event])
        except BudgetError:
            continue


# Bugs


def charge_after_the_noise():
    reserve, begin, record = Charge.reserve, Charge.begin, Charge.record

    def late(self, file, events, **shape):
        reserve(self, events)
        begin(self)
        record(self, file, events, **shape)

    Charge.begin, Charge.record = lambda self: None, late
    Request.reserve = lambda self, events: None


def check_outside_of_the_transaction():
    check = Book.check

    def reserve(self, events):
        self.events = tuple(events)
        Book.check = check
        with self.ledger.reading() as pages:
            said = self._said(pages)
            refused = self.ledger.try_charge
            pages.book.check(said, self.events)
        time.sleep(random.uniform(0, 0.01))
        Book.check = lambda self, said, events: None
        with self.ledger.writing() as pages:
            self.number = pages.add(
                "reservation",
                what=self.what,
                request=self.request,
                fingerprint=self.fingerprint,
                **said,
            )
        assert refused

    Charge.reserve = reserve


BUGS = {"late": charge_after_the_noise, "outside": check_outside_of_the_transaction}


def fresh_addresses(where):
    """Return a function that gives the address of a new ledger: a file, or a database."""
    counted = [0]

    def file():
        counted[0] += 1
        return str(Path(where) / f"budget {counted[0]}.db")

    def database():
        import psycopg

        counted[0] += 1
        name = f"faults_{os.getpid()}_{counted[0]}"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{where.rpartition('/')[0]}/{name}"

    return database if where.startswith("postgresql") else file


if __name__ == "__main__":
    task, where, folder, *numbers = sys.argv[1:]
    bug = numbers.pop() if numbers[-1] in BUGS else None
    addresses, place = fresh_addresses(where), Path(folder)
    os.environ["GATE"] = str(place / "gate")
    first, second, third = (int(number) for number in (*numbers, "1", "0")[:3])
    # Everything is loaded before the first fork.
    loaded = new(str(place / "first.db"), epsilon=10.0)
    for release in KINDS:
        release(ledger=loaded)
    if bug is not None:
        BUGS[bug]()
    if task == "lines":
        result = die_at_each_line(addresses, place, first, second, third)
    elif task == "kills":
        result = kill_at_random(addresses, place, first)
    else:
        result = race(addresses, first, second)
    print(json.dumps(result))
