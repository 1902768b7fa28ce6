"""Context switches of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from middlewatch.daemon.system.switches import switches


def test_a_process_that_sleeps_has_the_same_number() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"],
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        deadline, before = time.monotonic() + 60, None
        while (now := switches(child.pid)) is None or now != before:
            assert time.monotonic() < deadline
            before = now
            time.sleep(0.2)
        mine = switches(os.getpid())
        time.sleep(0.01)
        assert (switches(os.getpid()) or 0) > (mine or 0)
    finally:
        child.kill()
        child.communicate()


def test_one_that_is_gone_has_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert switches(child.pid) is None
