"""`middlewatch resume` where it should not, and with a script that has no option for it."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
from collections.abc import Callable
from typing import Any


def test_it_is_refused_until_it_may(box: Any, program: Callable[[str], list[str]]) -> None:
    out = box.root / "out"
    words = [*program("trainer"), "none", "--save-every", "20", "--size", "4096", "--out", str(out)]
    run = box.run(*words, name="gpt", options=("--checkpoints", str(out)))
    box.until(lambda: box.ask("checkpoints", run=run)["resume_from"], "a good checkpoint")
    pid = box.status(run)["pid"]

    # It lives: nothing lifts that.
    for options in ([], ["--exec", "--force"]):
        done = box.command("resume", "gpt", *options, check=False)
        assert done.returncode == 4
        assert f"{run} still runs (pid {pid})" in done.stdout

    os.kill(pid, signal.SIGKILL)
    box.until(lambda: box.status(run)["state"] == "failed", "its end")
    assert f"`middlewatch resume {run}`" in (box.state / "runs" / run / "training_status.md").read_text()  # fmt: skip

    # What would begin from scratch is not started blindly.
    done = box.command("resume", "--exec", check=False)
    assert done.returncode == 4
    assert "has no option to resume with" in done.stdout + done.stderr
    plan = json.loads(box.command("resume", run, "--json", check=False).stdout)
    assert (plan["how"], plan["allowed"], plan["command"]) == ("unknown", True, words)
    assert plan["checkpoint"]["path"] in plan["words"]
    assert plan["minutes_lost"] < 1
    shown = box.command("resume", run, check=False).stdout
    assert shlex.join(words) in shown
    assert "the script has no option to resume with" in shown
    assert len(box.ask("runs")) == 1

    # Another resume is about to start it.
    fd = os.open(box.state / "runs" / run, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    done = box.command("resume", run, "--exec", "--force", check=False)
    os.close(fd)
    assert done.returncode == 4
    assert f"another resume of {run} is running" in done.stderr
    assert len(box.ask("runs")) == 1

    # No good checkpoint is left.
    for saved in out.glob("*.safetensors"):
        saved.write_bytes(saved.read_bytes()[:-100])
    done = box.command("resume", run, "--exec", "--force", check=False)
    assert done.returncode == 1
    assert "nothing to resume from" in done.stdout
    one = str(next(out.glob("*.safetensors")))
    done = box.command("resume", run, "--from", one, "--exec", "--force", check=False)
    assert done.returncode == 4
    assert "did not pass" in done.stderr

    assert box.command("resume", "nobody", check=False).returncode == 2
    assert box.command("resume", run, "--from", "/nowhere", check=False).returncode == 2
    assert len(box.ask("runs")) == 1
