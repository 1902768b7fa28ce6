"""Who has started a command again."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.launch.attempts import after_failure
from middlewatch.daemon.system import procfs

KILLED = {"code": None, "signal": 15}


@pytest.fixture
def started() -> Iterator[Callable[..., RunSpec]]:
    """The spec of a run below a living parent with this command line."""
    parents: list[subprocess.Popen[bytes]] = []

    def make(*argv: str) -> RunSpec:
        parent = subprocess.Popen(argv, stdin=subprocess.PIPE)
        parents.append(parent)
        deadline = time.monotonic() + 180
        while not procfs.cmdline(parent.pid)[1:]:  # it has just begun to be this program
            assert time.monotonic() < deadline
        ticks = procfs.start_ticks(parent.pid)
        return RunSpec("gpt", parent_pid=parent.pid, parent_ticks=ticks)

    yield make
    for parent in parents:
        parent.kill()
        parent.communicate()


def test_a_script_has_started_it_again(started: Callable[..., RunSpec]) -> None:
    spec = started("bash", "-c", "read line; :")
    assert after_failure(spec, KILLED, spec)
    assert after_failure(spec, {"code": 1, "signal": None}, spec)
    assert not after_failure(spec, {"code": 0, "signal": None}, spec), "it ended well"
    assert not after_failure(spec, None, spec), "nothing is known"
    assert not after_failure(RunSpec("gpt", parent_pid=1, parent_ticks=1), KILLED, spec)


def test_at_a_shell_it_may_have_been_a_person(started: Callable[..., RunSpec]) -> None:
    spec = started("bash", "--norc")
    assert not after_failure(spec, KILLED, spec)
