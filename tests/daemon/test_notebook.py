"""``middlewatch.notebook``: a run that is started from a notebook outlives its kernel."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.system.errors import (
    DaemonUnreachable,
    MiddlewatchError,
    Refused,
    UsageError,
)
from middlewatch.notebook import Run, find, launch

PATIENCE_S = 120.0
TRAIN = """
import os, sys, time
print("python", sys.executable, os.environ.get("MPLBACKEND"), os.environ.get("EXTRA"), flush=True)
print("token hf_" + "a1B2" * 9, flush=True)
step = 0
while True:
    step += 1
    print(f"step {step} loss {2 + 1 / step:.4f} 步", flush=True)
    time.sleep(0.05)
"""


def until(done: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("MIDDLEWATCH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MIDDLEWATCH_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    yield tmp_path
    for record in (tmp_path / "state" / "runs").glob("*"):
        with contextlib.suppress(MiddlewatchError):  # most have ended
            find(record.name).end("KILL")
    stop = [sys.executable, "-m", "middlewatch.daemon", "stop"]
    subprocess.run(stop, capture_output=True, check=False)


def test_it_starts_and_tells(folder: Path) -> None:
    run = launch("python train.py --note 'a b'", name="gpt", cwd=folder, env={"EXTRA": "更"})
    assert isinstance(run, Run)
    until(lambda: "step 3" in run.tail(200), "the third step")
    first = run.tail(10_000).splitlines()[0]
    assert first.startswith(f"python {sys.executable} None 更")
    assert "hf_a1B2" not in run.tail(10_000)
    assert len(run.tail(2).splitlines()) == 2
    assert run.log in repr(run)
    until(lambda: "running" in run.status(), "the state")
    assert run.facts()["command"][-2:] == ["--note", "a b"]
    assert run.facts()["pid"] == run.pid
    assert "has ended" in run.end()


def test_it_outlives_the_kernel(folder: Path) -> None:
    """Interrupted, as by the button, then killed with all of its group: the run goes on, and is found."""
    cell = (
        "import time\nfrom middlewatch.notebook import launch\n"
        "begun = [launch('python train.py', name='gpt').pid]\n"
        "while True:\n    try:\n        while begun:\n            print(begun.pop(), flush=True)\n"
        "        time.sleep(100)\n    except KeyboardInterrupt:\n        print('interrupted', flush=True)\n"
    )
    kernel = subprocess.Popen(
        [sys.executable, "-c", cell],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert kernel.stdout is not None
    pid = int(kernel.stdout.readline())
    os.killpg(kernel.pid, signal.SIGINT)
    assert kernel.stdout.readline() == "interrupted\n"
    os.killpg(kernel.pid, signal.SIGKILL)
    kernel.wait()
    kernel.stdout.close()
    run = find("gpt")
    assert run.pid == pid
    seen = run.tail(1)
    until(lambda: run.tail(1) != seen, "more of the log")
    assert alive(pid)
    run.end("KILL")
    until(lambda: not alive(pid), "the end")


def test_a_progress_bar_is_shown_as_it_is_now(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_bytes(b"begin\r\n 10%|#   |\r 50%|##  |\r 70%|### |")
    run = Run("gpt-1", "gpt", 1, str(log))
    assert repr(run.tail()) == "begin\n 70%|### |"
    assert run.tail(0) == ""
    with pytest.raises(UsageError, match="cannot read"):
        Run("gpt-1", "gpt", 1, str(tmp_path / "none")).tail()


@pytest.mark.parametrize("text", ["python a.py | tee log", "a && b", "python a.py > log", "x; y"])
def test_what_is_for_a_shell_is_not_taken_apart(text: str) -> None:
    with pytest.raises(UsageError, match="for a shell") as told:
        launch(text)
    assert "bash" in told.value.hint


def test_what_cannot_be_started_is_said(folder: Path) -> None:
    with pytest.raises(UsageError, match="nothing to launch"):
        launch("")
    with pytest.raises(UsageError, match="cannot read"):
        launch("python 'train.py")
    with pytest.raises(UsageError, match="cannot start in"):
        launch("python train.py", cwd=folder / "none")
    with pytest.raises((UsageError, Refused)):
        launch("no-such-program-here", cwd=folder)
    with pytest.raises(DaemonUnreachable):
        find("never")  # nothing was started here so far


def test_a_job_file_is_started(folder: Path) -> None:
    (folder / "job.toml").write_text('[job]\ncommand = ["python", "train.py"]\nmodel = "gpt2"\n')
    run = launch(job=folder / "job.toml", max_time="1h")
    assert run.name.startswith("gpt2-training-")
    until(lambda: "step 2" in run.tail(), "the second step")
    assert run.facts()["command"][0] == "timeout"
