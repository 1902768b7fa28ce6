"""Texts that try to be more than text, by every way in at once: none does anything on any way out."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fakes.box import COMMAND
from ..fakes.injections import called, injections, markup, obeyed
from ..fakes.pseudo_terminal import on_terminal

MOUNT = "mnt \x1b[35m\u202e <b> [a](b) $(touch owned)"
NAME = "gpt\x1b[35m <!channel> [a](http://evil.example) \u202e <b>"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with a hostile name; where we may, it is a mount, so that disks have the name too."""
    folder = tmp_path / MOUNT
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(argv, capture_output=True).returncode == 0
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def error_of_all() -> bytes:
    """One message with the beginning of each: a push has room for some of them, a log for all."""
    return b" ".join(one.line[:24] for one in injections() if b"\r" not in one.line)


def test_nothing_that_a_run_writes_does_anything(
    disk: Path, box: Any, program: Callable[[str], list[str]], tmp_path: Path
) -> None:
    texts = tmp_path / "texts.json"
    texts.write_text(
        json.dumps(
            {
                "lines": [one.line.hex() for one in injections()],
                "names": [(b"ckpt_" + one.file_name + b".pt").hex() for one in injections()],
                "error": error_of_all().hex(),
            }
        )
    )
    words = [os.fsdecode(one.argument) for one in injections() if len(one.data) < 4000]
    command = [*program("hostile"), str(texts), str(disk), *words]
    options = ("--checkpoints", str(disk))
    run = box.run(*command, name=NAME, options=options)
    box.until(lambda: box.status(run)["state"] == "failed", "its end")
    box.push(lambda p: run.partition("-")[0][:3] in p.title, "a push about its end")
    one = box.ask("incidents", all=True)[0]["id"]
    output = str(box.state / "runs" / run / "output.log")
    wrong: list[tuple[str, Any]] = []
    for asked in (
        *(("runs",), ("status",), ("status", run), ("status", "--oneline"), ("status", NAME)),
        *(("incidents", "--all"), ("explain", one), ("checkpoints", run), ("resume", run)),
        *(("replay", output), ("verify", str(disk)), ("audit",), ("prune", run)),
        *(("watch", "--log", str(disk / NAME)), ("ack", NAME), ("explain", NAME)),
    ):
        for more in ((), ("--json",)):
            status, shown = on_terminal([*COMMAND, *asked, *more], env=box.env, cwd=tmp_path)
            assert status != 5, shown
            wrong += [(" ".join((*asked[:1], *more)), bad) for bad in obeyed(shown)]
    # Where a program reads, JSON is valid and one value a line.
    for asked in (("status", run), ("runs",), ("incidents", "--all"), ("checkpoints", run)):
        for line in box.command(*asked, "--json", check=False).stdout.splitlines():
            json.loads(line)
    for kept in ("training_status.md", "checkpoints_index.json"):
        text = (box.state / "runs" / run / kept).read_text(encoding="utf-8")
        wrong += [(kept, bad) for bad in obeyed(text)]
        if kept.endswith(".md"):
            wrong += [(kept, bad) for bad in markup(text)]
        else:
            json.loads(text)
    wrong += [("daemon.log", bad) for bad in obeyed(box.log())]
    for push in box.receiver.pushes:
        wrong += [("push", bad) for text in (push.title, push.body) for bad in obeyed(text)]
        wrong += [("push", bad) for text in (push.title, push.body) for bad in called(text)]
    assert wrong == []
    # Nothing was run by a shell, and nothing left its folder.
    with contextlib.suppress(PermissionError):
        assert list(tmp_path.rglob("owned")) == []
    assert not (Path.cwd() / "owned").exists()
