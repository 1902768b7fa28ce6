from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints import from_log, index, ranking
from middlewatch.daemon.report import index_file
from middlewatch.sentinels.kit import CheckpointSaved, CheckpointSeen, Step
from middlewatch.sentinels.kit.observations import VerifiedState

NOW = 10_000.0


def seen(
    path: str,
    saved_at: float,
    step: float | None = None,
    state: VerifiedState = "ok",
    **metrics: float,
) -> CheckpointSeen:
    level = None if state == "pending" else "structure"
    return CheckpointSeen(
        NOW, path, saved_at, 100, 2, "torch", step, None, state, level, "", metrics
    )


def report(at: float, number: float | None, **values: float) -> Step:
    return Step(at, number, values)


def by_path(built: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["path"]: entry for entry in built["checkpoints"]}


def test_the_shape_of_the_contract() -> None:
    built = index.build(
        "run7",
        [
            replace(seen("/c/a.pt", 100, 10, eval_loss=2.0), digest="xxh3:00"),
            seen("/c/final.pt", 200, 20.5, "pending"),
        ],
        NOW,
    )
    assert built["schema"] == "middlewatch/checkpoints/v1"
    assert built["run"] == "run7"
    assert (built["latest"], built["best"]) == ("/c/final.pt", "/c/a.pt")
    assert built["resume_from"] == "/c/a.pt"
    first, second = built["checkpoints"]
    assert first == {
        "path": "/c/a.pt",
        "step": 10,
        "step_origin": "checkpoint",
        "epoch": None,
        "saved_at": first["saved_at"],
        "bytes": 100,
        "files": 2,
        "format": "torch",
        "metrics": {"eval_loss": 2},
        "tags": ["best"],
        "verified": {
            "state": "ok",
            "level": "structure",
            "at": first["verified"]["at"],
            "detail": "",
        },
        "metrics_origin": "checkpoint",
        "parts": [],
        "part_of": None,
        "durability": None,
        "digest": "xxh3:00",
    }
    assert second["step"] == 20.5
    assert second["tags"] == ["latest", "milestone"]
    assert second["verified"]["at"] is None
    assert second["digest"] is None


def test_an_empty_index() -> None:
    built = index.build("r", [], NOW)
    assert built["checkpoints"] == []
    assert (built["latest"], built["best"], built["resume_from"]) == (None, None, None)


def test_resume_from_is_the_newest_sound_one() -> None:
    built = index.build(
        "r",
        [
            seen("/a", 1, 100),
            seen("/b", 2, 200),
            seen("/c", 3, 300, "corrupt"),
            seen("/d", 4, 400, "incomplete"),
            seen("/e", 5, 500, "unverifiable"),
        ],
        NOW,
    )
    assert (built["latest"], built["resume_from"]) == ("/e", "/b")


def test_a_stale_higher_step_of_an_older_run_is_not_newest() -> None:
    both = [seen("/old-9000", 50, 9000), seen("/new-200", 150, 200), seen("/new-100", 120, 100)]
    assert index.build("r", both, NOW)["latest"] == "/old-9000"
    built = index.build("r", both, NOW, started_at=100)
    assert (built["latest"], built["resume_from"]) == ("/new-200", "/new-200")
    assert [e["path"] for e in built["checkpoints"]] == ["/old-9000", "/new-100", "/new-200"]


def test_one_without_a_step_stands_where_its_time_puts_it() -> None:
    ordered = ranking.in_order([seen("/b", 2), seen("/a", 1, 100), seen("/c", 3, 200)])
    assert [c.path for c in ordered] == ["/a", "/b", "/c"]


def test_the_best_one() -> None:
    rated = [
        seen("/a", 1, 1, eval_loss=2.0, train_loss=0.1),
        seen("/b", 2, 2, eval_loss=1.0),
        seen("/c", 3, 3, eval_loss=math.nan),
        seen("/d", 4, 4, eval_loss=1.0),
        seen("/e", 5, 5, "corrupt", eval_loss=0.5),
        seen("/f", 6, 6, train_loss=0.01),
    ]
    assert index.build("r", rated, NOW)["best"] == "/d"
    told = ranking.RankingRules("perplexity")
    assert index.build("r", rated, NOW, rules=told)["best"] == "/f"
    assert index.build("r", rated[4:5], NOW)["best"] is None


def test_metrics_come_from_the_log_by_step() -> None:
    steps = [
        report(10, 100, train_loss=3.0, lr=1.0),
        report(11, 100, eval_loss=2.5),
        report(20, 200, train_loss=2.0),
        report(30, 300, train_loss=1.0, eval_loss=0.5),
    ]
    saved = [seen("/100", 12, 100), seen("/200", 21, 200), seen("/own", 31, 300, eval_loss=0.4)]
    entries = by_path(index.build("r", saved, NOW, steps=steps))
    assert entries["/100"]["metrics"] == {"train_loss": 3, "lr": 1, "eval_loss": 2.5}
    assert entries["/200"]["metrics"] == {"train_loss": 2, "lr": 1}, "an old evaluation is not its"
    assert entries["/own"]["metrics"]["eval_loss"] == 0.4
    assert [entries[p]["metrics_origin"] for p in ("/100", "/200", "/own")] == [
        "log",
        "log",
        "both",
    ]


