"""Healthy runs that look like trouble: nothing may be pushed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]

HASTY = "[sentinels.hang]\nfloor_s = 3\nfew_steps_s = 3\nevidence_s = 4\n"
"""A watch that is far too quick to suspect: what stays quiet here stays quiet."""


@pytest.mark.slow
def test_an_evaluation_under_a_hasty_watch(box: Any, program: Program) -> None:
    """That the shipped limits are quiet too is shown by the laboratory (row 34b) and the soak."""
    box.configure(HASTY)
    run = box.run(
        # Three times as long as silence may last here, and shorter than work that gets no CPU may.
        *program("trainer"),
        "evaluate",
        "--at",
        "30",
        "--seconds",
        "9",
        "--sleep",
        "0.1",
    )
    box.steps(35, run)
    assert box.receiver.pushes == []
    assert box.ask("incidents", all=True) == []


@pytest.mark.slow
def test_a_long_checkpoint_write(box: Any, program: Program) -> None:
    box.configure(HASTY)
    out = box.root / "out"
    size = 40 << 20
    words = ("slow-save", "--at", "30", "--seconds", "14", "--out", str(out), "--size", str(size))
    run = box.run(*program("trainer"), *words, options=("--checkpoints", str(out)))
    partial = out / "step-000030.safetensors.tmp"
    box.until(lambda: partial.exists() and partial.stat().st_size > size // 2, "half of it")
    assert box.status(run)["checkpoints"]["count"] == 0, "half a checkpoint is none"
    box.steps(35)
    latest = box.until(
        lambda: [
            c for c in box.ask("checkpoints")["checkpoints"] if c["verified"]["state"] == "ok"
        ],
        "the checkpoint",
    )
    assert latest[0]["step"] == 30
    assert box.receiver.pushes == []


def test_block_buffered_output_is_told_on_the_page(box: Any, program: Program) -> None:
    """``python train.py > log`` without -u: the log grows by whole blocks only."""
    box.configure(HASTY)
    box.command("start")
    go, log = box.root / "go", box.root / "train.log"
    # Of a Python program only the first block is a whole number of pages: it has to be seen.
    script = f'while [ ! -e {go} ]; do sleep 0.1; done; exec "$@"'
    words = (*program("trainer"), "none", "--sleep", "0.03", "--steps", "9999")
    with log.open("wb") as out:
        process = box.spawn("/bin/sh", "-c", script, "sh", *words, stdout=out)
    box.command("watch", "--pid", str(process.pid))
    run = box.status()["run"]
    go.touch()

    def told() -> bool:
        page = box.command("status", run, check=False).stdout
        return "stdout is block-buffered" in page

    box.until(told, "the page says it")
    assert box.receiver.pushes == []


def test_a_spike_of_log_lines(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "spike", "--at", "30", "--sleep", "0.05")
    box.steps(60)
    assert box.status(run)["logs"][0]["lines"] > 50_000
    assert box.receiver.pushes == []
    assert box.ask("incidents", all=True) == []


@pytest.mark.parametrize("how", ["create", "copytruncate"])
def test_log_rotation(box: Any, program: Program, how: str) -> None:
    log = box.root / "train.log"
    process = _appending(box, program, log)
    box.command("watch", "--pid", str(process.pid), "--log", str(log))
    box.steps(20)
    if how == "create":
        log.rename(log.with_suffix(".log.1"))
        log.touch()
    else:
        log.with_suffix(".log.1").write_bytes(log.read_bytes())
        os.truncate(log, 0)
    before = box.status()["now"]["step"]
    box.steps(before + 30)
    assert box.status()["state"] == "running"
    assert box.receiver.pushes == []


def _appending(box: Any, program: Program, log: Any) -> subprocess.Popen[bytes]:
    """A trainer whose log is opened anew for every line, as a logging handler would."""
    words = " ".join(program("trainer"))
    script = f'{words} none --sleep 0.05 | while read -r line; do echo "$line" >> {log}; done'
    process: subprocess.Popen[bytes] = box.spawn(
        "/bin/sh", "-c", script, env={"PYTHONUNBUFFERED": "1"}
    )
    return process


def test_the_daemon_restarts_in_the_middle(box: Any, program: Program) -> None:
    """Killed without a word, then started again: nothing is lost, nothing is told twice."""
    run = box.run(*program("trainer"), "none", "--sleep", "0.05", name="gpt")
    box.steps(20)
    log = Path(box.status(run)["logs"][0]["path"])
    os.kill(box.ask("ping")["pid"], signal.SIGKILL)
    unseen = log.stat().st_size + 1000
    box.until(lambda: log.stat().st_size > unseen, "lines that nobody sees")
    box.command("start")
    status = box.until(lambda: box.status(run))
    assert status["state"] == "running"
    before = status["now"]["step"]
    box.steps(before + 40)
    written = log.read_bytes().count(b"\n")
    box.until(lambda: box.status(run)["logs"][0]["lines"] >= written, "every line")
    assert box.status(run)["logs"][0]["lines"] <= log.read_bytes().count(b"\n"), (
        "none of them twice"
    )
    assert box.receiver.pushes == []


def test_a_trouble_is_not_told_again_after_a_restart(box: Any, program: Program) -> None:
    box.run(*program("trainer"), "nan", "--at", "20", "--sleep", "0.1", name="gpt")
    box.push(lambda p: "[CRITICAL] gpt on" in p.title)
    box.until(lambda: box.ask("outbox")[0]["sent_at"], "the answer of the receiver")
    os.kill(box.ask("ping")["pid"], signal.SIGKILL)
    box.command("start")
    seen = box.until(lambda: box.status()["now"]["step"])
    box.steps(seen + 30)
    assert len(box.receiver.pushes) == 1, "\n\n".join(map(str, box.receiver.pushes))
    told = [i for i in box.ask("incidents", all=True) if i["severity"] != "info"]
    assert len(told) == 1


def test_a_run_that_reaches_its_end(box: Any, program: Program) -> None:
    """Told once, as good news; no incident."""
    run = box.run(*program("trainer"), "none", "--steps", "40", "--sleep", "0.02", name="gpt")
    push = box.push(lambda p: p.title.startswith("[FINISHED] gpt on"))
    assert push.kind == "success"
    assert "Last step 40" in push.body
    assert box.status(run)["state"] == "finished"
    assert box.ask("incidents", all=True) == []


def test_the_exit_status_of_a_run_that_ended_while_nobody_watched(
    box: Any, program: Program
) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "30", "--sleep", "0.1", name="gpt")
    box.steps(5)
    os.kill(box.ask("ping")["pid"], signal.SIGKILL)
    exit_file = box.state / "runs" / run / "exit.json"
    box.until(lambda: b"exit_code" in exit_file.read_bytes(), "the supervisor's record")
    box.command("start")
    box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    one = box.incident("python_exception")
    assert one["details"]["exitcode"] == 1
    assert box.status(run)["exit"] == {"code": 1, "signal": None}
