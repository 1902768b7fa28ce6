"""The journal and what is computed from it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.queues.cells import parse
from middlewatch.daemon.queues.journal import Journal
from middlewatch.daemon.queues.plan import Room, Settings
from middlewatch.daemon.queues.roster import MOST_LOST, QueueState
from middlewatch.daemon.queues.surroundings import environment


def cell(name: str, **more: Any) -> dict[str, Any]:
    base = {"digest": "d1", "words": ["x"], "dir": f"/c/{name}", "line": 1, "pins": ""}
    return {"t": "cell", "at": 1.0, "cell": name, **base, **more}


def intent(name: str, run: str, **more: Any) -> dict[str, Any]:
    base = {"digest": "d1", "boot": "b", "exit_file": "/e", "log": "/l", "claim": "/k", "gpus": []}
    return {"t": "intent", "at": 2.0, "cell": name, "run": run, **base, **more}


def started(name: str, run: str) -> dict[str, Any]:
    more = {"pid": 7, "ticks": 8, "supervisor": 9, "supervisor_ticks": 10}
    return {"t": "started", "at": 3.0, "cell": name, "run": run, **more}


def ended(name: str, run: str, code: int | None, signal: int | None = None) -> dict[str, Any]:
    more = {"exit_code": code, "signal": signal, "started_at": 3.0, "ended_at": 4.0}
    return {"t": "ended", "at": 5.0, "cell": name, "run": run, "pid": 7, "ticks": 8, **more}


def lost(name: str, run: str, reboot: bool = False) -> dict[str, Any]:
    return {"t": "lost", "at": 6.0, "cell": name, "run": run, "how": "gone", "reboot": reboot}


def test_the_way_of_a_cell() -> None:
    roster = QueueState()
    seen = []
    for record in (
        cell("a"),
        intent("a", "a-1"),
        {"t": "void", "at": 2.5, "cell": "a", "run": "a-1"},
        intent("a", "a-2"),
        started("a", "a-2"),
        lost("a", "a-2"),
        intent("a", "a-3"),
        started("a", "a-3"),
        ended("a", "a-3", None, 9),
        {"t": "retry", "at": 7.0, "cells": ["a"]},
        intent("a", "a-4"),
        ended("a", "a-4", 0),
        {"t": "retry", "at": 8.0, "cells": ["a"]},
    ):
        roster.take([record])
        seen.append(roster.cells["a"].standing)
    assert seen == [
        *("waiting", "claimed", "waiting", "claimed", "running", "lost", "claimed", "running"),
        *("failed", "waiting", "claimed", "finished", "finished"),
    ]
    assert [attempt.run for attempt in roster.cells["a"].attempts] == ["a-2", "a-3", "a-4"]
    assert roster.cells["a"].how == "exit status 0"
    assert roster.cells["a"].since == 4.0


def test_what_is_lost_again_and_again_has_failed_unless_the_box_was_rebooted() -> None:
    for reboot, standing in ((False, "failed"), (True, "lost")):
        roster = QueueState().take([cell("a")])
        for number in range(MOST_LOST):
            run = f"a-{number}"
            roster.take([intent("a", run), started("a", run), lost("a", run, reboot)])
        assert roster.cells["a"].standing == standing


def test_records_of_another_version_are_passed_over() -> None:
    odd: list[dict[str, Any]] = [
        {"t": "hologram", "at": 1},
        {"t": "started", "at": 1, "cell": "?"},
        {"t": "cell"},
    ]
    assert QueueState().take(
        [*odd, cell("a"), {"t": "intent", "cell": "a", "at": 1}]
    ).cells.keys() == {"a"}


@given(st.integers(0, 10_000))
def test_a_journal_that_was_cut_anywhere_is_read_up_to_there(seed: int) -> None:
    import tempfile

    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = Journal(path)
        written = [journal.add("note", float(n), text=f"{n} 中") for n in range(5)]
        data = path.read_bytes()
        cut = chance.randrange(len(data) + 1)
        path.write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        assert list(Journal(path).news()) == written[:whole]
        more = Journal(path).add("stop", 9.0)
        assert (
            list(Journal(path).news())[: whole + 1]
            in (
                [*written[:whole], more],  # what was cut is no record
                [*written[: whole + 1]],  # only its end of line was missing
            )
        )
        assert list(Journal(path).news())[-1] == more


def test_news_are_told_once_and_those_of_others_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    ours, theirs = Journal(path), Journal(path)
    assert list(ours.news()) == []
    ours.add("go", 1.0, settings={})
    theirs.add("stop", 2.0)
    assert [r["t"] for r in ours.news()] == ["go", "stop"]
    with path.open("ab") as file:
        file.write(b'{"t": "half')
    assert list(ours.news()) == []
    theirs.add("over", 3.0)
    assert [r["t"] for r in ours.news()] == ["over"]
    assert path.stat().st_mode & 0o077 == 0


def test_gpus_are_given_to_one_cell_at_a_time() -> None:
    file = parse("a: x\nb: @gpus=2 x\nc: @gpus=0 x\nd: @gpus=4 x", "/q.txt")
    one, two, none, four = file.cells
    settings = Settings(mode="each-gpu", slots=("0", "GPU-1", "5"))
    roster = QueueState()
    room = Room(settings, roster)
    assert (room.gpus_for(one), room.gpus_for(two), room.gpus_for(none)) == (
        *(("0",), ("0", "GPU-1"), ()),
    )
    assert not room.could_ever(four)
    roster.take([cell("b"), intent("b", "b-1", gpus=["0", "GPU-1"])])
    room = Room(settings, roster)
    assert room.fits(one)
    assert not room.fits(two)
    assert room.gpus_for(one) == ("5",)
    roster.take([started("b", "b-1"), ended("b", "b-1", 0)])
    assert Room(settings, roster).fits(two)
    assert Room(Settings(), roster).gpus_for(two) is None, "a serial queue hands out no GPUs"


def test_settings_come_back() -> None:
    made = Settings(mode="each-gpu", slots=("0",), shard="2/3")
    assert Settings.of(json.loads(json.dumps(made.to_json()))) == made


def test_no_two_cells_share_what_trackers_write() -> None:
    text = "a: x {dir}\nb: @env=WANDB_NAME=mine,MLFLOW_TRACKING_URI=http://h x {dir}\n"
    text = text.replace("mine,", "mine @env=")
    one, two = parse(text, "/w/q.txt").cells
    base = {"WANDB_NAME": "x", "WANDB_RUN_ID": "r", "HOME": "/h", "WANDB_DIR": "/all"}
    first, second = (environment(c, "q", base, ("3",)) for c in (one, two))
    assert first["WANDB_NAME"] == "a"
    assert second["WANDB_NAME"] == "mine"
    for name in ("WANDB_DIR", "MLFLOW_TRACKING_URI", "TENSORBOARD_LOGGING_DIR"):
        assert first[name] != second[name], name
    assert first["WANDB_DIR"] == "/w/q.cells/.trackers/a"
    assert second["MLFLOW_TRACKING_URI"] == "http://h"
    assert "WANDB_RUN_ID" not in first
    assert first["HOME"] == "/h"
    assert first["CUDA_VISIBLE_DEVICES"] == "3"
    assert "CUDA_VISIBLE_DEVICES" not in environment(one, "q", {}, None)
    uri = environment(one, "q", {"MLFLOW_TRACKING_URI": "http://server"}, None)
    assert uri["MLFLOW_TRACKING_URI"] == "http://server"


@pytest.mark.parametrize("name", ["serial", "odd", None])
def test_an_unknown_mode_is_serial(name: str | None) -> None:
    assert Settings.of({"mode": name}).mode == "serial"
