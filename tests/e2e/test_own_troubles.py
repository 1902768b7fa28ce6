"""Several runs on one daemon: every push is about its own run, and the box is told once."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]


class Runs:
    """Runs of one program, each told by its trouble."""

    def __init__(self, box: Any, words: list[str]) -> None:
        self.box = box
        self.words = words
        self.ids: dict[str, str] = {}
        self.began: dict[str, float] = {}

    def out(self, name: str) -> Path:
        folder: Path = self.box.root / "saves" / name
        return folder

    def go(self, name: str) -> Path:
        return self.out(name).with_suffix(".go")

    def start(self, name: str, *more: str) -> None:
        self.out(name).mkdir(parents=True)
        words = (*self.words, name, str(self.out(name)), str(self.go(name)), *more)
        options = ("--checkpoints", str(self.out(name)))
        self.ids[name] = self.box.run(*words, name=name, options=options)

    def saved(self) -> None:
        """Wait until every run has a checkpoint that is verified."""
        for name, run in self.ids.items():
            self.box.until(
                lambda run=run: self.box.ask("checkpoints", run=run)["resume_from"],
                f"a good save of {name}",
            )

    def trouble(self, name: str) -> None:
        """Let it begin."""
        self.began[name] = time.time()
        self.go(name).touch()

    def send(self, name: str, number: int) -> None:
        self.began[name] = time.time()
        os.kill(self.box.status(self.ids[name])["pid"], number)

    def told(self, name: str) -> list[Any]:
        """The pushes whose title names this run."""
        about = re.compile(rf"\] [^:]*\b{name}\b[^:]* on ")
        return [p for p in self.box.receiver.pushes if about.search(p.title)]

    def since(self, push: Any) -> float:
        """The onset of the incident that a push is about, in epoch seconds."""
        assert sum(line.startswith("Since ") for line in push.body.splitlines()) == 1
        (incident,) = re.findall(r"middlewatch explain (\w+)", push.body)
        (one,) = [i for i in self.box.ask("incidents", all=True) if i["id"] == incident]
        return datetime.fromisoformat(one["since"]).timestamp()

    def classes(self, name: str) -> set[str]:
        incidents = self.box.ask("incidents", all=True)
        return {i["class"] for i in incidents if self.ids[name] in i["runs"]}


@pytest.fixture
def runs(box: Any, program: Program) -> Runs:
    return Runs(box, program("twelve"))


@pytest.mark.system
def test_one_fills_its_own_mount_and_others_have_other_troubles(
    mount: Callable[[str], Path], runs: Runs
) -> None:
    box = runs.box
    disk = mount("size=16m,nr_inodes=400")
    runs.start("inodes", str(disk))
    for name in ("key_error", "killed", "stopped", "healthy"):
        runs.start(name)
    runs.saved()
    runs.trouble("inodes")
    box.push(lambda p: "no inodes left" in p.title)
    runs.trouble("key_error")
    runs.send("killed", signal.SIGKILL)
    runs.send("stopped", signal.SIGSTOP)
    for name, words in (
        ("key_error", "KeyError"),
        ("killed", "SIGKILL"),
        ("stopped", "stopped"),
    ):
        push = box.push(lambda p, name=name: f"] {name} on " in p.title, f"the push of {name}")
        assert words in f"{push.title}\n{push.body}", (push.title, push.body)
        assert runs.since(push) >= runs.began[name] - 1.5, "its own onset"
        assert str(runs.out(name)) in push.body, "its own checkpoint"
    time.sleep(5)  # nothing is corrected afterwards
    assert runs.classes("inodes") <= {"inode_exhausted", "disk_full"}
    assert runs.classes("key_error") == {"python_exception"}
    assert runs.classes("killed") == {"process_killed"}
    assert runs.classes("stopped") == {"stopped"}
    assert runs.classes("healthy") == set()
    assert runs.told("healthy") == []
    assert not [p for p in box.receiver.pushes if "CORRECTED" in p.title]


@pytest.mark.system
def test_a_full_mount_of_three_runs_is_told_once(mount: Callable[[str], Path], runs: Runs) -> None:
    box = runs.box
    disk = mount("size=16m")
    runs.start("space", str(disk))
    for name in ("one", "two"):
        runs.start(name, str(disk))
    runs.start("elsewhere")
    runs.saved()
    runs.trouble("space")
    push = box.push(lambda p: "is full" in p.title)
    for name in ("space", "one", "two"):
        assert name in push.body.split("Runs concerned:")[1].splitlines()[0]
    assert "elsewhere" not in push.body
    time.sleep(5)
    assert len([p for p in box.receiver.pushes if "is full" in p.title]) == 1
    assert runs.classes("one") == runs.classes("two") == {"disk_full"}
    assert runs.classes("elsewhere") == set()


def test_a_neighbour_s_busy_gpu_hides_no_hang(runs: Runs, nvml_double: Any) -> None:
    """Its card is at full load and full power all the time; ours has no process that is seen."""
    box = runs.box
    box.configure("[sentinels.hang]\nfloor_s = 10\nfew_steps_s = 10\n")
    box.extra_env.update(nvml_double.env)
    nvml_double.scenario(nvml_double.stored("two_h100"))
    runs.start("deadlock")
    runs.saved()
    runs.trouble("deadlock")
    push = box.push(lambda p: "] deadlock on " in p.title, "the hang")
    assert "no progress" in push.title


@pytest.mark.slow
@pytest.mark.system
def test_twelve_runs_with_twelve_troubles_and_one_of_the_box(
    mount: Callable[[str], Path], runs: Runs, nvml_double: Any
) -> None:
    box = runs.box
    box.extra_env.update(nvml_double.env)
    stored = nvml_double.stored("two_h100")
    nvml_double.scenario(stored)
    own = {"inodes": "size=16m,nr_inodes=400", "space": "size=16m"}
    wanted = {
        "nan": {"loss_nan", "loss_inf"},
        "key_error": {"python_exception"},
        "assertion": {"python_exception"},
        "out_of_memory": {"cuda_oom"},
        "segfault": {"segfault"},
        "deadlock": {"hang"},
        "inodes": {"inode_exhausted"},
        "space": {"disk_full"},
        "killed": {"process_killed"},
        "terminated": {"sigterm_received", "process_killed"},
        "stopped": {"stopped"},
        "healthy": set(),
    }
    for name in wanted:
        runs.start(name, *([str(mount(own[name]))] if name in own else []))
    runs.saved()
    # A busy GPU of its own would be evidence that the deadlocked run works.
    pids = [box.status(run)["pid"] for name, run in runs.ids.items() if name != "deadlock"]
    users = "".join(f" {pid}:100" for pid in pids)
    box.until(lambda: len(box.ask("overview")["box"]["gpus"]) == 2, "two GPUs")
    hot = stored.replace("[gpu 1]", f"procs ={users}\nclock_reasons = 0x40\n[gpu 1]")
    nvml_double.scenario(hot)
    box.push(lambda p: "is too hot" in p.title, "the hot GPU")
    for name in wanted:
        if name in ("killed", "terminated", "stopped"):
            numbers = {"killed": signal.SIGKILL, "terminated": signal.SIGTERM}
            runs.send(name, numbers.get(name, signal.SIGSTOP))
        elif name != "healthy":
            runs.trouble(name)
    for name, classes in wanted.items():
        if not classes:
            continue
        box.until(lambda name=name, c=classes: runs.classes(name) & c, f"the trouble of {name}")
        push = box.push(lambda p, name=name: f"] {name} on " in p.title, f"the push of {name}")
        assert runs.since(push) >= runs.began[name] - 1.5, (name, push.body)
        assert runs.since(push) <= push.at, (name, push.body)
        assert str(runs.out(name)) in push.body, (name, push.body)
        others = [other for other in wanted if other != name]
        assert not [o for o in others if str(runs.out(o)) in push.body], (name, push.body)
    time.sleep(10)
    assert len([p for p in box.receiver.pushes if "is too hot" in p.title]) == 1
    for name, classes in wanted.items():
        assert runs.classes(name) - {"gpu_slow", "throughput_collapse"} <= classes | (
            {"disk_full"} if name == "inodes" else set()
        ), name
        assert len([p for p in runs.told(name) if "CORRECTED" in p.title]) == 0, name
