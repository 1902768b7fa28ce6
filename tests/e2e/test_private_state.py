"""Whatever the umask of who starts it: nobody else can open what the daemon and the commands make."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..fakes import second_user
from ..fakes.box import COMMAND

NOTHING = pytest.param(
    "777",
    marks=pytest.mark.skipif(
        os.geteuid() != 0, reason="only root can use the temporary folders it makes with umask 777"
    ),
)


@pytest.mark.parametrize("umask", ["000", "022", "077", NOTHING])
def test_all_of_the_state_is_private(box: Any, umask: str) -> None:
    line = f'umask {umask}; exec "$@"'
    trainer = [sys.executable, "-uc", "print('step 1 loss 2.0'); import time; time.sleep(60)"]
    words = [*COMMAND, "run", "--name", "gpt", "--", *trainer]
    subprocess.run(["sh", "-c", line, "sh", *words], env=box.env, cwd=box.root, check=True)
    run = box.ask("runs")[0]["run"]
    folder = box.state / "runs" / run
    box.until((folder / "training_status.md").exists, "its status page")
    box.until((folder / "checkpoints_index.json").exists, "its index")
    made = [box.state, *box.state.rglob("*")]
    names = {path.name for path in made}
    assert names >= {"middlewatch.sqlite", "middlewatch.sock", "middlewatch.lock", "daemon.log"}
    assert names >= {"output.log", "exit.json", "training_status.md", "checkpoints_index.json"}
    assert {path.name: oct(mode(path)) for path in made if mode(path) & 0o077} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it gives a folder away")
def test_a_state_directory_of_another_user_is_refused(box: Any) -> None:
    box.state.mkdir()
    os.chown(box.state, 1234, 1234)
    for words in (("start",), ("run", "--", "true"), ("watch", "--pid", str(os.getpid()))):
        done = box.command(*words, check=False)
        assert done.returncode == 4, done.stdout + done.stderr
        assert "belongs to user 1234" in done.stderr
        assert "--state-dir" in done.stderr
    assert list(box.state.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user")
def test_no_page_is_written_where_the_link_of_another_user_leads(box: Any) -> None:
    mine = box.root / "mine"
    mine.mkdir()
    with second_user.place() as lair:
        second_user.done(lambda: (lair / "status").symlink_to(mine))
        box.configure(f'[watch]\nstatus_dir = "{lair}/status"\n')
        trainer = "print('step 1 loss 2.0', flush=True); import time; time.sleep(60)"
        run = box.run(sys.executable, "-c", trainer)
        box.until(lambda: "the link status of user 1234" in box.log(), "the refusal")
        assert (box.state / "runs" / run / "training_status.md").exists()
        assert list(mine.iterdir()) == []


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)
