"""``alert rules``: an old log played through the rules of the person."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

Say = Callable[..., tuple[int, str, str]]
RULES = """\
[[rule]]
name = "loss-high"
metric = "loss"
above = 9.0
for = "10m"
message = "far too high"

[[rule]]
name = "silent"
metric = "loss"
no_report_for = "20m"
severity = "critical"

[[rule]]
name = "stuck"
state = "stalled"

[[rule]]
name = "no-such"
metric = "eval_loss"
below = 0.5
"""


def course(*, times: bool) -> str:
    """200 reports, 20 s apart; the loss is 12 from step 600 to 1200; a pause of 40 min after 1400."""
    at, lines = datetime(2026, 11, 22, 23, 0, tzinfo=timezone.utc), []
    for step in range(0, 2000, 10):
        head = f"{at:%Y-%m-%d %H:%M:%S} " if times else ""
        loss = 12.0 if 600 <= step <= 1200 else 3.0
        lines.append(f"{head}step {step}/5000 | loss {loss:.3f} | lr 3.0e-04")
        at += timedelta(seconds=20, minutes=40 if step == 1400 else 0)
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text(RULES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def records(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def test_with_the_times_of_the_log(tmp_path: Path, say: Say) -> None:
    (tmp_path / "a.log").write_text(course(times=True), encoding="utf-8")
    status, said, _ = say("alert", "rules", "test", "a.log", "--json")
    assert status == 1
    *changes, end = records(said)
    assert [(c["type"], c["rule"], c["at_s"], c["step"], c["line"]) for c in changes] == [
        ("opened", "loss-high", 1800.0, 900, 91),
        ("opened", "silent", 4000.0, 1400, 141),
        ("resolved", "loss-high", 5220.0, 1410, 142),
        ("resolved", "silent", 5220.0, 1410, 142),
    ]
    assert changes[0]["summary"] == "far too high: loss is 12, above 9 for 10 min"
    assert (end["type"], end["clock"], end["reports"]) == ("end", "log", 200)
    assert [
        (r["name"], r["tried"], r["metric_seen"], r["opened"], r["open"]) for r in end["rules"]
    ] == [
        ("loss-high", True, True, 1, False),
        ("silent", True, True, 1, False),
        ("stuck", False, None, 0, False),
        ("no-such", True, False, 0, False),
    ]


def test_for_a_person(tmp_path: Path, say: Say) -> None:
    with gzip.open(tmp_path / "a.log.gz", "wt", encoding="utf-8") as file:
        file.write(course(times=True))
    status, said, _ = say("alert", "rules", "test", "a.log.gz")
    assert status == 1
    lines = said.splitlines()
    assert lines[0] == "a.log.gz: 200 reports over 1 h 46 min (times of the log)"
    assert lines[1] == (
        "  after 30 min, line 91, step 900: [WARNING] far too high: loss is 12, above 9 for 10 min"
    )
    assert "  after 67 min, line 141, step 1400: [CRITICAL] silent: no loss for 20 min" in lines
    assert "  stuck: not tried, a log does not show the state of a run" in lines
    assert "  no-such: the log has no eval_loss; it has lr, train_loss" in lines


def test_with_times_from_its_steps(tmp_path: Path, say: Say) -> None:
    (tmp_path / "a.log").write_text(course(times=False), encoding="utf-8")
    status, _, complaint = say("alert", "rules", "test", "a.log")
    assert status == 2
    assert "no times in its lines" in complaint
    assert "--step-time" in complaint
    status, said, _ = say("alert", "rules", "test", "--step-time", "2s", "a.log", "--json")
    assert status == 1
    *changes, end = records(said)
    assert end["clock"] == "steps"
    assert [(c["type"], c["rule"], c["at_s"]) for c in changes] == [
        ("opened", "loss-high", 1800.0),
        ("resolved", "loss-high", 3020.0),
    ]


def test_a_log_without_trouble(tmp_path: Path, say: Say) -> None:
    quiet = course(times=True).replace("12.000", "3.000").splitlines()[:141]
    (tmp_path / "a.log").write_text("\n".join(quiet) + "\n", encoding="utf-8")
    status, said, _ = say("alert", "rules", "test", "a.log")
    assert status == 0
    assert "  loss-high: would not have been told" in said.splitlines()


def test_what_is_asked_wrongly(tmp_path: Path, say: Say) -> None:
    assert say("alert", "rules", "test")[0] == 2
    assert say("alert", "rules", "try", "a.log")[0] == 2
    assert say("alert", "rules", "test", "nowhere.log")[0] == 2
    assert say("alert", "test", "json://one", "json://two")[0] == 2
    (tmp_path / "config.toml").write_text("", encoding="utf-8")
    status, _, complaint = say("alert", "rules", "test", "a.log")
    assert status == 2
    assert "has no [[rule]]" in complaint
    assert say("alert", "rules")[1] == "the configuration has no [[rule]]\n"


def test_the_list(say: Say) -> None:
    status, said, _ = say("alert", "rules")
    assert status == 0
    assert "loss-high  warning   loss           above 9 for 10 min" in said
    rows = json.loads(say("alert", "rules", "--json")[1])
    assert [row["name"] for row in rows] == ["loss-high", "silent", "stuck", "no-such"]
