"""The scripts of the manifest, run by this machine's own shell, with the volume as a folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from middlewatch.daemon.jobs.kubernetes_watch import (
    BOTH,
    FOLDER,
    SAID,
    TRAINING,
    WATCHING,
    both,
    training,
    watching,
)

PATIENCE_S = 120.0
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
SAVES = (
    "import os, signal, sys, time\n"
    "def save(*_):\n"
    "    while not all(map(os.path.exists, sys.argv[1:])): time.sleep(0.05)\n"
    "    print('saved', flush=True); sys.exit(7)\n"
    "signal.signal(signal.SIGTERM, save)\n"
    "print('step 1 loss 2.5', flush=True)\ntime.sleep(600)\n"
)


def until(done: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)


def shell(name: str) -> list[str]:
    return ["busybox", "sh"] if name == "busybox" else [name]


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[SimpleNamespace]:
    """Starts scripts as the containers of one pod."""
    running: list[subprocess.Popen[bytes]] = []
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONUNBUFFERED": "1",  # as the manifest sets it
        "MIDDLEWATCH_CONFIG": str(tmp_path / "none.toml"),
    }

    def start(container: dict[str, Any], by: str = "sh") -> subprocess.Popen[bytes]:
        command = [*container["command"], *container["args"]]
        # Not in a path that this folder's name is a part of, as that of Python may be.
        here = str(tmp_path / "volume")
        words = [re.sub(rf"(?<![\w.-]){FOLDER}(?=/)", here, word) for word in command[1:]]
        (tmp_path / "volume").mkdir(exist_ok=True)
        with (tmp_path / f"out{len(running)}").open("wb") as out:
            process = subprocess.Popen(
                [*shell(by), *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=env,
                start_new_session=True,
            )
        running.append(process)
        return process

    def said(number: int = 0) -> str:
        return (tmp_path / f"out{number}").read_text(errors="replace")

    yield SimpleNamespace(start=start, said=said, volume=tmp_path / "volume", env=env)
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    state = tmp_path / "volume" / "state"
    if state.exists():
        stop = [sys.executable, "-m", "middlewatch.daemon", "stop", "--state-dir", str(state)]
        subprocess.run(stop, env=env, capture_output=True, check=False)


@pytest.mark.parametrize("by", SHELLS)
def test_output_and_exit_status_are_those_of_the_command(pod: SimpleNamespace, by: str) -> None:
    script = "import sys; print('a b', sys.argv[1:]); sys.exit('中文 last line')"
    process = pod.start(training([sys.executable, "-c", script, "x  y", "$HOME"]), by=by)
    assert process.wait(PATIENCE_S) == 1
    assert pod.said() == "a b ['x  y', '$HOME']\n中文 last line\n"
    assert (pod.volume / "output.log").read_text() == pod.said()


@pytest.mark.parametrize("by", SHELLS)
def test_sigterm_reaches_the_command_and_its_last_lines_are_kept(
    pod: SimpleNamespace, by: str
) -> None:
    process = pod.start(training([sys.executable, "-c", SAVES]), by=by)
    until(lambda: "step 1" in pod.said(), "the first line")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 7
    assert pod.said().endswith("saved\n")
    assert (pod.volume / "output.log").read_text().endswith("saved\n")


@pytest.mark.parametrize("by", SHELLS)
def test_a_command_that_is_not_there_ends_as_a_shell_tells_it(
    pod: SimpleNamespace, by: str
) -> None:
    assert pod.start(training(["/no/such/command"]), by=by).wait(PATIENCE_S) == 127


def test_what_the_command_leaves_behind_does_not_hold_the_pod(pod: SimpleNamespace) -> None:
    left = "import subprocess, sys; subprocess.Popen(['sleep', '100']); print('done')"
    assert pod.start(training([sys.executable, "-c", left])).wait(PATIENCE_S) == 0
    assert "done" in pod.said()


def test_without_the_volume_the_command_runs_all_the_same(
    pod: SimpleNamespace, tmp_path: Path
) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "output.pipe").mkdir()
    code = "print('trained'); raise SystemExit(3)"
    process = pod.start(training([sys.executable, "-c", code]))
    assert process.wait(PATIENCE_S) == 3
    assert "trained" in pod.said()


def asked(pod: SimpleNamespace, *words: str) -> Any:
    command = [sys.executable, "-m", "middlewatch.daemon", *words, "--json"]
    command += ["--state-dir", str(pod.volume / "state")]
    done = subprocess.run(command, env=pod.env, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else None


def test_a_container_beside_it_watches_until_it_has_noticed_the_end(pod: SimpleNamespace) -> None:
    watch = pod.start(watching("gpt 中-0", "/none"))
    train = pod.start(training([sys.executable, "-c", SAVES]))
    until(lambda: (asked(pod, "status", "gpt 中-0") or {}).get("state") == "running", "the watch")
    seen = asked(pod, "status", "gpt 中-0")
    assert seen["pid"] == int((pod.volume / "train.pid").read_text())
    train.send_signal(signal.SIGTERM)
    assert train.wait(PATIENCE_S) == 7
    watch.send_signal(signal.SIGTERM)  # as the cluster does when the training's container has ended
    until(lambda: (asked(pod, "status", "gpt 中-0") or {"ended_at": 1})["ended_at"], "the end")
    assert watch.wait(PATIENCE_S) == 0
    assert not (pod.volume / "state" / "middlewatch.sock").exists()


def test_a_pod_that_is_taken_away_is_told_while_it_saves(
    pod: SimpleNamespace, tmp_path: Path
) -> None:
    pod.env |= SAID
    gate = tmp_path / "go"
    pod.start(watching("spot", "/none"))
    train = pod.start(training([sys.executable, "-c", SAVES, str(gate)]))
    until(lambda: (asked(pod, "status", "spot") or {}).get("state") == "running", "the watch")
    train.send_signal(signal.SIGTERM)
    until(
        lambda: [i["class"] for i in asked(pod, "incidents") or ()] == ["preempted"], "it is told"
    )
    assert train.poll() is None, "it is told before the end"
    gate.touch()
    assert train.wait(PATIENCE_S) == 7


def test_the_watch_may_be_in_the_same_container(pod: SimpleNamespace) -> None:
    process = pod.start(both("gpt", "", [sys.executable, "-c", SAVES]))
    until(lambda: (asked(pod, "status", "gpt") or {}).get("state") == "running", "the watch")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 7
    assert not (pod.volume / "state" / "middlewatch.sock").exists()


def test_the_cluster_puts_no_variable_into_a_script() -> None:
    """It would take `$(` and `$$` for its own."""
    assert not [script for script in (TRAINING, WATCHING, BOTH) if "$(" in script or "$$" in script]
