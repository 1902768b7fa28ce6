"""Programs that only their log makes known."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.launch.discover import discover
from middlewatch.daemon.launch.reports import TAIL_BYTES, reports_training
from middlewatch.daemon.system.processes import Process

TABLE = "| iter  | ep_rew   | fps    |\n" + "".join(
    f"| {n:<5d} | {0.3 + n * 0.05:<8.3f} | {210 + n:<6.0f} |\n" for n in range(1, 8)
)
LOSSES = "".join(f"[{n}/900] loss={3 / n:.4f} lr=0.001\n" for n in range(1, 9))
SERVED = "".join(f"GET /v1/items/{n} 200 in {n + 3} ms\n" for n in range(40))
TESTED = "test loss 0.31, accuracy 0.91\n"

Start = Callable[[str], Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start ``rl.py``, which writes a text to its log, idles and uses no framework."""
    started: list[subprocess.Popen[bytes]] = []

    def make(text: str) -> Process:
        (tmp_path / "said.txt").write_text(text)
        script = tmp_path / "rl.py"
        script.write_text(
            "import time; print(open('said.txt').read(), end='', flush=True); time.sleep(600)"
        )
        log = tmp_path / "rl.log"
        with log.open("wb") as out:
            made = subprocess.Popen(
                [sys.executable, "rl.py"], stdout=out, stderr=subprocess.DEVNULL, cwd=tmp_path
            )
        started.append(made)
        deadline = time.monotonic() + 180
        while log.stat().st_size < len(text.encode()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return Process("/proc", made.pid)

    yield make
    for made in started:
        made.kill()
        made.wait()


@pytest.mark.parametrize(
    "text", [TABLE, LOSSES, SERVED * 4000 + LOSSES], ids=["table", "bars", "long"]
)
def test_numbered_reports_of_what_is_learnt(start: Start, text: str) -> None:
    if len(text) > TAIL_BYTES:
        assert len(LOSSES) < TAIL_BYTES
    assert reports_training(start(text))


@pytest.mark.parametrize(
    "text", [SERVED, TESTED, "", LOSSES[:60]], ids=["served", "test", "none", "few"]
)
def test_anything_else(start: Start, text: str) -> None:
    assert not reports_training(start(text))


def test_it_is_found_and_doubted(start: Start) -> None:
    process = start(TABLE)
    found = [run for run in discover(look_s=0.0) if run.pid == process.pid]
    assert [run.provisional for run in found] == ["its log reads like that of a training"]
    assert found[0].logs[0].endswith("rl.log")


def test_a_log_that_many_share_is_read_once(start: Start, tmp_path: Path) -> None:
    process, known = start(LOSSES), dict[str, bool]()
    log = tmp_path / "rl.log"
    assert reports_training(process, known)
    assert known == {str(log): True}
    log.write_text(SERVED)
    assert reports_training(process, known)
    assert not reports_training(process)
    assert not reports_training(process, {str(log): False})
