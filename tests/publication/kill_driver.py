"""Kills writers of folders and looks at what they left. Prints what it found as JSON.

A process of its own with one thread, so that it may fork.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from functools import partial
from pathlib import Path

from dpcov.errors import FolderError
from dpcov.publication import html
from dpcov.publication.folder import write_folder
from dpcov.publication.folder_files import ALL_FILES
from dpcov.publication.ownership import is_whole
from dpcov.publication.replacement import write_aside
from dpcov.releases import Release
from dpcov.writing import locate_target, reserve

warnings.simplefilter("ignore")
CALLS = ("open", "close", "mkdir", "rename", "unlink", "rmdir", "fsync", "write", "ftruncate")


def in_child(work):
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        except FolderError:
            os._exit(1)
        except BaseException:
            os._exit(9)
    return process


def copy_new(prepared, folder):
    for name in ALL_FILES:
        if (prepared / "new" / name).exists():
            shutil.copy(prepared / "new" / name, folder)


def replace(target, prepared):
    with write_aside(target, force=True) as aside:
        copy_new(prepared, aside.folder)


def state_after(target):
    """Return whether the folder is there, is put there by the next writer, or is lost."""
    if is_whole(target):
        return "there"
    try:
        with write_aside(target):
            return "lost"
    except FolderError:
        return "hidden" if is_whole(target) else "lost"


def die_at_each_call(prepared, place, how):
    """Replace a folder again and again; the process dies at one call later each time."""
    found = {"deaths": 0, "hidden": 0, "lost": []}
    for number in range(1000):
        target = place / str(number) / "survey"
        target.parent.mkdir()
        if how == "replacing":
            shutil.copytree(prepared / "old", target)
        else:
            leave_between_the_renames(target, prepared)
        process = in_child(partial(die_at, number, target, prepared))
        _, status = os.waitpid(process, 0)
        if os.waitstatus_to_exitcode(status) != 77:
            break
        found["deaths"] += 1
        note(found, state_after(target), number)
        shutil.rmtree(target.parent)
    return found


def leave_between_the_renames(target, prepared):
    located = locate_target(target)
    with reserve(located) as held:
        held.keep = True
        shutil.copytree(prepared / "old", located.old(held.token))
        shutil.copytree(prepared / "new", located.aside(held.token))


def die_at(number, target, prepared):
    counted = []

    def deadly(original):
        def call(*arguments, **options):
            counted.append(1)
            if len(counted) == number + 1:
                os._exit(77)
            return original(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))
    replace(target, prepared)


def kill_at_random(prepared, place, times):
    found = {"deaths": 0, "hidden": 0, "lost": []}
    release = Release.load(prepared / "new" / "release.npz")
    estimate = release.estimate()
    # A page takes a second to draw; without it the kills meet all steps alike.
    html.write_card_page = lambda *arguments, **_: Path(arguments[-1]).write_text("page")
    target = place / "survey"
    write_folder(release, estimate, target)
    rename = os.rename

    def rename_slowly(*arguments):  # or no kill would ever come between the two renames
        rename(*arguments)
        time.sleep(0.01)

    def write_forever():
        os.rename = rename_slowly
        while True:
            write_folder(release, estimate, target, force=True)

    for number in range(times):
        process = in_child(write_forever)
        time.sleep(random.uniform(0.0, 0.1))
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        assert os.WIFSIGNALED(status), status
        found["deaths"] += 1
        note(found, state_after(target), number)
        for left in place.glob(".survey.*"):  # or most of the time would go into looking at them
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return found


def note(found, state, number):
    if state == "lost":
        found["lost"].append(number)
    found["hidden"] += state == "hidden"


def many_writers(place, how, prepared=None):
    """Start writers at the same time."""
    target, gate, log = place / "survey", place / "gate", place / "log"
    force = how == "force"
    if force:
        shutil.copytree(prepared / "old", target)

    def write():
        while not gate.exists():
            time.sleep(0.001)
        with write_aside(target, force=force) as aside:
            append(log, "in\n")
            time.sleep(0.02)
            if force:
                copy_new(prepared, aside.folder)
            append(log, "out\n")
            if not force:
                time.sleep(1)  # longer than the others take to be refused

    processes = [in_child(write) for _ in range(8)]
    gate.touch()
    codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    assert set(codes) <= {0, 1}, codes
    if not force:
        return {"let in": codes.count(0), "refused": codes.count(1)}
    lines = log.read_text().split()
    alternating = ["in", "out"] * (len(lines) // 2)
    return {
        "let in": codes.count(0),
        "overlaps": int(lines != alternating),
        "whole": is_whole(target),
    }


def append(log, line):
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(descriptor, line.encode())
    os.close(descriptor)


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    paths = [Path(each) for each in arguments]
    if task == "calls":
        result = die_at_each_call(*paths[:2], arguments[2])
    elif task == "kills":
        result = kill_at_random(*paths[:2], int(arguments[2]))
    else:
        result = many_writers(paths[0], arguments[1], *paths[2:])
    print(json.dumps(result))
