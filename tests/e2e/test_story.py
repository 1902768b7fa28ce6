"""One night, as the product is meant: a training goes wrong, its owner is woken once and goes on.

A real training under a real daemon; the phone is a real HTTP server.
"""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

POINTS = [f"{math.sin(n):.3f},{3 * math.sin(n) - 1:.3f}" for n in range(2000)]
BAD = 44
"""The step after this one meets a point that is no number."""


@pytest.mark.slow
def test_a_night(box: Any, program: Callable[[str], list[str]]) -> None:
    points, out = box.root / "points.csv", box.root / "out"
    points.write_text("\n".join([*POINTS[:BAD], "nan,1.0", *POINTS[BAD + 1 :]]))
    run = box.run(
        *program("regression"), str(points), "--out", str(out),
        name="line", options=("--checkpoints", str(out)),
    )  # fmt: skip

    it_is_watched(box, run)
    the_phone_rings_with_proof(box, run)
    the_page_says_the_same(box, run)
    the_saves_of_nan_are_refused(box, run)
    it_rang_once(box)

    its_owner_ends_it(box, run)
    going_on_is_refused_until_something_changed(box, run)
    points.write_text("\n".join(POINTS[:80]))
    second = it_goes_on_from_the_last_good_save(box, run)
    it_finishes(box, second)


def it_is_watched(box: Any, run: str) -> None:
    box.steps(5)
    status = box.status(run)
    assert status["state"] == "running"
    assert status["now"]["total"] == len(POINTS)
    assert "loss" in (box.state / "runs" / run / "output.log").read_text()


def the_phone_rings_with_proof(box: Any, run: str) -> None:
    push = box.push(lambda p: "[CRITICAL] line on" in p.title)
    assert push.kind == "failure"
    assert f"loss is NaN since step {BAD + 1}" in push.title
    assert f"output.log:{BAD + 1}" in push.body, "the line that proves it"
    assert "First step: " in push.body
    assert len(push.body) <= 1000
    incident = box.incident("loss_nan")
    assert incident["run"] == run
    assert incident["alerted_at"] is not None


def the_page_says_the_same(box: Any, run: str) -> None:
    page = box.state / "runs" / run / "training_status.md"
    box.until(lambda: page.read_text().startswith(f"# {run}: failing\n"), "the page")
    assert "loss is NaN" in page.read_text()


def the_saves_of_nan_are_refused(box: Any, run: str) -> None:
    """Whole files, but what is in them is lost."""

    def refused() -> list[dict[str, Any]]:
        saves = box.ask("checkpoints", run=run)["checkpoints"]
        return [s for s in saves if s["verified"]["state"] == "corrupt"]

    bad = box.until(refused, "a save of NaN that is refused")
    assert all(save["step"] > BAD for save in bad)
    assert all(save["verified"]["level"] == "finite" for save in bad)
    box.until(lambda: resume_from(box, run) == 40, "the save before the NaN is named")


def resume_from(box: Any, run: str) -> int:
    """The step of the save to go on from."""
    named = box.ask("checkpoints", run=run)["resume_from"]
    return int(Path(named).stem.removeprefix("step-")) if named else 0


def it_rang_once(box: Any) -> None:
    """The bad saves follow from the NaN: they are told beside it, not by a push of their own."""
    told = "saved after the loss was"
    box.until(
        lambda: [i for i in box.ask("incidents") if any(told in s for s in i["symptoms"])],
        "the bad saves are told with their cause",
    )
    assert len([p.title for p in box.receiver.pushes if "CRITICAL" in p.title]) == 1


def its_owner_ends_it(box: Any, run: str) -> None:
    os.kill(box.status(run)["pid"], signal.SIGTERM)
    box.until(lambda: box.status(run)["ended_at"], "its end")
    assert box.status(run)["state"] == "failed"


def going_on_is_refused_until_something_changed(box: Any, run: str) -> None:
    done = box.command("resume", run, "--exec", check=False)
    assert done.returncode == 4
    assert "loss_nan" in done.stdout + done.stderr
    bad = next((box.root / "out").glob("step-000080*"))
    done = box.command("resume", run, "--from", str(bad), "--exec", "--force", check=False)
    assert done.returncode == 4
    assert "did not pass" in done.stderr


def it_goes_on_from_the_last_good_save(box: Any, run: str) -> str:
    plan = json.loads(box.command("resume", run, "--exec", "--force", "--json").stdout)
    assert plan["checkpoint"]["step"] == 40
    assert plan["command"][-2:] == ["--resume", plan["checkpoint"]["path"]]
    return str(plan["started"]["run"])


def it_finishes(box: Any, run: str) -> None:
    box.until(lambda: box.status(run)["ended_at"], "the end of the second run")
    status = box.status(run)
    assert status["state"] == "finished"
    assert status["exit"] == {"code": 0, "signal": None}
    assert status["now"]["step"] == 80
    lines = (box.state / "runs" / run / "output.log").read_text().splitlines()
    assert lines[0].startswith("step 41/80 loss ")
    assert not any("nan" in line for line in lines)
