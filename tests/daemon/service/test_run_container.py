"""Which engine is asked, and about which runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.launch.discover import describe
from middlewatch.daemon.service.run_container import USUAL_SOCKET, docker_of
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.sources.container_log import EngineLog, JsonFileLog
from middlewatch.daemon.sources.container_story import Told
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.guard import Guard
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump

from ...fakes.docker_engine import ID
from ..launch.test_programs import FakeProc


@pytest.mark.parametrize(
    ("named", "path"),
    [
        (None, USUAL_SOCKET),
        ("unix:///run/user/1000/docker.sock", "/run/user/1000/docker.sock"),
        ("tcp://10.0.0.1:2376", USUAL_SOCKET),
        ("unix://docker.sock", USUAL_SOCKET),
        ("ssh://me@box", USUAL_SOCKET),
    ],
)
def test_the_engine_of_this_box(
    monkeypatch: pytest.MonkeyPatch, named: str | None, path: str
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    if named:
        monkeypatch.setenv("DOCKER_HOST", named)
    engine = docker_of(parse("", ""), SystemClock())
    assert engine is not None
    assert engine._child.argv[-1] == path


def test_it_can_be_left_alone() -> None:
    assert docker_of(parse("[watch]\ndocker = false\n", "f"), SystemClock()) is None


@pytest.mark.parametrize(("ours", "container"), [("0::/", ID), (f"0::/docker/{ID}", "")])
def test_a_run_knows_its_container_unless_we_are_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: str, container: str
) -> None:
    box = FakeProc(tmp_path)
    box.add(9, "middlewatch daemon", cgroup=ours)
    box.add(50, "python train.py", cgroup=f"0::/docker/{ID}")
    monkeypatch.setattr("os.getpid", lambda: 9)
    found = describe(50, proc=box.path)
    assert found.container == container
    assert RunSpec.from_json(found.to_json()).container == container
    assert ("container" in found.to_json()) == bool(container)


class Stage:
    """A run in a container, whose engine has just told of it."""

    def __init__(self, folder: Path, **spec: Any) -> None:
        clock = SystemClock()
        self.loop = Loop(clock, lambda error: pytest.fail(repr(error)))
        self.pump = Pump(self.loop, clock, pytest.fail)
        self.inotify = Inotify()
        note = "prints to its container's log (docker logs -f 0123): …"
        spec = {"container": ID, "notes": (note, "another note"), **spec}
        self.run = WatchedRun(RunSpec("gpt", pid=1, id="gpt-1", **spec), BoxHistory(), clock)
        self.run.docker = Guard(("true",), clock, walls="docker")
        self.run.logs.start(self.pump, self.inotify)
        self.run.container.start(self.pump, self.inotify)
        self.folder = folder

    def told(self, *, prints: bool | None, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
        where = "middlewatch.daemon.service.run_container.prints_there"
        monkeypatch.setattr(where, lambda *args, **how: prints)
        log = self.folder / f"{ID}-json.log"
        told = Told("gpt", pid=40, **{"driver": "json-file", "log": str(log), **more})
        self.run.container._found(told)

    def close(self) -> None:
        self.run.logs.stop(self.pump)
        self.run.container.stop(self.pump)
        assert self.run.docker is not None
        self.run.docker.close()
        self.inotify.close()
        self.loop.close()


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    made = Stage(tmp_path)
    yield made
    made.close()


def test_a_log_that_can_be_read_is_followed_as_a_file(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stage.folder / f"{ID}-json.log").touch()
    stage.told(prints=True, monkeypatch=monkeypatch)
    assert isinstance(stage.run.logs._tails["docker:gpt"], JsonFileLog)
    spec = stage.run.spec
    assert (spec.container_name, spec.container_log) == ("gpt", "docker:gpt")
    assert spec.notes == ("another note",), "what is read needs no note"
    assert spec.logs == ()
    rows = stage.run.status(0.0, [])["logs"]
    assert [row["path"] for row in rows] == ["docker:gpt"]


@pytest.mark.parametrize("more", [{}, {"driver": "local"}, {"driver": "journald", "log": ""}])
def test_every_other_log_comes_through_the_engine(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    stage.told(prints=True, monkeypatch=monkeypatch, **more)
    assert isinstance(stage.run.logs._tails["docker:gpt"], EngineLog)


def test_a_file_that_is_not_that_of_the_container_is_not_opened(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.told(prints=True, monkeypatch=monkeypatch, log="/etc/passwd")
    assert isinstance(stage.run.logs._tails["docker:gpt"], EngineLog)


@pytest.mark.parametrize("prints", [False, None])
def test_a_run_that_prints_elsewhere(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, prints: bool | None
) -> None:
    stage.told(prints=prints, monkeypatch=monkeypatch)
    assert stage.run.logs._tails == {}
    assert stage.run.spec.container_name == "gpt"


def test_where_its_output_cannot_be_looked_up_the_main_process_speaks(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stage.run.container.source is not None
    stage.run.container.source.began.voice = "main"
    stage.told(prints=None, monkeypatch=monkeypatch)
    assert "docker:gpt" in stage.run.logs._tails


def test_after_a_restart_its_log_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Stage(tmp_path)
    first.told(prints=True, monkeypatch=monkeypatch, driver="local")
    tail = first.run.logs._tails["docker:gpt"]
    assert isinstance(tail, EngineLog)
    tail._since, tail._count = 77, 3
    saved = first.run.save()
    first.close()
    clock = SystemClock()
    again = WatchedRun(RunSpec.from_json(saved["spec"]), BoxHistory(), clock, saved)
    assert again.save()["tails"] == saved["tails"], "also before the engine has answered"
    second = Stage(tmp_path)
    second.run.spec, second.run.logs._before = again.spec, again.logs._before
    second.told(prints=False, monkeypatch=monkeypatch, driver="local")
    tail = second.run.logs._tails["docker:gpt"]
    assert isinstance(tail, EngineLog)
    assert (tail._since, tail._count) == (77, 3)
    second.close()


def test_a_run_in_no_container_asks_nobody(tmp_path: Path) -> None:
    stage = Stage(tmp_path, container="")
    assert stage.run.container.source is None
    assert stage.run.status(0.0, [])["container"] is None
    assert "container" not in stage.run.save()
    stage.close()
