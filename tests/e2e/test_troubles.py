"""Real troubles of real processes: what arrives at the phone. A NaN: see test_story."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

Program = Callable[[str], list[str]]


def test_a_traceback(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "20", "--sleep", "0.05", name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "KeyError" in push.title
    one = box.incident("python_exception")
    assert one["run"] == run
    assert any("KeyError" in e["text"] for e in one["evidence"])
    box.until(lambda: box.status(run)["state"] == "failed")
    assert box.status(run)["exit"] == {"code": 1, "signal": None}


def test_kill_9(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(5)
    os.kill(box.status(run)["pid"], signal.SIGKILL)
    box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    one = box.incident("process_killed")
    assert one["run"] == run
    assert one["details"]["signal"] == 9
    assert "SIGKILL" in one["summary"]


def test_exit_0_before_the_last_step(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "early", "--at", "40", "--sleep", "0.02", name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "ended at step 40 of 100000 with exit status 0" in push.title
    one = box.incident("silent_end")
    assert one["run"] == run
    box.until(lambda: box.status(run)["state"] == "failed")


@pytest.mark.slow
def test_a_stopped_process(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", name="gpt")
    box.steps(10)
    pid = box.status(run)["pid"]
    os.kill(pid, signal.SIGSTOP)
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert f"kill -CONT {pid}" in push.body
    one = box.incident("stopped")
    assert any("state T" in e["text"] for e in one["evidence"])
    assert box.status(run)["state"] == "stalled"
    os.kill(pid, signal.SIGCONT)
    box.push(lambda p: p.title.startswith("[RESOLVED] gpt on"))


@pytest.mark.slow
def test_a_deadlock(box: Any, program: Program) -> None:
    box.configure("[sentinels.hang]\nfloor_s = 4\nfew_steps_s = 4\n")
    run = box.run(*program("deadlock"), name="gpt")
    box.steps(20)
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
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
    push = box.push(lambda p: p.title.startswith("[WARNING] gpt on"))
    assert "deleted" in push.title
    one = box.incident("blind")
    assert one["run"] == run
