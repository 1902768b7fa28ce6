from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.curve import SHOWN_POINTS
from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.report import facts as report
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.clock import iso
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import (
    CheckpointSeen,
    DiskSample,
    Durability,
    Evidence,
    GpuSample,
    LogGrowth,
    MemorySample,
    ProcessesSeen,
    ProcessSample,
    RunFacts,
    Severity,
    SourceState,
    Step,
)
from middlewatch.sentinels.kit.saves.pattern import LOOKED_AT

NOW = 1_700_000_000.0


def history(planned: float | None = None) -> RunHistory:
    facts = RunFacts("gpt", NOW - 999, NOW - 999, expected_steps=planned)
    return RunHistory(facts, BoxHistory())


def test_an_incident_has_the_shape_of_the_contract() -> None:
    one = Incident(
        "3fa2c1", "gpt-1", "loss_nan", "nan_loss", "k", Severity.CRITICAL, "open", NOW, NOW, "nan",
        evidence=[Evidence("log", "loss nan", NOW)],
    )  # fmt: skip
    shown = report.incident(one, page("loss_nan"))
    assert set(shown) >= {
        "id", "run", "class", "severity", "state", "opened_at", "last_seen_at", "resolved_at",
        "count", "summary", "cause", "evidence", "remedy", "alerted_at",
    }  # fmt: skip
    assert shown["severity"] == "critical"
    assert shown["opened_at"].startswith("2023-11-1")
    assert shown["opened_at"][-6] in "+-"
    assert (shown["resolved_at"], shown["alerted_at"]) == (None, None)
    assert shown["evidence"][0].keys() == {"kind", "text", "at"}
    assert shown["remedy"].keys() == {"id", "first_step", "safe"}
    assert shown["remedy"]["first_step"]


def test_before_the_first_step_nothing_is_known() -> None:
    block = report.now_block(history(), NOW)
    assert {k: v for k, v in block.items() if v} == {}
    assert report.curve(history()) == {"metric": None, "points": []}
    assert report.processes([]) == []


def test_when_it_should_end() -> None:
    run = history(planned=200)
    for number in range(100):
        run.add(Step(NOW + number * 2.0, number, {"train_loss": 1.0}))
    block = report.now_block(run, NOW + 198)
    assert (block["step"], block["total"], block["step_interval_s"]) == (99, 200, 2.0)
    assert block["eta"] == iso(NOW + 198 + 101 * 2.0)


@pytest.mark.parametrize("total", [1e18, float("inf"), float("nan"), 5.0, -3.0])
def test_a_total_that_makes_no_sense_gives_no_eta(total: float) -> None:
    run = history()
    for number in range(10, 20):
        run.add(Step(NOW + number, number, {"train_loss": 1.0}, total=total))
    assert report.now_block(run, NOW)["eta"] is None


@given(
    st.lists(
        st.builds(
            Step,
            at=st.floats(0, 4e9),
            number=st.floats(allow_nan=True),
            values=st.dictionaries(st.text(max_size=5), st.floats(), max_size=3),
            epoch=st.none() | st.floats(),
            total=st.none() | st.floats(),
        ),
        max_size=12,
    )
)
def test_whatever_a_log_claims_can_be_reported(steps: list[Step]) -> None:
    run = history()
    for one in steps:
        run.add(one)
    json.loads(jsonlines.dumps([report.now_block(run, NOW), report.curve(run)]))


def test_a_long_curve_is_shown_by_its_newest_points() -> None:
    run = history()
    for number in range(460):
        run.add(Step(NOW + number, number, {"train_loss": float(number)}))
    points = report.curve(run)["points"]
    assert len(points) <= SHOWN_POINTS
    assert points[-1] == [459, 459.0]


def test_cpu_of_the_last_seconds() -> None:
    def look(at: float, cpu_s: float, ticks: int = 1) -> ProcessesSeen:
        return ProcessesSeen(at, (ProcessSample(7, ticks, 1, "python", "R", cpu_s),))

    looks = [look(NOW, 0.0), look(NOW + 60, 10.0), look(NOW + 65, 12.5)]
    assert report.processes(looks)[0]["cpu_ratio"] == 0.5
    assert report.processes(looks[-1:])[0]["cpu_ratio"] is None
    assert report.processes([looks[1], look(NOW + 65, 1.0, ticks=2)])[0]["cpu_ratio"] is None


