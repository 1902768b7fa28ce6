"""Real troubles of real processes: what arrives at the phone, and how fast."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

Program = Callable[[str], list[str]]


def test_the_loss_turns_nan(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "nan", "--at", "30", "--sleep", "0.2", name="gpt")
    log = box.status(run)["logs"][0]["path"]
    seen: list[float] = []

    def watch_log() -> bool:
        with open(log, encoding="utf-8") as lines:
            if any("loss nan" in line or "loss inf" in line for line in lines):
                seen.append(time.time())
        return bool(seen)

    box.until(watch_log, 30, "a NaN in the log")
    push = box.push(lambda p: "[CRITICAL] gpt on" in p.title, 15)
    # Two logged steps (0.2 s apart) and three seconds.
    assert push.at - seen[0] <= 2 * 0.2 + 3.0
    assert push.kind == "failure"
    assert "loss is" in push.title
    assert "since step 3" in push.title
    assert "output.log:" in push.body
    assert "First step: " in push.body
    assert len(push.body) <= 1000
    one = box.incident("loss_inf") if "infinite" in push.title else box.incident("loss_nan")
    assert one["run"] == run
    assert one["alerted_at"] is not None
    page = (box.state / "runs" / run / "training_status.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {run}: failing\n")


def test_a_traceback(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "20", "--sleep", "0.05", name="gpt")
    log = box.status(run)["logs"][0]["path"]

    def raised() -> bool:
        with open(log, encoding="utf-8") as lines:
            return "KeyError" in lines.read()

    box.until(raised, 20)
    at = time.time()
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), 15)
    assert push.at - at <= 5.0
    assert "KeyError" in push.title
    one = box.incident("python_exception")
    assert one["run"] == run
    assert any("KeyError" in e["text"] for e in one["evidence"])
    box.until(lambda: box.status(run)["state"] == "failed", 15)
    assert box.status(run)["exit"] == {"code": 1, "signal": None}


def test_kill_9(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(5)
    os.kill(box.status(run)["pid"], signal.SIGKILL)
    at = time.time()
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), 15)
    assert push.at - at <= 6.0
    one = box.incident("process_killed")
    assert one["run"] == run
    assert one["details"]["signal"] == 9
    assert "SIGKILL" in one["summary"]


def test_exit_0_before_the_last_step(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "early", "--at", "40", "--sleep", "0.02", name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), 20)
    assert "ended at step 40 of 1000 with exit status 0" in push.title
    one = box.incident("silent_end")
    assert one["run"] == run
    box.until(lambda: box.status(run)["state"] == "failed", 15)


@pytest.mark.slow
def test_a_stopped_process(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(10)
    pid = box.status(run)["pid"]
    os.kill(pid, signal.SIGSTOP)
    at = time.time()
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), 25)
    assert push.at - at <= 16.0  # ten seconds of standing still, and the way to the phone
    assert f"kill -CONT {pid}" in push.body
    one = box.incident("stopped")
    assert any("state T" in e["text"] for e in one["evidence"])
    assert box.status(run)["state"] == "stalled"
    os.kill(pid, signal.SIGCONT)
    box.push(lambda p: p.title.startswith("[RESOLVED] gpt on"), 20)


@pytest.mark.slow
def test_a_deadlock(box: Any, program: Program) -> None:
    box.configure("[sentinels.hang]\nfloor_s = 4\nfew_steps_s = 4\n")
    run = box.run(*program("deadlock"), name="gpt")
    box.steps(20)
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), 40)
    assert "no progress since step 20" in push.title
    one = box.incident("hang")
    assert one["run"] == run
    assert any("0.00 cores" in e["text"] for e in one["evidence"])
    assert one["details"]["verdict"] == "lock"
    stacks = [e["text"] for e in one["evidence"] if e["kind"] == "stack"]
    refused = any("without stacks" in e["text"] for e in one["evidence"])
    assert refused or any("deadlock.py:11" in text for text in stacks)


def test_the_log_is_deleted_under_the_tail(box: Any, program: Program) -> None:
    box.configure("[sentinels.blind]\nfor_s = 2\n")
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(5)
    log = box.status(run)["logs"][0]["path"]
    os.unlink(log)
    # The program goes on writing into the deleted file, and nothing of it is lost.
    before = box.status(run)["now"]["step"]
    box.steps(before + 20)
    assert any("deleted" in note for note in box.status(run)["notes"])
    push = box.push(lambda p: p.title.startswith("[WARNING] gpt on"), 15)
    assert "deleted" in push.title
    one = box.incident("blind")
    assert one["run"] == run


def test_nobody_is_sent_to_a_checkpoint_saved_after_the_nan(box: Any, program: Program) -> None:
    """Whole files, but the weights in them are lost: the one from before is named."""
    out = box.root / "out"
    words = ("nan", "--at", "35", "--save-every", "10", "--size", "4096", "--out", str(out))
    run = box.run(*program("trainer"), *words, options=("--checkpoints", str(out)), name="gpt")
    box.push(lambda p: "[CRITICAL] gpt on" in p.title, 30)
    box.until(lambda: len(box.ask("checkpoints", run=run)["checkpoints"]) >= 6, 30, "six saves")
    time.sleep(6)  # the newest of them are verified as well
    index = box.ask("checkpoints", run=run)
    assert index["resume_from"] == str(out / "step-000030.safetensors")
    later = [c["verified"]["state"] for c in index["checkpoints"] if c["step"] > 40]
    assert "ok" not in later
    assert index["latest"] != index["resume_from"]
