"""Root resumes a run of another user: its command never gets the rights of root."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.launch.exit_record import read_exit
from middlewatch.daemon.launch.start import launch
from middlewatch.daemon.launch.supervisor import spare_path
from middlewatch.daemon.system.errors import Refused
from middlewatch.daemon.system.processes import Processes
from middlewatch.daemon.system.users import User, runner_of

from ..fakes import second_user
from ..fakes.box import end
from ..fakes.second_user import GID, UID

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user"),
]
SCRIPT = """\
#!/bin/sh
( id -u; id -G; env | sort ) > "began.$$"
echo "said to stderr" > /dev/stderr
i=0
while :; do i=$((i+1)); echo "step $i loss 2.0"; sleep 0.2; done
"""


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        (folder / "train.sh").write_text(SCRIPT)
        (folder / "out").mkdir()
        head = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
        save = struct.pack("<Q", len(head)) + head + struct.pack("<2f", 1.0, 2.0)
        (folder / "out" / "step-000010.safetensors").write_bytes(save)
        for path in (folder / "train.sh", folder / "out", *(folder / "out").iterdir()):
            os.chown(path, UID, GID)
        yield folder
        for process in Processes().values():
            if process.cwd == str(folder):
                end(process.pid)


def ended_run(box: Any, lair: Path) -> str:
    """A run of the second user that root has watched to its end."""

    def act() -> None:
        os.chdir(lair)
        log = os.open("train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.execve("/bin/sh", ["sh", "train.sh"], {"PATH": os.defpath, "SECRET": "theirs"})

    with second_user.process(act) as pid:
        box.until(lambda: list(lair.glob("began.*")), "its start")
        folder = str(lair / "out")
        done = box.command("watch", "--pid", str(pid), "--checkpoints", folder, "--json")
        run = str(json.loads(done.stdout)[0]["run"])
        box.until(lambda: box.ask("checkpoints", run=run)["resume_from"], "a good save")
        os.kill(pid, signal.SIGKILL)
    box.until(lambda: box.status(run)["ended_at"], "its end")
    for mark in lair.glob("began.*"):
        mark.unlink()
    return run


def test_resume_as_root_runs_the_command_as_its_user(box: Any, lair: Path) -> None:
    box.extra_env["ROOTS_SECRET"] = "ours"
    run = ended_run(box, lair)
    done = box.command("resume", run, "--exec", "--force", "--json")
    plan = json.loads(done.stdout)
    box.until(lambda: any(p.stat().st_size for p in lair.glob("began.*")), "its second start")
    uid, groups, *env = next(lair.glob("began.*")).read_text().splitlines()
    assert uid == str(UID), "the command of another user ran as root"
    assert groups == str(GID)
    assert not [line for line in env if "SECRET" in line]
    assert "HOME=/" in env
    started = plan["started"]
    assert runner_of(started["pid"]) == (UID, GID)
    assert runner_of(started["supervisor_pid"]) == (0, 0)
    output = Path(started["log"])
    box.until(lambda: "said to stderr" in output.read_text(), "what it says")
    assert output.stat().st_mode & 0o777 == 0o600
    assert plan["as_user"] == str(UID)
    assert any("with a clean environment" in words for words in plan["warnings"])


def test_a_command_of_a_user_who_is_not_known_is_refused(box: Any, lair: Path) -> None:
    run = ended_run(box, lair)
    box.command("stop")
    with contextlib.closing(sqlite3.connect(box.state / "middlewatch.sqlite")) as store, store:
        forget = "json_remove(doc, '$.spec.uid', '$.spec.gid')"
        store.execute(f"update docs set doc = {forget} where kind = 'run'")
    box.command("start")
    done = box.command("resume", run, "--exec", "--force", check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "it is not known whose command" in done.stderr
    assert "middlewatch run -- CMD" in done.stderr
    assert list(lair.glob("began.*")) == []


def test_only_root_becomes_another_user(tmp_path: Path, lair: Path) -> None:
    other = User(UID + 1, GID + 1, (), "eve", "")
    log = lair / "x.log"

    def act() -> None:
        with pytest.raises(Refused, match="only eve and root"):
            launch(["true"], name="x", log=log, exit_file=lair / "exit", cwd=lair, user=other)

    second_user.done(act)
    assert not Path(spare_path(str(lair / "exit"))).exists()


def test_a_program_with_the_set_user_id_bit_has_no_user(lair: Path) -> None:
    """What it was started with was chosen by one user, and its rights are of another."""
    program = lair / "waits"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    program.chmod(0o4755)
    with second_user.process(lambda: os.execv(program, [str(program), "60"])) as pid:
        until = time.monotonic() + 30
        while os.readlink(f"/proc/{pid}/exe") != str(program):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert runner_of(pid) is None


def test_a_forged_exit_record_is_not_believed(tmp_path: Path) -> None:
    """Everybody can write to /dev/shm, where a supervisor leaves its record when the disk is full."""
    exit_file = str(tmp_path / "runs" / "gpt-1a2b" / "exit.json")
    spare = Path(spare_path(exit_file))
    fields: dict[str, Any] = {
        "pid": 1,
        "start_ticks": 1,
        "exit_code": 0,
        "signal": None,
        "core": False,
    }
    fields |= {"started_at": 1.0, "ended_at": 2.0, "max_rss_bytes": 0}
    second_user.done(lambda: spare.write_text(json.dumps(fields)))
    try:
        assert read_exit(exit_file) is None
        assert read_exit(exit_file, 0) is None
        assert read_exit(exit_file, UID) is not None  # of its own run it may say what it likes
    finally:
        spare.unlink()