def saved(step: int, size: int, files: int = 10, path: str = "/data/out") -> CheckpointSeen:
    at = NOW - 1000 + step
    return CheckpointSeen(at, f"{path}/{step}", at, size, files, "torch", step, state="ok")


def test_how_many_saves_are_left_on_the_disk_that_holds_them() -> None:
    box = BoxHistory()
    for mount in ("/", "/data"):
        box.add(DiskSample(NOW - 5, mount, "ext4", 10**9, 1000, 900, 25, holds=("checkpoints",)))
    disks = report.box(box, None, lambda mount: [saved(2, 100), saved(1, 100)], NOW)["disks"]
    assert [(d["mount"], d["saves_left"]) for d in disks] == [("/", None), ("/data", 2.5)]
    assert disks[0]["age_s"] == 5.0


def test_of_thousands_of_saves_only_the_newest_are_looked_at() -> None:
    box = BoxHistory()
    box.add(DiskSample(NOW, "/data", "ext4", 10**9, 1000, 900, 25, holds=("checkpoints",)))
    looked: list[int] = []

    def newest_first(mount: str) -> Iterator[CheckpointSeen]:
        for step in range(15_000, 0, -1):
            looked.append(step)
            yield saved(step, 500)

    assert report.box(box, None, newest_first, NOW)["disks"][0]["saves_left"] == 2.0
    assert len(looked) == LOOKED_AT


def test_gpus_and_memory() -> None:
    box = BoxHistory()
    for index in (1, 0):
        box.add(GpuSample(NOW, index, name="H100", util_ratio=None, lost=index == 1))
    memory = MemorySample(NOW, "/", None, 5, 4, None)
    shown = report.box(box, memory, lambda mount: (), NOW)
    assert [(g["index"], g["lost"], g["util_ratio"]) for g in shown["gpus"]] == [
        (0, False, None),
        (1, True, None),
    ]
    assert (shown["memory"]["limit_bytes"], shown["memory"]["oom_kills"]) == (None, None)
    json.loads(jsonlines.dumps(shown))


def test_what_one_would_resume_from() -> None:
    known = [saved(1, 100), saved(2, 100)]
    index: dict[str, Any] = {"latest": known[1].path, "best": None, "resume_from": known[0].path}
    shown = report.checkpoints(known, index)
    assert (shown["count"], shown["latest"]["step"], shown["resume_from"]) == (2, 2, known[0].path)
    assert shown["durability"] is None  # nobody looked
    assert report.checkpoints((), {})["latest"] is None
    place = Durability(True, False, "volume disk of the Pod")
    known[0] = dataclasses.replace(known[0], durability=place)
    assert report.checkpoints(known, index)["durability"] == {
        "survives_stop": True,
        "survives_destroy": False,
        "where": "volume disk of the Pod",
        "better": "",
        "text": "survives a stop, not a destroy: volume disk of the Pod",
    }


def test_logs_and_how_they_stand() -> None:
    run = history()
    spec = RunSpec(name="gpt", logs=("/a.log", "/b.log"))
    run.add(LogGrowth(NOW, "/a.log", 8192, 10, NOW, chunk_bytes=8192))
    run.add(SourceState(NOW, "log_tail:/a.log", "impaired", NOW, "it was deleted"))
    one, other = report.logs(run, spec)
    assert (one["state"], one["detail"], one["buffered"]) == ("impaired", "it was deleted", True)
    assert (other["state"], other["bytes"], other["buffered"]) == ("starting", None, False)


def test_the_pace_over_the_newest_reports() -> None:
    run = history()
    run.step_times.clear()
    assert report.paces(run) == []
    for second in range(512):  # twice as fast in its second half
        run.step_times.append((NOW + second, float(second + max(0, second - 255))))
    found = report.paces(run)
    assert 50 < len(found) <= report.PACES
    assert [pace for _, pace in found[:20]] == [1.0] * 20
    assert [pace for _, pace in found[-20:]] == [2.0] * 20
    assert found[-1][0] == run.step_times[-1][1]
    run.step_times.append((NOW + 600, 0.0))  # started again: no pace backwards
    assert min(pace for _, pace in report.paces(run)) >= 0.0
