"""A trouble of the box is one incident, whatever number of runs has it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from middlewatch.daemon.judge.incidents import QUIET, Change, Incident, Incidents
from middlewatch.daemon.system import jsonlines
from middlewatch.sentinels.kit import Finding, Severity

CRITICAL, WARNING = Severity.CRITICAL, Severity.WARNING
RUNS = ("a", "b", "c")
CLEARS_S = 60.0


def hot(severity: Severity = WARNING, index: int = 0) -> Finding:
    name = f"gpu{index}"
    return Finding("gpu_slow", severity, f"{name} is too hot", key=name, place=f"gpu:{name}")


def full(mount: str = "/data") -> Finding:
    return Finding("disk_full", CRITICAL, f"{mount} is full", key=mount, place=f"mount:{mount}")


def own(trouble: str, severity: Severity = CRITICAL, **more: object) -> Finding:
    return Finding(trouble, severity, f"{trouble} happened", **more)  # type: ignore[arg-type]


class Desk:
    """A supervisor of three runs; ``users`` of a place, as the daemon tells them."""

    def __init__(self, users: Sequence[str] = RUNS) -> None:
        self.incidents = Incidents(users=lambda place: users)
        self.now = 1000.0

    def say(self, run: str, *said: Finding, after: float = 0.0) -> list[Change]:
        self.now += after
        findings = [(f"rule of {f.trouble}", f) for f in said]
        asked = dict.fromkeys(("rule of gpu_slow", "rule of disk_full"), CLEARS_S)
        changes = self.incidents.update(run, findings, asked, self.now, lambda one, since: "well")
        return [c for c in changes if c.kind not in QUIET]

    def told(self, run: str, *said: Finding, after: float = 0.0) -> list[tuple[str, str]]:
        return [(c.kind, c.incident.trouble) for c in self.say(run, *said, after=after)]

    def restart(self) -> None:
        docs = json.loads(jsonlines.dumps([i.to_json() for i in self.incidents.all()]))
        self.incidents = Incidents((Incident.from_json(doc) for doc in docs), self.incidents.users)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_hot_gpu_of_three_runs_is_told_once(desk: Desk) -> None:
    (change,) = desk.say("a", hot())
    assert (change.incident.run, change.incident.runs) == ("a", ["a", "b", "c"])
    assert desk.say("b", hot()) == desk.say("c", hot(), after=0.1) == []
    for run in RUNS:
        assert desk.incidents.open(run) == [change.incident]
    desk.restart()
    assert desk.say("b", hot(), after=1) == []
    assert len(desk.incidents.all()) == 1


def test_two_gpus_are_two_troubles(desk: Desk) -> None:
    assert desk.told("a", hot(index=0), hot(index=1)) == [("opened", "gpu_slow")] * 2


def test_a_run_that_comes_later_is_added_quietly() -> None:
    desk = Desk(users=("a",))
    desk.say("a", hot())
    assert desk.say("b", hot(), after=3600) == []
    (one,) = desk.incidents.open("b")
    assert one.runs == ["a", "b"]
    assert desk.incidents.open("c") == []


def test_a_worse_finding_of_another_run_is_told(desk: Desk) -> None:
    desk.say("a", hot())
    assert desk.told("b", hot(CRITICAL)) == [("raised", "gpu_slow")]


@pytest.mark.parametrize("trouble", ["loss_nan", "cuda_oom", "process_killed", "python_exception"])
@pytest.mark.parametrize("box", [hot(), full()])
def test_what_happens_to_a_run_is_told_beside_it(desk: Desk, trouble: str, box: Finding) -> None:
    desk.say("a", box)
    for run in RUNS:
        (change,) = desk.say(run, own(trouble), box, after=5)
        assert (change.kind, change.incident.run, change.incident.runs) == ("opened", run, [])
        assert (change.incident.trouble, change.incident.onset) == (trouble, desk.now)
    assert [i.trouble for i in desk.incidents.open()].count(box.trouble) == 1


def test_a_box_that_comes_second_takes_over_no_other_run(desk: Desk) -> None:
    desk.say("b", own("ckpt_write_failed"))
    assert desk.told("a", full(), after=5) == [("opened", "disk_full")]
    assert desk.told("b", own("ckpt_write_failed"), full()) == []
    assert sorted(i.trouble for i in desk.incidents.open("b")) == ["ckpt_write_failed", "disk_full"]


def test_a_slow_run_is_a_symptom_of_its_hot_gpu(desk: Desk) -> None:
    desk.say("a", hot())
    assert desk.say("b", hot(), own("throughput_collapse", WARNING), after=300) == []
    assert len(desk.incidents.all()) == 1


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_end_of_one_run_is_not_that_of_the_others(desk: Desk, order: str) -> None:
    for run in order:
        fatal = run == "b"
        desk.say(run, own("disk_full", key="/data", place="mount:/data", fatal=fatal))
    (one,) = desk.incidents.open("a")
    assert not one.fatal


def test_it_is_over_when_no_run_has_it(desk: Desk) -> None:
    desk.say("a", hot())
    desk.say("b", hot())
    for _ in range(90):  # a has ended, b goes on
        assert desk.say("b", hot(), after=1) == []
    assert desk.say("b", after=CLEARS_S - 1) == []
    (change,) = desk.say("c", after=2)
    assert (change.kind, change.incident.run) == ("resolved", "a")


def test_a_run_that_has_it_no_more_does_not_end_it(desk: Desk) -> None:
    desk.say("a", full())
    for _ in range(100):
        assert desk.say("a", after=1) == []
        assert desk.say("b", full()) == []


def test_alone_it_is_as_any_trouble_of_a_run() -> None:
    desk = Desk(users=("a",))
    desk.say("a", own("ckpt_write_failed"))
    assert desk.told("a", full(), after=5) == [("corrected", "disk_full")]
    error = own("python_exception", details={"exception": "OSError", "message": "No space left"})
    assert desk.told("a", full(), error, after=5) == []
    assert len(desk.incidents.open()) == 1


def test_the_onset_is_that_of_the_finding_that_is_told() -> None:
    desk = Desk(users=())
    (opened,) = desk.say("a", own("throughput_collapse", WARNING))
    assert opened.incident.onset == 1000.0
    (corrected,) = desk.say("a", own("xid"), after=100)
    assert (corrected.incident.opened_at, corrected.incident.onset) == (1000.0, 1100.0)
    other = Desk()
    (change,) = other.say("a", own("disk_full", since=700.0))
    assert (change.incident.opened_at, change.incident.onset) == (1000.0, 700.0)


def test_two_incidents_of_runs_become_one_of_the_box() -> None:
    """Before the mount was full each of them lacked space for its own next save."""
    desk = Desk(users=("a", "b"))
    small = own("disk_full", key="/data")
    desk.say("a", small)
    desk.say("b", small)
    assert desk.say("a", full(), after=300) == []
    assert desk.say("b", full()) == []
    (one,) = desk.incidents.open()
    assert one.runs == ["a", "b"]