def test_metrics_of_a_log_read_in_one_go() -> None:
    steps = [report(5000, 100, train_loss=3.0), report(5000, 200, train_loss=2.0)]
    (joined,) = from_log.attach_metrics([seen("/100", 12, 100)], steps, [])
    assert joined.seen.metrics == {"train_loss": 3.0}


def test_steps_that_come_twice_after_a_restart() -> None:
    steps = [report(10, 100, train_loss=9.0), report(5000, 100, train_loss=1.0)]
    old, new = from_log.attach_metrics([seen("/old", 11, 100), seen("/new", 5001, 100)], steps, [])
    assert (old.seen.metrics["train_loss"], new.seen.metrics["train_loss"]) == (9.0, 1.0)


def test_the_step_comes_from_a_claim_or_from_the_last_report() -> None:
    claims = [
        CheckpointSaved(100.0, 40, "out/ckpt.pt"),
        CheckpointSaved(99.0, 41, "elsewhere/ckpt.pt"),
        CheckpointSaved(5000.0, 50, None),
    ]
    steps = [report(90, 39), report(200, 60), report(400, 70)]
    saved = [seen("/x/out/ckpt.pt", 101), seen("/x/other.pt", 300), seen("/x/first.pt", 1)]
    joined = from_log.attach_metrics(saved, steps, claims)
    assert {j.seen.path: j.seen.step for j in joined} == {
        "/x/out/ckpt.pt": 40,
        "/x/other.pt": 60,
        "/x/first.pt": None,
    }


def _plainly(
    save: CheckpointSeen, before: CheckpointSeen | None, steps: list[Step]
) -> dict[str, float]:
    """What the log says about a save, by going through all of it: first what came late, then the rest."""

    def reached(one: Step, saved: CheckpointSeen) -> bool:
        if saved.step is not None and one.number is not None:
            return one.number <= saved.step
        return one.at <= saved.saved_at

    follows = before is not None and (
        None in (before.step, save.step) or (before.step or 0.0) < (save.step or 0.0)
    )
    found: dict[str, float] = {}
    for timely in (False, True):
        for one in sorted(steps, key=lambda s: s.at):
            if not reached(one, save) or (one.at <= save.saved_at + 600.0) is not timely:
                continue
            passed = follows and before is not None and reached(one, before)
            found |= {n: v for n, v in one.values.items() if not (passed and n.startswith("eval_"))}
    return found


few = st.integers(0, 12)


@given(
    st.lists(st.tuples(few, st.none() | few), max_size=6),
    st.lists(
        st.tuples(few, st.none() | few, st.sampled_from(["loss", "lr", "eval_loss"])), max_size=12
    ),
)
def test_what_the_log_says_is_what_going_through_all_of_it_finds(
    saves: list[tuple[int, int | None]], lines: list[tuple[int, int | None, str]]
) -> None:
    steps = [
        report(at * 100.0, number, **{name: float(n)}) for n, (at, number, name) in enumerate(lines)
    ]
    known = [seen(f"/{n:02}", at * 100.0, step) for n, (at, step) in enumerate(saves)]
    before: CheckpointSeen | None = None
    for joined in from_log.attach_metrics(known, steps, []):
        assert joined.seen.metrics == _plainly(joined.seen, before, steps)
        before = joined.seen


anything = st.builds(
    seen,
    st.text(min_size=1),
    st.floats(0, 1e10),
    st.none() | st.floats(),
    st.sampled_from(["ok", "corrupt", "incomplete", "unverifiable", "pending"]),
    eval_loss=st.floats(),
)


@given(st.lists(anything), st.lists(st.builds(report, st.floats(0, 1e10), st.none() | st.floats())))
def test_any_index_is_strict_json(found: list[CheckpointSeen], steps: list[Step]) -> None:
    built = index.build("r", found, NOW, steps=steps, started_at=5e9)
    json.dumps(index_file.strict(built), allow_nan=False)
    states = {e["path"]: e["verified"]["state"] for e in built["checkpoints"]}
    assert built["resume_from"] is None or states[built["resume_from"]] == "ok"
    assert (built["latest"] is None) == (not found)


def test_nan_is_written_as_a_string(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints_index.json"
    index_file.write_index(str(path), {"a": math.nan, "b": [math.inf, -math.inf], "c": 1.5})
    assert json.loads(path.read_text()) == {"a": "nan", "b": ["inf", "-inf"], "c": 1.5}


WRITER = """
import sys
from middlewatch.daemon.report.index_file import write_index
path, number = sys.argv[1], 0
while True:
    number += 1
    entries = [{"path": str(i), "number": number} for i in range(200)]
    write_index(path, {"number": number, "checkpoints": entries})
"""


def test_the_index_is_whole_at_any_instant_also_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints_index.json"
    reads = 0
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
        try:
            while not path.exists():
                assert writer.poll() is None
            for _ in range(200):
                index_now = json.loads(path.read_text())
                assert {e["number"] for e in index_now["checkpoints"]} == {index_now["number"]}
                reads += 1
        finally:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        json.loads(path.read_text())
    assert reads == 600
    index_file.write_index(str(path), {})
    assert os.listdir(tmp_path) == [path.name], "what a killed writer left is swept away"
