"""Which new processes are worth a search, on a /proc made of files; and a real search."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.sources.newcomers import RESTS, Known, Newcomers
from middlewatch.daemon.sources.programs.finder import answer
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.processes import Process

from ...fakes.clock import FakeClock
from ..launch.test_programs import FakeProc

CHILD = """
import sys
for line in sys.stdin:
    open({asked!r}, "a").write(line)
    print({said!r}, flush=True)
"""


class Box:
    """A source over a made /proc, and a child that writes down what it was asked."""

    def __init__(
        self,
        folder: Path,
        said: list[dict[str, Any]],
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.proc_folder = folder / "proc"
        self.proc_folder.mkdir()
        self.proc = FakeProc(self.proc_folder)
        self.clock = FakeClock()
        self.known = Known((), (), (), ())
        self.taken: list[dict[str, Any]] = []
        self._asked = folder / "asked"
        child = folder / "child.py"
        said_line = json.dumps({"runs": said, **(more or {})})
        child.write_text(CHILD.format(asked=str(self._asked), said=said_line))
        self.source = Newcomers(
            self.clock,
            lambda: self.known,
            self.take,
            "/panes",
            str(self.proc_folder),
            (sys.executable, str(child)),
        )
        self.turn()  # the first search, of what was there before
        self.asked()

    def take(self, runs: list[dict[str, Any]]) -> int:
        self.taken += runs
        return len(runs)

    def turn(self, seconds: float = 0.0) -> None:
        """Let ``seconds`` pass in turns of five, and take the answers."""
        while True:
            self.source.read(self.clock.now())
            if self.source._child.waiting:
                (fd,) = self.source.fds()
                select.select([fd], [], [], 120)
                self.source.ready(fd, self.clock.now())
            if seconds <= 0:
                return
            self.clock.jump(5)
            seconds -= 5

    def asked(self) -> list[dict[str, Any]]:
        """The questions since the last call."""
        if not self._asked.exists():
            return []
        lines = self._asked.read_text().splitlines()
        self._asked.write_text("")
        return [json.loads(line) for line in lines]

    def gone(self, pid: int) -> None:
        shutil.rmtree(self.proc_folder / str(pid))


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = Box(tmp_path, [])
    yield made
    made.source.close()


def test_what_says_that_it_trains_is_asked_about_at_once(box: Box) -> None:
    box.proc.add(50, "python train.py")
    box.turn(10)
    (question,) = box.asked()
    assert question == {"known": [], "gpu_pids": [], "panes": "/panes"}


@pytest.mark.parametrize(
    "line", ["bash queue.sh", "python -m pip install torch", "vim train.py", "python", "sleep 9"]
)
def test_what_is_plainly_no_training_is_never_asked_about(box: Box, line: str) -> None:
    box.proc.add(50, line)
    box.turn(200)
    assert box.asked() == []


def test_other_programs_are_asked_about_ever_more_rarely(box: Box) -> None:
    box.proc.add(50, "python main.py")
    box.turn(5)
    assert box.asked() == []
    box.turn(10)
    assert len(box.asked()) == 1
    box.turn(1000)
    assert 2 <= len(box.asked()) <= 4  # at 30, 90, 300 and 900 s
    box.turn(1800)
    assert len(box.asked()) <= 2


def test_what_lives_for_seconds_is_not_even_looked_at(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def process(root: str, pid: int) -> Process:
        looked.append(pid)
        return Process(root, pid)

    monkeypatch.setattr(f"{Newcomers.__module__}.Process", process)
    for first in range(100, 1000, 100):
        for pid in range(first, first + 100):
            box.proc.add(pid, "python train.py")
        box.turn()
        for pid in range(first, first + 100):
            box.gone(pid)
        box.clock.jump(5)
        box.turn()
    assert looked == []
    assert box.asked() == []


def test_a_box_that_starts_trainings_all_day_is_not_searched_all_day(box: Box) -> None:
    for pid in range(100, 820):  # an hour of programs that live for ten seconds
        box.proc.add(pid, "python train.py --fold 1")
        if pid >= 103:
            box.gone(pid - 3)
        box.turn(5)
    assert len(box.asked()) < 30


def test_what_belongs_to_a_watched_run_is_left_alone(box: Box) -> None:
    box.proc.add(50, "python train.py")
    box.known = Known({50}, {(50, 5000)}, (), ())
    box.proc.add(51, "bash eval.sh", ppid=50, comm="bash")
    box.proc.add(52, "python eval.py", ppid=51)
    box.turn(100)
    assert box.asked() == []


def test_the_next_program_of_a_queue_is_asked_about_at_once(box: Box) -> None:
    box.known = Known((), (), {40}, ())
    box.source.hurry()
    assert box.source.due_at == pytest.approx(box.clock.now() + 1, abs=5)
    box.proc.add(50, "python step_two.py", ppid=40)
    box.turn(5)
    assert len(box.asked()) == 1
    box.turn(100)
    assert box.source.due_at is None


def test_a_job_that_fails_at_its_start_does_not_wait_for_the_next_question(box: Box) -> None:
    box.known = Known((), (), {40}, ())
    for pid in range(100, 104):  # answers that bring nothing new make the pause longer
        box.proc.add(pid, "python other.py", ppid=40)
        box.turn(30)
    assert box.asked()
    box.source.hurry()
    box.proc.add(50, "python step_two.py", ppid=40)
    box.turn()
    box.clock.jump(1)
    box.turn()
    assert len(box.asked()) == 1


def test_a_container_that_is_started_again_is_asked_about_at_once(box: Box) -> None:
    group = "0::/system.slice/docker-" + "ab" * 32 + ".scope"
    box.known = box.known._replace(containers={"ab" * 32})
    box.source.hurry()
    box.proc.add(50, "python main.py", cgroup=group.replace("ab", "cd"))
    box.turn(5)
    assert box.asked() == []
    box.proc.add(51, "python main.py", cgroup=group)
    box.turn(5)
    assert len(box.asked()) == 1


def test_a_shell_that_becomes_a_training_is_found_out(box: Box) -> None:
    box.proc.add(50, "bash later.sh", comm="bash")
    box.turn(20)
    (box.proc_folder / "50" / "cmdline").write_text("python\0train.py\0")
    box.turn(320)
    assert len(box.asked()) >= 1


def test_a_program_of_any_kind_on_a_gpu_is_asked_about(box: Box) -> None:
    box.known = Known((), (), (), {50})
    box.proc.add(50, "/opt/fluid/solver -n 3")
    box.turn(20)
    (question,) = box.asked()
    assert question["gpu_pids"] == [50]


def test_what_was_found_is_handed_over(tmp_path: Path) -> None:
    box = Box(tmp_path, [{"name": "gpt"}])
    assert box.taken == [{"name": "gpt"}]
    box.source.close()


def test_the_child_finds_a_real_run_unless_it_is_known(tmp_path: Path) -> None:
    script = tmp_path / "train_child.py"
    script.write_text("import time\nprint('up', flush=True)\ntime.sleep(120)\n")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        question: dict[str, Any] = {"known": [], "gpu_pids": [], "panes": str(tmp_path)}
        (run,) = _ours(question, script)
        question["known"] = [[run["pid"], run["start_ticks"]]]
        assert _ours(question, script) == []
    finally:
        process.kill()
        process.communicate()
    assert "error" in answer(b"nonsense")


def _ours(question: dict[str, Any], script: Path) -> list[dict[str, Any]]:
    runs = answer(json.dumps(question).encode())["runs"]
    return [run for run in runs if str(script) in run["command"]]


def test_the_real_child_answers(tmp_path: Path) -> None:
    taken: list[list[dict[str, Any]]] = []

    def take(runs: list[dict[str, Any]]) -> int:
        taken.append(runs)
        return 0

    source = Newcomers(SystemClock(), lambda: Known((), (), (), ()), take, str(tmp_path))
    try:
        source.read(time.time())
        (fd,) = source.fds()
        assert select.select([fd], [], [], 120)[0]
        source.ready(fd, time.time())
        assert len(taken) == 1
    finally:
        source.close()


@pytest.mark.parametrize(("spent", "soon"), [(0.2, True), (4.0, False), ("x", True), (None, True)])
def test_a_search_that_takes_long_is_followed_by_a_longer_pause(
    tmp_path: Path, spent: Any, soon: bool
) -> None:
    made = Box(tmp_path, [{}], {"cpu_s": spent})
    made.proc.add(50, "python train.py")
    made.turn(10)
    assert bool(made.asked()) == soon
    made.turn(RESTS * 4.0)
    assert made.asked()
    made.source.close()
