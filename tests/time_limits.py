"""A limit of time for every process that a test starts and waits for, unless it states its own."""

import multiprocessing
import multiprocessing.process
import subprocess

SECONDS = 900.0


def limit(monkeypatch, seconds=SECONDS):
    """Let nobody wait longer for a process: what `subprocess.run` starts is then killed."""
    wait, communicate = subprocess.Popen.wait, subprocess.Popen.communicate
    join = multiprocessing.process.BaseProcess.join

    def limited_wait(self, timeout=None):
        return wait(self, seconds if timeout is None else timeout)

    def limited_communicate(self, *given, **named):
        if len(given) < 2 and named.get("timeout") is None:
            named["timeout"] = seconds
        return communicate(self, *given, **named)

    def limited_join(self, timeout=None):
        join(self, seconds if timeout is None else timeout)
        if timeout is None and self.is_alive():
            self.kill()
            raise multiprocessing.TimeoutError(f"{self.name} took longer than {seconds:g} s.")

    monkeypatch.setattr(subprocess.Popen, "wait", limited_wait)
    monkeypatch.setattr(subprocess.Popen, "communicate", limited_communicate)
    monkeypatch.setattr(multiprocessing.process.BaseProcess, "join", limited_join)
