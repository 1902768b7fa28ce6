"""Runs in containers of a real docker engine, watched from outside of it."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.launch.discover import describe

from ..fakes.box import Box, Receiver
from ..fakes.docker_engine import PYTHON, DockerEngine, NoEngine, docker_engine

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it starts a docker engine"),
]

TRAIN = """\
import sys, time
print("***** Running training *****", flush=True)
for step in range(int(sys.argv[1])):
    print(f"step {step}/100000 loss {2 / (step + 1):.4f} lr 1e-4", flush=True)
    time.sleep(0.1)
raise KeyError("boom")
"""
GROWS = """\
import time
print("***** Running training *****", flush=True)
kept = []
for step in range(100000):
    kept.append(bytearray(4 << 20))
    print(f"step {step}/100000 loss {2 / (step + 1):.4f}", flush=True)
    time.sleep(0.1)
"""
MIB = 1 << 20


class Harbour:
    """A box with a daemon, an engine and trainings in its containers."""

    def __init__(self, box: Box, engine: DockerEngine, programs: Path) -> None:
        self.box, self.engine, self.programs = box, engine, programs
        self.runs: dict[str, str] = {}

    def start(self, name: str, script: str = "train.py", *words: str, **more: Any) -> int:
        command = [PYTHON, "-u", f"/code/{script}", *(words or ("100000",))]
        return self.engine.run(name, command, {"/code": self.programs}, **more)

    def watch(self, name: str, pid: int | None = None) -> str:
        """Watch the process of a container from outside."""
        pid = pid or int(self.engine.inspect(name)["State"]["Pid"])
        spec = {**describe(pid).to_json(), "name": name}  # as `middlewatch watch --pid` does
        spec.pop("pipe_pane", None)
        self.runs[name] = str(self.box.ask("watch", spec=spec)["run"])
        return self.runs[name]

    def status(self, name: str) -> dict[str, Any]:
        return self.box.status(self.runs[name])

    def steps(self, name: str, at_least: int = 3) -> None:
        self.box.steps(at_least, self.runs[name])

    def incidents(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.box.ask("incidents", run=self.runs[name], all=True)
        return found

    def told(self, name: str, trouble: str) -> dict[str, Any]:
        """The incident of this class about a run."""
        one: dict[str, Any] = self.box.until(
            lambda: next((i for i in self.incidents(name) if i["class"] == trouble), None),
            f"{trouble} of {name}",
        )
        return one


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Harbour]:
    (tmp_path / "programs").mkdir()
    for name, text in (("train.py", TRAIN), ("train_grows.py", GROWS)):
        (tmp_path / "programs" / name).write_text(text)
    receiver = Receiver()
    box = Box(tmp_path, receiver)
    box.configure("")
    # The names of sockets are short, and so are those of their folders.
    with tempfile.TemporaryDirectory(prefix="mw") as folder:
        try:
            with docker_engine(Path(folder)) as engine:
                box.extra_env["DOCKER_HOST"] = f"unix://{engine.socket}"
                box.command("start")
                yield Harbour(box, engine, tmp_path / "programs")
                box.close()
        except NoEngine as why:
            pytest.skip(str(why))
        finally:
            receiver.close()


def test_logs_ends_and_a_pause(harbour: Harbour) -> None:
    """All at once: every one of them takes some seconds."""
    engine, box = harbour.engine, harbour.box
    harbour.start("file")
    harbour.start("stream", LogConfig={"Type": "local"})
    harbour.start("tty", Tty=True)
    harbour.start("fails", "train.py", "90", AutoRemove=True, Init=True)
    harbour.start("grows", "train_grows.py", Memory=128 * MIB, MemorySwap=128 * MIB)
    names = ("fails", "grows", "file", "stream", "tty")
    for name in names:
        harbour.watch(name)
    for name in names:
        harbour.steps(name)
        status = harbour.status(name)
        assert [log["path"] for log in status["logs"]] == [f"docker:{name}"]
        assert status["container"]["name"] == name
        assert {"path": "/code", "host": str(harbour.programs)} in status["container"]["mounts"]
    page = Path(harbour.status("file")["status_page"]).read_text()
    assert "- container: file (image middlewatch-test:latest)" in page
    assert "through the docker engine" in str(harbour.status("stream")["notes"])

    engine.post("/containers/file/pause")
    engine.post("/containers/stream/stop?t=1")
    engine.post("/containers/tty/kill")
    stop = harbour.told("stream", "process_killed")
    assert "was killed (SIGKILL) through `docker stop stream`" in stop["summary"]
    assert "ask who typed `docker stop stream`" in stop["remedy"]["first_step"]
    killed = harbour.told("tty", "process_killed")
    assert "was killed (SIGKILL) through `docker kill tty`" in killed["summary"]

    failed = harbour.told("fails", "python_exception")
    assert failed["summary"].startswith("KeyError: 'boom'; the run ended with exit status 1")
    assert "<(docker logs fails 2>&1)" in failed["remedy"]["first_step"]
    assert harbour.status("fails")["log_tail"][-1] == "KeyError: 'boom'"

    oom = harbour.told("grows", "cgroup_oom_kill")
    assert (
        "in container grows was killed because memory ran out (limit 128.0 MiB)" in oom["summary"]
    )
    assert "docker inspect -f '{{.HostConfig.Memory}}' grows" in oom["remedy"]["first_step"]

    paused = harbour.told("file", "stopped")
    assert "its container file is paused (docker pause)" in paused["summary"]
    assert paused["remedy"]["first_step"].endswith("`docker unpause file`")
    assert harbour.status("file")["state"] == "stalled"
    engine.post("/containers/file/unpause")
    push = box.push(lambda p: p.title.startswith("[RESOLVED] file"), "that it runs again")
    assert "the container file runs again" in push.title
    troubles = {name: [i["class"] for i in harbour.incidents(name)] for name in names}
    assert troubles == {
        "file": ["stopped"],
        "stream": ["process_killed"],
        "tty": ["process_killed"],
        "fails": ["python_exception"],
        "grows": ["cgroup_oom_kill"],
    }


def test_a_restart_policy_makes_attempts(harbour: Harbour) -> None:
    box = harbour.box
    policy = {"Name": "on-failure", "MaximumRetryCount": 1}
    pid = harbour.start("bert", "train.py", "80", RestartPolicy=policy)
    harbour.watch("bert", pid)
    box.ask("finding", on=True)

    def attempts() -> list[dict[str, Any]]:
        runs = [box.status(r["run"]) for r in box.ask("runs") if r["name"] == "bert"]
        return sorted(runs, key=lambda status: int(status["attempt"]))

    def ended() -> list[dict[str, Any]]:
        found = attempts()
        return found if len(found) == 2 and all(one["ended_at"] for one in found) else []

    for number, status in enumerate(box.until(ended, "two ends"), 1):
        assert status["attempt"] == number
        assert status["exit"] == {"code": 1, "signal": None}
        # The log of the container has the lines of both; each run has its own.
        (log,) = status["logs"]
        assert (log["path"], log["lines"]) == ("docker:bert", 85)
        assert status["log_tail"][-1] == "KeyError: 'boom'"
        assert status["now"]["step"] == 79
    first = attempts()[0]
    assert any("attempt 2 of the same command goes on" in note for note in first["notes"])
    push = box.push(lambda p: p.title.startswith("[CRITICAL] bert"), "its end")
    by_policy = "Docker starts its container bert again, by its restart policy on-failure:1."
    assert by_policy in push.body or "It goes on: attempt 2 of the same command" in push.body


def test_an_engine_that_hangs_and_is_restarted(harbour: Harbour) -> None:
    box, engine = harbour.box, harbour.engine
    harbour.start("gpt", LogConfig={"Type": "local"})
    harbour.watch("gpt")
    harbour.steps("gpt")

    def source() -> str:
        watch = harbour.status("gpt")["watch"]
        return next(str(one["state"]) for one in watch if one["source"] == "docker")

    assert engine.process is not None
    engine.process.send_signal(signal.SIGSTOP)
    box.until(lambda: source() == "stalled", "that it hangs")
    here = harbour.status("gpt")
    assert here["state"] == "running"
    assert box.ask("ping"), "nothing waits for it"
    engine.process.send_signal(signal.SIGCONT)
    box.until(lambda: source() == "ok", "that it answers")
    harbour.steps("gpt", int(here["now"]["step"]) + 3)
    before = harbour.status("gpt")["logs"][0]["lines"]

    engine.stop()  # its containers end with it
    box.until(lambda: source() == "failed", "that it is gone")
    ended = box.until(lambda: harbour.status("gpt")["exit"], "the end of the run")
    assert ended != {"code": None, "signal": None}
    assert harbour.status("gpt")["logs"][0]["lines"] >= before
    engine.start()
