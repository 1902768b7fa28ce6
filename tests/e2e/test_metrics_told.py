"""`metrics` and `history` of real runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.system.clock import epoch

from ..fakes.box import Box

Program = Callable[[str], list[str]]


def rows_of(box: Box, run: str, *words: str) -> list[dict[str, Any]]:
    answer = json.loads(box.command("metrics", run, "--json", *words).stdout)
    assert answer["run"] == run
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def test_every_report_with_its_time(box: Box, program: Program) -> None:
    run = box.run(*program("trainer"), "steady", "--steps", "60", "--sleep", "0.05", name="m")
    box.until(lambda: box.status(run)["ended_at"], "its end")
    rows = rows_of(box, run)
    log = (box.state / "runs" / run / "output.log").read_text().splitlines()
    # Each number as the program printed it.
    printed = [(int(w[1].split("/")[0]), float(w[3]), float(w[5])) for w in map(str.split, log)]
    told = [(row["step"], row["values"]["train_loss"], row["values"]["lr"]) for row in rows]
    assert all(one == two for one, two in zip(told, printed, strict=True))
    times = [epoch(row["at"]) for row in rows]
    assert times == sorted(times)
    status = box.status(run)
    assert epoch(status["started_at"]) <= times[0]
    assert times[-1] <= epoch(status["ended_at"]) + 5
    assert [row["step"] for row in rows_of(box, run, "--step", "10:12")] == [10, 11, 12]
    assert [row["step"] for row in rows_of(box, run, "--step", "59:")] == [59, 60]
    assert len(rows_of(box, run, "--since", "1d")) == len(rows)
    text = box.command("metrics", run, "--csv", "--step", "60").stdout
    (line,) = csv.DictReader(io.StringIO(text))
    assert line["step"] == "60"
    assert float(line["train_loss"]) == pytest.approx(printed[-1][1])
    assert "TRAIN_LOSS" in box.command("metrics", run).stdout
    for wrong in (("--step", "b"), ("--step", "9:3"), ("--since", "soon"), ("--csv", "--json")):
        assert box.command("metrics", run, *wrong, check=False).returncode == 2


def test_a_log_that_is_gone_leaves_what_the_daemon_keeps(box: Box, program: Program) -> None:
    run = box.run(*program("trainer"), "steady", "--steps", "40", "--sleep", "0.02", name="m")
    box.until(lambda: box.status(run)["ended_at"], "its end")
    whole = rows_of(box, run)
    Path(box.state / "runs" / run / "output.log").unlink()
    answer = json.loads(box.command("metrics", run, "--json").stdout)
    assert answer["source"] == "daemon"
    assert [row["values"] for row in answer["rows"]] == [row["values"] for row in whole]


def test_a_history_of_two_attempts(box: Box, program: Program) -> None:
    box.configure('[again]\npause_s = 1\n[cost]\nprice_per_hour = 3.6\ncurrency = "$"\n')
    out = str(box.root / "out")
    words = (*program("again"), "preempted", "--out", out)
    run = box.run(*words, name="toy", options=("--checkpoints", out, "--again", "1"))

    def told() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(box.command("history", run, "--json").stdout)
        return found

    box.until(
        lambda: ((told()["again"] or {}).get("decision") or {}).get("state") == "left", "both ends"
    )
    known = told()
    first, second = known["attempts"]
    assert (first["run"], first["attempt"], second["attempt"]) == (run, 1, 2)
    assert [one["ended_by"] for one in known["attempts"]] == ["preempted", "preempted"]
    assert (first["last_step"], second["last_step"]) == (25, 45)
    (row,) = known["lost"]
    assert (row["class"], row["times"]) == ("preempted", 2)
    assert row["steps"] == 10  # saves at 20 and 40, ends at 25 and 45
    assert known["cost"]["amount"] == pytest.approx(first["cost"] + second["cost"], abs=1e-3)
    text = box.command("history", run).stdout
    assert "toy: failed, 2 attempts" in text
    assert "lost by preempted" in text
