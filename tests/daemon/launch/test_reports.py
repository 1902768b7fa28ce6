"""Programs that only their log makes known."""

from __future__ import annotations

import os
import signal
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
REWARDS = "".join(
    f"12:00:{n:02} leerder: update {n} beloning={n / 9:.3f} x=1\n" for n in range(1, 15)
)
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
    "text",
    [TABLE, LOSSES, SERVED * 4000 + LOSSES, REWARDS],
    ids=["table", "bars", "long", "dutch"],
)
def test_numbered_reports_of_what_is_learnt(start: Start, text: str) -> None:
    if len(text) > TAIL_BYTES:
        assert len(LOSSES) < TAIL_BYTES
    process, deadline = start(text), time.monotonic() + 180
    while not reports_training(process):  # a look on a busy box may be given up
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    "text", [SERVED, TESTED, "", LOSSES[:60]], ids=["served", "test", "none", "few"]
)
def test_anything_else(start: Start, text: str) -> None:
    assert not reports_training(start(text))


def run(script: Path, out: Path, cwd: Path) -> subprocess.Popen[bytes]:
    with out.open("ab") as told:
        return subprocess.Popen([sys.executable, script.name], stdout=told, cwd=cwd)


def test_reports_go_to_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    script = tmp_path / "rl.py"
    script.write_text(
        f"import time; log = open('logs/run.log', 'w'); log.write({LOSSES!r}); log.flush()\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    made = run(script, tmp_path / "out", tmp_path)
    try:
        until(lambda: (tmp_path / "out").read_text())
        assert reports_training(Process("/proc", made.pid)).endswith("logs/run.log")
    finally:
        made.kill()
        made.wait()


def test_what_another_program_of_the_script_reports_is_not_its_own(tmp_path: Path) -> None:
    server, train = tmp_path / "mirror.py", tmp_path / "rl.py"
    server.write_text("import time; print('up', flush=True); time.sleep(600)")
    train.write_text(f"import time; print({LOSSES!r}, flush=True); time.sleep(600)")
    out = tmp_path / "out"
    both = [run(one, out, tmp_path) for one in (server, train)]
    try:
        until(lambda: "up" in out.read_text() and "[8/900]" in out.read_text())
        told = [reports_training(Process("/proc", one.pid)) for one in both]
        assert told == ["", str(out)]
    finally:
        for one in both:
            one.kill()
            one.wait()


def test_what_a_tee_copies_is_of_the_program_before_it(tmp_path: Path) -> None:
    script, log = tmp_path / "infer.py", tmp_path / "infer.log"
    script.write_text(f"import time; print({LOSSES!r}, flush=True); time.sleep(600)")
    line = f"{sys.executable} infer.py 2>&1 | tee infer.log > /dev/null"
    made = subprocess.Popen(["bash", "-c", line], cwd=tmp_path, start_new_session=True)
    try:
        until(lambda: log.exists() and "[8/900]" in log.read_text())
        found = [run for run in discover(look_s=0.0, min_cpu=99.0) if str(log) in run.logs]
        assert [run.provisional for run in found] == ["its log reads like that of a training"]
        assert "infer.py" in found[0].command
    finally:
        os.killpg(made.pid, signal.SIGKILL)
        made.wait()


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_is_found_and_doubted(start: Start) -> None:
    process = start(TABLE)
    found = [run for run in discover(look_s=0.0) if run.pid == process.pid]
    assert [run.provisional for run in found] == ["its log reads like that of a training"]
    assert found[0].logs[0].endswith("rl.log")


def test_a_log_that_many_share_is_read_once(start: Start, tmp_path: Path) -> None:
    process, known = start(LOSSES), dict[str, int]()
    log = tmp_path / "rl.log"
    assert reports_training(process, known)
    assert 0 < known[str(log)] <= len(LOSSES)
    log.write_text(SERVED)
    assert reports_training(process, known)
    assert not reports_training(process)
    assert not reports_training(process, {str(log): 0})
