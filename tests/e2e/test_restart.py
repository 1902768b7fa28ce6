"""``kill -9`` of the daemon with ten open incidents: a restart proves nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]
LONGEST_S = 65.0
"""More than the longest ``clears_after_s`` of the sentinels here."""


def _open(box: Any) -> dict[str, str]:
    """Id of every incident that is not resolved, with its class."""
    return {one["id"]: one["class"] for one in box.ask("incidents")}


@pytest.mark.slow
@pytest.mark.system
def test_ten_open_incidents(mount: Callable[[str], Path], box: Any, program: Program) -> None:
    """Nothing is resolved that was not seen to be well, and nothing is pushed twice."""
    box.configure("[sentinels.hang]\nfloor_s = 4\nfew_steps_s = 4\n")
    few, saves = mount("size=16m,nr_inodes=200"), box.root / "saves"
    quick = ("--at", "30", "--sleep", "0.1", "--steps", "100000")

    def trainer(mode: str, *words: str, options: tuple[str, ...] = ()) -> str:
        command = (*program("trainer"), mode, *quick, *words)
        return str(box.run(*command, name=mode, options=options))

    trainer("nan")
    trainer("crash")
    trainer("early")
    trainer("jump")
    trainer("frozen")
    trainer("litter", "--out", str(few), options=("--checkpoints", str(few)))
    killed, stopped = trainer("killed"), trainer("stopped")
    trainer(
        "saves", "--save-every", "20", "--out", str(saves), options=("--checkpoints", str(saves))
    )
    box.run(*program("deadlock"), name="hang")
    for run, number in ((killed, signal.SIGKILL), (stopped, signal.SIGSTOP)):
        box.steps(10, run)
        os.kill(box.status(run)["pid"], number)
    box.until(lambda: list(saves.glob("step-*.safetensors")), "a save")
    (saves / "step-000010.safetensors").write_bytes(b"\x00" * 4096)

    def ten() -> bool:
        return len(set(_open(box).values()) - {"ckpt_not_durable"}) >= 10

    box.until(ten, "ten incidents of ten classes")
    box.until(lambda: all(m["sent_at"] for m in box.ask("outbox")), "the answers of the receiver")
    before, told = _open(box), len(box.receiver.pushes)
    os.kill(box.ask("ping")["pid"], signal.SIGKILL)
    box.command("start")
    box.until(lambda: box.ask("overview")["daemon"]["uptime_s"] > LONGEST_S, "a minute")
    assert before.items() <= _open(box).items()
    again = box.receiver.pushes[told:]
    assert not again, "\n\n".join(map(str, again))

    os.kill(box.status(stopped)["pid"], signal.SIGCONT)
    push = box.push(lambda p: p.title.startswith("[RESOLVED] stopped on"))
    assert "runs again" in push.title, "what was seen to be well"


@pytest.mark.slow
def test_what_was_read_and_not_yet_told_is_told_by_the_next_daemon(box: Any) -> None:
    """The line of an error is read once; the push comes half a minute later, from what is stored."""
    box.configure("")
    log = box.root / "train.log"
    log.write_text("".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(60)))
    box.command("start")
    (watched,) = json.loads(box.command("watch", "--log", str(log), "--json").stdout)
    run = str(watched["run"])
    box.steps(59, run)
    time.sleep(3)  # what is in a log when the watch begins may be of an earlier run
    with log.open("a") as file:
        file.write('step 60 loss 2.9\nTraceback (most recent call last):\n  File "t.py", line 3\n')
        file.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    box.incident("cuda_oom")
    assert not box.receiver.pushes
    os.kill(box.ask("ping")["pid"], signal.SIGKILL)
    box.command("start")
    assert "out of GPU memory" in box.push(lambda p: p.title.startswith("[CRITICAL]")).title


def test_the_checkpoints_of_an_ended_run_are_known_after_a_restart(
    box: Any, program: Callable[[str], list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    words = ("killed", str(out), str(tmp_path / "go"))
    run = box.run(*program("twelve"), *words, options=("--checkpoints", str(out)))
    box.until(lambda: box.ask("checkpoints", run=run)["resume_from"], "a save that passed")
    os.kill(box.status(run)["pid"], signal.SIGKILL)
    box.until(lambda: box.status(run)["ended_at"], "its end")
    box.command("stop")
    box.command("start")
    told, index = box.status(run)["checkpoints"], box.ask("checkpoints", run=run)
    assert told["count"] == len(index["checkpoints"]) > 0
    page = box.state / "runs" / run / "training_status.md"
    box.until(lambda: index["latest"] in page.read_text(), "the page names the newest")
