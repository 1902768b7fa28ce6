"""A network mount whose server is stopped: only what lies there is blind, nothing else waits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fakes.fuse_folder import FuseFolder

Program = Callable[[str], list[str]]

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount FUSE without a helper"),
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse on this box"),
]


class Nas:
    """A folder of another machine: ``far`` here, ``behind`` there."""

    def __init__(self, root: Path) -> None:
        self.behind, self.far = root / "behind", root / "far"
        self.behind.mkdir()
        self.far.mkdir()
        self.fuse = FuseFolder(self.behind, self.far)


@pytest.fixture
def nas(tmp_path: Path) -> Iterator[Nas]:
    try:
        made = Nas(tmp_path)
    except OSError as error:
        pytest.skip(str(error))
    yield made
    made.fuse.close()


def watched_there(box: Any, program: Program, nas: Nas) -> str:
    """A run whose log, checkpoints and status files lie on the mount; returns its id."""
    log = nas.behind / "far.log"
    with log.open("wb") as out:
        words = (
            "none",
            "--steps",
            "9999",
            "--size",
            "4096",
            "--sleep",
            "0.2",
            "--save-every",
            "10",
            "--out",
            str(nas.behind / "out"),
        )
        process = box.spawn(*program("trainer"), *words, stdout=out, env={"PYTHONUNBUFFERED": "1"})
    spec = {
        "name": "far",
        "pid": process.pid,
        "command": [],
        "cwd": str(nas.far),
        "logs": [str(nas.far / "far.log")],
        "checkpoint_dirs": [str(nas.far / "out")],
    }
    return str(box.ask("watch", spec=spec)["run"])


def blind(box: Any, run: str) -> list[str]:
    return [
        i["details"]["source"].partition(":")[0]
        for i in box.ask("incidents", run=run)
        if i["class"] == "blind"
    ]


def test_a_stalled_mount_stops_neither_the_daemon_nor_another_run(
    box: Any, program: Program, nas: Nas
) -> None:
    box.configure(f'[watch]\nstatus_dir = "{nas.far}/status"\n[sentinels.blind]\nfor_s = 2\n')
    near = box.run(*program("trainer"), "none", "--steps", "9999", name="near")
    far = watched_there(box, program, nas)
    box.steps(5, far)
    box.until(
        lambda: any(
            c["verified"]["state"] == "ok" for c in box.ask("checkpoints", run=far)["checkpoints"]
        )
    )

    nas.fuse.stop()
    box.until(lambda: {"log_tail", "checkpoint_dir"} <= set(blind(box, far)))
    told = [i["summary"] for i in box.ask("incidents", run=far) if i["class"] == "blind"]
    assert any(f"{nas.far} (fuse.test) does not answer" in one for one in told), told
    assert box.ask("checkpoints", run=far)["checkpoints"], "what was known is known"

    # Everything else goes on: a run that begins now, its trouble, answers, the end of a run.
    box.run(*program("trainer"), "nan", "--at", "10", "--sleep", "0.05", name="other")
    box.push(lambda p: "[CRITICAL] other on" in p.title and "the loss is" in p.title)
    assert json.loads(box.command("status", "--json", far, check=False).stdout)["run"] == far
    os.kill(box.status(near)["pid"], signal.SIGKILL)
    box.push(lambda p: "[CRITICAL] near on" in p.title)
    assert "the loop is stuck" not in box.log()
    assert not [i for i in box.ask("incidents", run=far, all=True) if i["class"] == "hang"]

    # A daemon that dies now starts again, and knows where it was.
    os.kill(box.ask("ping")["pid"], signal.SIGKILL)
    time.sleep(0.1)
    box.command("start")
    seen = box.status(far)["now"]["step"]
    saved = box.until(lambda: len(box.ask("checkpoints", run=far)["checkpoints"]))

    nas.fuse.go_on()
    box.steps(seen + 5, far)
    box.until(lambda: not blind(box, far))
    lines = (nas.behind / "far.log").read_text().count("\n")
    box.until(lambda: box.status(far)["logs"][0]["lines"] >= lines)
    box.until(lambda: len(box.ask("checkpoints", run=far)["checkpoints"]) >= saved)


ASK = """
import os, sys
from middlewatch.daemon.checkpoints.retention.holders import holders
seen = os.stat(sys.argv[1])
print(holders({(seen.st_dev, seen.st_ino): "mine"}, ["mine"])["mine"])
"""


def test_prune_does_not_wait_for_another_process_on_a_stalled_mount(
    nas: Nas, tmp_path: Path
) -> None:
    (nas.behind / "data.bin").write_bytes(b"1")
    mine = tmp_path / "model.safetensors"
    mine.write_bytes(b"1")
    code = "import sys; files = [open(n) for n in sys.argv[1:]]; print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "data.bin", str(mine)],
        cwd=nas.far,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            nas.fuse.stop()
            ask = [sys.executable, "-c", ASK, str(mine)]
            told = subprocess.run(ask, check=True, capture_output=True, text=True, timeout=300)
        finally:
            nas.fuse.go_on()
            process.kill()
    assert f"(pid {process.pid}) has {mine.name} open" in told.stdout
