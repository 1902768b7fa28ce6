"""Processes that vanish without a word of their own: what the push says of each."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Callable
from typing import Any

from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.system.store import Store

Program = Callable[[str], list[str]]


def on_a_terminal(box: Any, command: list[str], log: Any) -> tuple[int, Any]:
    """(master of its terminal, process): a login shell's place is taken by the run itself."""
    master, slave = pty.openpty()

    def take() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=log,
        stderr=log,
        cwd=box.root,
        env={**box.env, "PYTHONUNBUFFERED": "1"},
        preexec_fn=take,
    )
    os.close(slave)
    box.started.append(process)
    return master, process


def test_the_terminal_is_closed(box: Any, program: Program) -> None:
    path = box.root / "train.log"
    with path.open("wb") as log:
        master, process = on_a_terminal(box, [*program("trainer"), "none", "--sleep", "0.1"], log)
    box.command("watch", "--pid", str(process.pid), "--log", str(path), "--name", "gpt")
    box.steps(5)
    box.until(lambda: box.status()["processes"], "its processes")
    os.close(master)
    process.wait()
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "middlewatch checkpoints" in push.body
    assert _how(box) == "hangup"


def test_the_box_is_rebooted(box: Any, program: Program) -> None:
    run = box.run(*program("trainer"), "none", "--sleep", "0.1", name="gpt")
    box.steps(5)
    status = box.status(run)
    box.command("stop")
    # A reboot ends everything at once, the supervisor that would write the exit status as well.
    record = box.state / "runs" / run / "exit.json"
    keeper = int(_parent(status["pid"]))
    os.kill(keeper, signal.SIGKILL)
    os.kill(status["pid"], signal.SIGKILL)
    record.write_text("")
    where = StateDir(box.state)
    store = Store(where.store, where.reserve)
    doc = dict(store.all("run"))[run]
    assert doc["session"]["boot"]
    doc["session"]["boot"] = "another boot"
    store.put("run", run, doc, 0.0)
    store.flush()
    store.close()
    box.command("start")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "was ended when the box was rebooted" in push.title
    assert _how(box) == "reboot"


def _how(box: Any) -> Any:
    (one,) = box.ask("incidents", all=True)  # one cause is one incident
    # who reaps a process decides whether its status can be seen: the evidence is the same
    assert one["class"] in ("silent_end", "process_killed")
    return one["details"]["how"]


def _parent(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[1]


def test_one_process_is_killed_and_others_live_on(box: Any, program: Program) -> None:
    child = "import subprocess, sys; subprocess.Popen(['sleep', '60']); "
    train = "exec(open(sys.argv.pop(1)).read())"
    run = box.run(
        *(program("trainer")[0], "-c", child + train, program("trainer")[1], "none"), name="gpt"
    )
    box.steps(5)
    box.until(lambda: len(box.status(run)["processes"]) >= 2, "both processes")
    os.kill(box.status(run)["pid"], signal.SIGKILL)
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "1 of its processes are still alive" in push.title
    assert "look what is left of it" in push.body
    assert box.incident("process_killed")["details"]["how"] == "killed"
