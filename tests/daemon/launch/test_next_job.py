"""What follows a job of a queue, told by real processes of this test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import Rank, RunSpec
from middlewatch.daemon.launch.next_job import next_job
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.processes import Process

PATIENCE_S = 60.0


@contextmanager
def started(folder: Path, script: str, *arguments: str, log: Path) -> Iterator[Process]:
    """A program that we have started, once it runs."""
    (folder / script).parent.mkdir(parents=True, exist_ok=True)
    (folder / script).write_text("import time\ntime.sleep(600)\n")
    argv = [sys.executable, script, *arguments]
    with log.open("ab") as out, subprocess.Popen(argv, cwd=folder, stdout=out) as child:
        deadline = time.monotonic() + PATIENCE_S
        while list(procfs.cmdline(child.pid)) != argv:
            assert time.monotonic() < deadline, "it never began"
            time.sleep(0.01)
        try:
            yield Process("/proc", child.pid)
        finally:
            child.kill()


@pytest.fixture
def earlier(tmp_path: Path) -> RunSpec:
    """A run that this test has started, into ``night.log``."""
    mine = procfs.start_ticks(os.getpid())
    return RunSpec(
        name="night",
        pid=1,
        start_ticks=1,
        command=(sys.executable, "train.py", "--day", "1"),
        cwd=str(tmp_path),
        logs=(str(tmp_path / "night.log"),),
        parent_pid=os.getpid(),
        parent_ticks=mine,
        started_at=5.0,
    )


def test_the_same_program_with_other_arguments(tmp_path: Path, earlier: RunSpec) -> None:
    with started(tmp_path, "train.py", "--day", "2", log=tmp_path / "night.log") as process:
        found = next_job(earlier, process)
        assert found is not None
        assert (found.pid, found.start_ticks) == (process.pid, process.start_ticks)
        assert found.command == process.argv
        assert found.logs == earlier.logs
        assert found.provisional == ""
        assert RunSpec.from_json(found.to_json()) == found


@pytest.mark.parametrize(("script", "log"), [("export.py", "night.log"), ("train.py", "other.log")])
def test_another_program_or_another_log_is_left_to_the_search(
    tmp_path: Path, earlier: RunSpec, script: str, log: str
) -> None:
    with started(tmp_path, script, log=tmp_path / log) as process:
        assert next_job(earlier, process) is None


def test_another_folder_is_another_program(tmp_path: Path, earlier: RunSpec) -> None:
    with started(tmp_path / "b", "train.py", log=tmp_path / "night.log") as process:
        assert next_job(earlier, process) is None


def test_only_what_the_same_shell_starts_after_it(tmp_path: Path, earlier: RunSpec) -> None:
    with started(tmp_path, "train.py", log=tmp_path / "night.log") as process:
        assert next_job(earlier, process) is not None
        for other in (
            replace(earlier, parent_ticks=1),
            replace(earlier, parent_pid=None),
            replace(earlier, start_ticks=process.start_ticks),
            replace(earlier, container="c0ffee"),
            replace(earlier, ranks=(Rank(1, 1, 0), Rank(2, 1, 1))),
        ):
            assert next_job(other, process) is None
