"""A process whose names are escape sequences: no command passes them on to a terminal."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fakes import second_user

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user"),
]
EVIL = "train\x1b]0;owned\x07\x9b31m\u202e\n# x: finished"


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        os.chmod(folder, 0o755)
        yield folder


def hostile(line: str) -> list[str]:
    return [c for c in line if not c.isprintable() and c != "\n"]


def test_no_command_passes_the_escapes_of_another_user_on(box: Any, lair: Path) -> None:
    def act() -> None:
        os.mkdir(lair / EVIL)
        os.chdir(lair / EVIL)
        log = os.open(f"{EVIL.partition(chr(10))[0]}.log", os.O_WRONLY | os.O_CREAT, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        line = f"echo 'step 1 loss nan {EVIL}'; while :; do sleep 0.2; done; : --out {EVIL}"
        os.execve("/bin/sh", ["sh", "-c", line, f"{EVIL}.py"], {"PATH": os.defpath})

    with second_user.process(act) as pid:
        box.until(lambda: list(lair.glob("*/*.log")), "its start")
        shown = box.command("watch", "--pid", str(pid), check=False)
        run = box.ask("runs")[0]["run"]
        assert EVIL in box.ask("runs")[0]["cwd"]
        told = [shown.stdout, shown.stderr]
        for words in (
            *(("runs",), ("status",), ("status", "--oneline"), ("incidents", "--all")),
            *(("checkpoints", run), ("resume", run), ("audit",), ("stop",), ("start",)),
            *(("status", "no such\x1b[31m run"), ("watch", "--log", f"{lair}/{EVIL}")),
        ):
            done = box.command(*words, check=False)
            assert done.returncode != 5, done.stderr
            told += [done.stdout, done.stderr]
        exact = box.command("status", "--json", check=False).stdout
        told.append(exact)
        os.kill(pid, signal.SIGKILL)
    assert EVIL in json.loads(exact)["cwd"]
    told.append(box.log())
    assert [text for text in told if hostile(text)] == []
    assert not any(line.startswith("# x: finished") for text in told for line in text.splitlines())
