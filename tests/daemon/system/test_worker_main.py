"""The child's side: the leash, the death signal, the lowest priority."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from middlewatch.daemon.system import worker_main

LEASH = [sys.executable, "-I", "-S", str(Path(worker_main.__file__))]


def ran(code: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", f"from middlewatch.daemon.system.worker_main import *\n{code}"]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("walls", "nicer"), [("", worker_main.NICE), ("notifier", 0)])
def test_the_leash_becomes_the_program_in_a_session_of_its_own(walls: str, nicer: int) -> None:
    code = "import os; print(os.getpid() == os.getsid(0), os.nice(0), os.getppid())"
    argv = [*LEASH, str(os.getpid()), "1024", walls, "0", sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    nice = min(19, os.nice(0) + nicer)
    assert done.stdout.split() == ["True", str(nice), str(os.getpid())], done.stderr


def test_the_leash_of_a_parent_that_is_gone_starts_nothing() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = subprocess.run(
        [*LEASH, str(gone.pid), "1024", "", "0", "echo", "started"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_a_program_that_is_not_there_is_named() -> None:
    argv = [*LEASH, str(os.getpid()), "1024", "", "0", "/no/such/program"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "/no/such/program: No such file or directory\n")


def test_a_child_gets_the_signal_that_it_asked_for() -> None:
    code = """
import os, signal, time
read, write = os.pipe()
ready, told = os.pipe()
parent = os.fork()
if parent == 0:
    middle = os.getpid()
    if os.fork() == 0:
        die_with_parent(middle, signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda *_: (os.write(write, b"TERM"), os._exit(0)))
        os.write(told, b"x")
        while True:
            time.sleep(1)
    os.read(ready, 1)
    os._exit(0)
os.waitpid(parent, 0)
print(os.read(read, 4).decode())
"""
    assert ran(code).stdout == "TERM\n"
    assert signal.SIGKILL in (worker_main.die_with_parent.__defaults__ or ())


def test_the_lowest_priority() -> None:
    done = ran("step_back()\nprint(os.nice(0))")
    assert done.stdout == "19\n", done.stderr
