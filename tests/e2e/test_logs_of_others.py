"""Root watches a run of another user, who puts a link to a file of root in the place of its log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fakes import second_user

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user"),
]
SCRIPT = """\
i=0
while :; do
  i=$((i+1)); echo "step $i loss 2.0"
  if [ -e go ] && [ ! -e gone ]; then
    mv train.log train.log.old; ln -s "$SECRET" train.log; : > gone
  fi
  sleep 0.1
done
"""


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        (folder / "train.sh").write_text(SCRIPT)
        yield folder


def test_a_log_that_becomes_a_link_shows_nothing_of_root(
    box: Any, lair: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "shadow"
    words = "root:x9secret:19000"
    secret.write_text(f"{words}\nCUDA out of memory. {words}\nstep 999 loss nan {words}\n")
    secret.chmod(0o600)

    def act() -> None:
        os.chdir(lair)
        log = os.open("train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.execve("/bin/sh", ["sh", "train.sh"], {"PATH": os.defpath, "SECRET": str(secret)})

    with second_user.process(act) as pid:
        box.until(lambda: (lair / "train.log").exists(), "its log")
        box.command("watch", "--pid", str(pid), "--json")
        run = next(iter(box.ask("runs")))["run"]
        box.until(lambda: "step" in " ".join(box.status(run)["log_tail"]), "its steps")
        second_user.done(lambda: (lair / "go").touch())
        box.until(lambda: (lair / "gone").exists(), "the attack")
        told = box.until(lambda: refusal(box.status(run)), "that it is told")
        assert "user 1234 may not read" in told
        assert words not in str(box.status(run))
        assert words not in str(box.ask("incidents", run=run, all=True))
    box.until(lambda: box.status(run)["ended_at"], "its end")
    assert words not in str(box.receiver.pushes)
    for path in box.state.rglob("*"):
        assert not path.is_file() or words.encode() not in path.read_bytes(), path


def refusal(status: dict[str, Any]) -> str:
    text = str(status)
    return text if "may not read" in text else ""
