"""Runs that are started again by themselves: real runs, a real daemon, real pushes."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable
from typing import Any

import pytest

from middlewatch.daemon.launch import next_command

from ..fakes.box import Box, is_alive

Program = Callable[[str], list[str]]
QUICK = "[again]\npause_s = 1\nlongest_pause_s = 2\n"
LIMIT = 2
KILLS = 4


@pytest.fixture
def toy(box: Box, program: Program) -> Callable[..., str]:
    """Starts the toy under ``--again``; returns the id of its first attempt."""
    box.configure(QUICK)

    def begin(*words: str, again: int = LIMIT, options: tuple[str, ...] = ()) -> str:
        box.extra_env["OF_THE_RUN"] = "only its shell has it"
        out = str(box.root / "out")
        options = ("--checkpoints", out, "--again", str(again), *options)
        run = box.run(*program("again"), *words, "--out", out, name="toy", options=options)
        del box.extra_env["OF_THE_RUN"]
        return run

    return begin


def starts(box: Box) -> list[list[str]]:
    """(pid, first step, a variable of the shell) of every start of the toy, as it wrote them itself."""
    path = box.root / "out" / "starts"
    return [line.split(" ", 2) for line in path.read_text().splitlines()] if path.exists() else []


def chain(box: Box) -> list[dict[str, Any]]:
    """The attempts as the daemon knows them, oldest first."""
    return sorted(box.ask("runs"), key=lambda one: str(one["started_at"]))


def left(box: Box) -> dict[str, Any] | None:
    """The newest attempt, once it is left for good."""
    last = chain(box)[-1]
    decision = (last["again"] or {}).get("decision") or {}
    return last if decision.get("state") == "left" else None


def titles(box: Box) -> list[str]:
    """The first word of each push, in the order in which they came, without those about side troubles."""
    return [push.title.partition("]")[0].lstrip("[") for push in box.receiver.pushes]


def test_a_crash_loop_is_one_conversation_that_ends(box: Box, toy: Callable[..., str]) -> None:
    """Each attempt ends at the same step: the second gains nothing, and there is no third."""
    toy("network", "--stuck", "25", again=5)
    last = box.until(lambda: left(box), "that it is left")
    box.until(lambda: "FAILED" in titles(box), "the last push")
    assert [first for _, first, _ in starts(box)] == ["0", "20"]
    assert {variable for *_, variable in starts(box)} == {"only its shell has it"}
    assert [one["attempt"] for one in chain(box)] == [1, 2]
    assert last["again"]["decision"]["why"].startswith("no step was gained: it ended at step 25")
    assert titles(box) == ["CRITICAL", "RESUMING", "FAILED"]
    opened, resumed, gone = box.receiver.pushes
    assert "started again by itself (--again 5)" in opened.body
    assert "attempt 2 of 6" in resumed.title
    assert "after network_error at step 25" in resumed.body
    assert "not started again: no step was gained" in gone.title
    # One incident: the end of the second attempt is a part of the first one's.
    talked = {push.body.rpartition("Incident ")[2].split(":")[0] for push in (opened, resumed)}
    (incident,) = (i for i in box.ask("incidents", all=True) if i["id"] in talked)
    assert incident["run"] == chain(box)[0]["run"]
    box.until(lambda: not box.waiting(), "the end of all supervisors")


def test_attempts_that_gain_steps_go_on_to_the_limit(box: Box, toy: Callable[..., str]) -> None:
    toy("preempted", "--makes", "35")
    last = box.until(lambda: left(box), "that it is left")
    box.until(lambda: "FAILED" in titles(box), "the last push")
    assert [int(first) for _, first, _ in starts(box)] == [0, 30, 60]
    assert last["again"] == {
        "limit": LIMIT,
        "used": LIMIT,
        "decision": last["again"]["decision"],
    }
    assert last["again"]["decision"]["why"].endswith("which is the limit (--again 2)")
    told = titles(box)
    # Told once that it ended; each attempt is announced, and it is told when one gains steps. Of what may
    # be the normal course of a queue the announcement is the first word.
    assert told.count("CRITICAL") <= 1, told
    assert told.count("RESUMING") == LIMIT, told
    assert told.count("FAILED") == 1, told
    assert told.count("RESOLVED") <= LIMIT, told
    assert set(told) <= {"CRITICAL", "RESUMING", "RESOLVED", "FAILED"}


def test_the_loss_is_compared_across_attempts(box: Box, toy: Callable[..., str]) -> None:
    """The second attempt goes on at the right step, with weights that have learnt nothing."""
    toy("preempted", "--forget", "--makes", "150", "--sleep", "0.02", again=1)
    found = box.incident("loss_reset")
    assert found["run"] == chain(box)[-1]["run"] != chain(box)[0]["run"]
    assert found["details"]["missing"] == "weights"


@pytest.mark.parametrize(
    ("mode", "trouble"), [("nan", "loss_nan"), ("mistake", "python_exception")]
)
def test_what_a_retry_does_not_help_is_left(
    box: Box, toy: Callable[..., str], mode: str, trouble: str
) -> None:
    run = toy(mode)
    last = box.until(lambda: left(box), "that it is left")
    box.until(lambda: titles(box), "a push")
    assert last["run"] == run
    assert last["again"]["decision"]["why"].startswith(f"after {trouble} a retry does not help")
    assert len(starts(box)) == 1
    assert "RESUMING" not in titles(box)
    told = "\n".join(push.title + push.body for push in box.receiver.pushes)
    assert "ot started again" in told
    box.until(lambda: not box.waiting(), "the end of its supervisor")


def test_nothing_is_started_again_that_nobody_asked_for(box: Box, toy: Callable[..., str]) -> None:
    toy("preempted", again=0)
    box.until(lambda: chain(box)[-1]["ended_at"], "its end")
    box.until(lambda: titles(box), "the push about it")
    assert chain(box)[-1]["again"] is None
    assert not box.waiting()
    assert "RESUMING" not in titles(box)
    assert len(starts(box)) == 1


def test_a_person_calls_it_off(box: Box, toy: Callable[..., str]) -> None:
    box.configure("[again]\npause_s = 3000\n")
    run = toy("preempted")
    box.until(
        lambda: (chain(box)[-1]["again"]["decision"] or {}).get("state") == "waiting",
        "the decision",
    )
    answer = json.loads(box.command("resume", run, "--again", "0", "--json").stdout)
    assert answer["again"]["decision"]["state"] == "left"
    box.until(lambda: not box.waiting(), "the end of its supervisor")
    assert len(starts(box)) == 1
    done = box.command("resume", run, "--again", "3", check=False)
    assert done.returncode == 4, done.stdout + done.stderr


def test_a_run_that_a_person_ends_stays_ended(box: Box, toy: Callable[..., str]) -> None:
    run = toy("wait")
    box.steps(3, run)
    box.command("end", run, "--yes")
    last = box.until(lambda: left(box), "that it is left")
    assert last["again"]["decision"]["why"] in ("a person ended it", "it finished")
    assert len(starts(box)) == 1


def test_a_tmux_session_is_one_again(
    box: Box, toy: Callable[..., str], terminal: Callable[..., str]
) -> None:
    terminal("-V")
    box.extra_env["TMUX_TMPDIR"] = str(box.root)
    toy("preempted", again=1, options=("--via", "tmux"))
    box.until(lambda: left(box), "that it is left")
    assert [one["home"] for one in chain(box)] == ["tmux", "tmux"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_daemon_that_is_killed_loses_and_doubles_nothing(
    box: Box, toy: Callable[..., str], seed: int
) -> None:
    """``kill -9`` at random moments, most of them between the end of an attempt and the hand-over of the next.
    A daemon needs 8 s in one piece to read the end of a run: it is not killed for ever."""
    chance, kills = random.Random(seed), list(range(KILLS))
    toy("preempted", "--makes", "35", "--sleep", "0.02", again=1)

    def over() -> bool:
        pid = box.ask("ping")["pid"]
        if left(box) is not None:
            return True
        if kills and (chain(box)[-1]["exit"] or chance.random() < 0.2) and chance.random() < 0.1:
            kills.pop()
            os.kill(pid, signal.SIGKILL)
            box.until(lambda: not is_alive(pid), "the end of the daemon")
            box.command("start")
        return False

    box.until(over, "that it is left")
    box.until(lambda: "FAILED" in titles(box), "the last push")
    assert [int(first) for _, first, _ in starts(box)] == [0, 30]
    assert [one["attempt"] for one in chain(box)] == [1, 2]
    told = titles(box)
    assert told.count("RESUMING") == 1, told
    assert told.count("FAILED") == 1, told
    assert told.count("CRITICAL") <= 1, told


@pytest.mark.parametrize("state", ["waiting", "ordered"])
def test_killed_between_the_decision_and_the_act(
    box: Box, toy: Callable[..., str], state: str
) -> None:
    """The two moments that matter, met exactly: decided but not ordered; ordered but not begun."""
    box.configure("[again]\npause_s = 4\n")
    run = toy("preempted", again=1)
    folder = box.state / "runs" / run

    def met() -> bool:
        if state == "waiting":
            return bool((box.docs("again").get(run) or {}).get("state") == state)
        return (folder / next_command.ORDER).exists()

    box.until(met, f"the state {state}")
    pid = box.ask("ping")["pid"]
    os.kill(pid, signal.SIGKILL)
    box.until(lambda: not is_alive(pid), "the end of the daemon")
    box.command("start")
    box.until(lambda: left(box), "that it is left")
    assert [int(first) for _, first, _ in starts(box)] == [0, 20]
    assert [one["attempt"] for one in chain(box)] == [1, 2]
    box.until(lambda: "FAILED" in titles(box), "the last push")
    told = [push for push in box.receiver.pushes if push.title.startswith("[RESUMING]")]
    # a kill between the arrival of a push and its record repeats it, once and word for word
    assert 1 <= len(told) <= 2
    assert len({(push.title, push.body) for push in told}) == 1
