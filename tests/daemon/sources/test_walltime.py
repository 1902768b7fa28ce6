"""Ends that the surroundings of a real process tell."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.sources.walltime import NEVER_S, Walltime, duration
from middlewatch.sentinels.kit import Deadline

SLEEP = [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)"]


@contextlib.contextmanager
def running(command: list[str], **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has come as far as its own code."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **env})
    assert child.stdout is not None
    child.stdout.readline()
    try:
        yield child
    finally:
        child.terminate()
        child.wait(120)
        child.stdout.close()


def read(source: Walltime, now: float, *, but: str = "") -> dict[str, float]:
    """Origin -> end; ``but`` leaves one out (the tests themselves may run under a limit)."""
    found = [seen for seen in source.read(now) if isinstance(seen, Deadline)]
    assert all(seen.at == now for seen in found)
    return {seen.origin: seen.ends_at for seen in found if seen.origin != but}


def test_slurm() -> None:
    with running(SLEEP, SLURM_JOB_END_TIME="1760100000", SLURM_JOB_ID="7") as child:
        source = Walltime(child.pid)
        assert read(source, 1_760_000_000.0, but="timeout") == {
            "SLURM_JOB_END_TIME": 1_760_100_000.0
        }
        assert read(source, 1_760_100_001.0, but="timeout") == {}, "it has passed"
        assert read(source, 1_760_100_000.0 - NEVER_S, but="timeout") == {}, "no limit"


@pytest.mark.parametrize("told", ["", "soon", "-1", "99999999999999", "1e9", "\u0661\u0662"])
def test_what_is_no_time(told: str) -> None:
    with running(SLEEP, SLURM_JOB_END_TIME=told) as child:
        assert read(Walltime(child.pid), 1.0, but="timeout") == {}


@pytest.mark.skipif(shutil.which("timeout") is None, reason="coreutils' timeout is not here")
def test_timeout_among_the_ancestors() -> None:
    began = time.time()
    shell = "timeout -k 9 2h sh -c 'echo $$; sleep 60; :'"
    child = subprocess.Popen(["sh", "-c", f"{shell}; :"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    try:
        ends = [*Walltime(pid)._timeouts(pid, began)]
        assert began - 1 < ends[0] - 7200 < time.time() + 1
        assert read(Walltime(pid), began)["timeout"] == pytest.approx(min(ends), abs=0.1)
    finally:
        os.killpg(os.getpgid(pid), 15)
        child.wait(120)
        child.stdout.close()


def fake(root: Path, pid: int, ppid: int, ticks: int, command: str = "", **env: str) -> None:
    home = root / f"proc/{pid}"
    home.mkdir(parents=True)
    zeros = " ".join(["0"] * 17)
    (home / "stat").write_text(f"{pid} (x) S {ppid} {zeros} {ticks} {' '.join(['0'] * 32)}\n")
    (home / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
    (home / "environ").write_text("".join(f"{k}={v}\0" for k, v in env.items()))


def test_a_session_with_a_known_length(tmp_path: Path) -> None:
    hz = os.sysconf("SC_CLK_TCK")
    fake(tmp_path, 1, 0, 5 * hz)
    fake(tmp_path, 42, 1, 900 * hz, "python train.py", KAGGLE_KERNEL_RUN_TYPE="Batch")
    (tmp_path / "proc/uptime").write_text("1000.00 3000.00\n")
    source = Walltime(42, root=str(tmp_path))
    assert read(source, 1_760_001_000.0) == {"KAGGLE_KERNEL_RUN_TYPE": 1_760_000_005 + 43_200}


def test_the_nearest_of_two_timeouts_and_a_ring_of_parents(tmp_path: Path) -> None:
    hz = os.sysconf("SC_CLK_TCK")
    fake(tmp_path, 40, 41, 0, "/usr/bin/timeout 3h b")
    fake(tmp_path, 41, 42, 0, "timeout 9h a")
    fake(tmp_path, 42, 40, 100 * hz, "python train.py")
    (tmp_path / "proc/uptime").write_text("100.00 300.00\n")
    ends = read(Walltime(42, root=str(tmp_path)), 1_760_000_100.0)
    assert ends == {"timeout": 1_760_000_000 + 3 * 3600}
    (tmp_path / "proc/uptime").write_text("soon\n")
    assert read(Walltime(42, root=str(tmp_path)), 1_760_000_100.0) == {}


def test_what_a_person_told(tmp_path: Path) -> None:
    given_ends = {"[watch] ends_at": 2000.0, "[watch] walltime_s": 3000.0}
    assert read(Walltime(None, given_ends), 1000.0) == given_ends
    assert read(Walltime(None, given_ends), 2500.0) == {"[watch] walltime_s": 3000.0}
    gone = Walltime(42, given_ends, str(tmp_path))
    assert read(gone, 1000.0) == given_ends, "nobody is there"


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("timeout 90 x", 90),
        ("timeout 1.5h x", 5400),
        ("/usr/bin/timeout --signal=INT -k 5m 2d x", 172800),
        ("timeout -s INT --kill-after 9 30m x", 1800),
        ("timeout --foreground -v -- 10s x", 10),
        ("timeout 0 x", None),
        ("timeout inf x", None),
        ("timeout nan x", None),
        ("timeout -3 x", None),
        ("timeout ten x", None),
        ("timeout", None),
        ("timeout -k", None),
        ("python timeout 5", None),
        ("", None),
    ],
)
def test_durations(command: str, seconds: float | None) -> None:
    assert duration(command.split()) == seconds


@given(st.lists(st.text(max_size=6) | st.sampled_from(["timeout", "-k", "--", "5h"]), max_size=5))
def test_any_command_has_a_duration_or_none(words: list[str]) -> None:
    found = duration(["timeout", *words])
    assert found is None or 0 < found < NEVER_S
