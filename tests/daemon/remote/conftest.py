"""A box behind a real sshd, with runs in its store; and a machine that knows nothing of it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.checkpoints.rebuild import rebuilt
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.report.index_file import write_index
from middlewatch.daemon.system.store import Store

from ...fakes.far_box import NAME, FarBox, command_folder, far_box

PATIENCE_S = 240.0
BEGAN = 1_700_000_000.0


def weights(value: float, count: int = 65536) -> bytes:
    """A safetensors file of one tensor."""
    about = {"w": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}
    header = json.dumps(about).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<f", value) * count


@dataclass
class Far:
    """The box, and the machine at home."""

    box: FarBox
    state: Path
    """State directory of the box."""
    work: Path
    """Where its runs work."""
    home: Path
    """The machine at home."""

    @property
    def dest(self) -> Path:
        return self.home / "results"

    def finished(self, name: str = "gpt", saves: int = 3, count: int = 65536) -> RunSpec:
        """A run that is over: checkpoints, a log, files beside them, and its index."""
        out = self.work / name / "out"
        (out / "tb").mkdir(parents=True)
        for step in range(100, 100 * saves + 1, 100):
            path = out / f"step-{step:06}.safetensors"
            path.write_bytes(weights(1 / step, count))
        (out / "config.json").write_text('{"layers": 2}')
        (out / "tb" / "it's a $HOME note.txt").write_text("odd name\n")
        log = self.work / name / "train.log"
        steps = range(1, 100 * saves + 1)
        log.write_text("".join(f"step {n}/{100 * saves} loss {2 / n:.4f}\n" for n in steps))
        spec = RunSpec(
            name=name,
            pid=2**22 + 5,
            start_ticks=1,
            command=("python", "train.py"),
            cwd=str(out.parent),
            logs=(str(log),),
            checkpoint_dirs=(str(out),),
            started_at=BEGAN,
            id=f"{name}-5db0",
        )
        self.store(spec)
        self.index(spec)
        return spec

    def store(self, spec: RunSpec) -> None:
        where = StateDir(self.state)
        where.take()
        store = Store(where.store, where.reserve)
        store.put("run", spec.id, {"spec": spec.to_json(), "state": "finished"}, BEGAN)
        store.close()

    def index(self, spec: RunSpec) -> None:
        """Verify all of it, as the watch does."""
        where = StateDir(self.state)
        where.make_run(spec.id)
        made = rebuilt(
            spec.id, list(spec.checkpoint_dirs), BEGAN + 100, RankingRules(), started_at=BEGAN
        )
        write_index(str(where.checkpoint_index(spec.id)), made)

    def env(self, **more: str) -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        mine = {"MIDDLEWATCH_STATE_DIR": str(self.home / "state"), "HOME": str(self.home)}
        return {**own, **mine, **self.box.env(), **more}

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """A command of middlewatch at home."""
        return subprocess.Popen(
            [sys.executable, "-m", "middlewatch.daemon", *words],
            env=self.env(**more),
            cwd=self.home,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def at_home(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """To its end."""
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def pull(self, what: str = NAME, *words: str, **more: str) -> dict[str, Any]:
        """``pull --json``; its answer with the status."""
        done = self.at_home("pull", what, str(self.dest), "--json", *words, **more)
        assert done.stdout, done.stderr
        return {**json.loads(done.stdout), "status": done.returncode, "err": done.stderr}

    def receipt(self) -> dict[str, Any] | None:
        path = self.dest / "PULL_VERIFIED.json"
        found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return found


def contents(folder: Path) -> dict[str, bytes]:
    """Name -> bytes of every file below."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    state, home = tmp_path / "box-state", tmp_path / "home"
    home.mkdir()
    commands = command_folder(tmp_path / "commands")
    variables = {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "MIDDLEWATCH_STATE_DIR": str(state),
        "MIDDLEWATCH_CONFIG": str(tmp_path / "box.toml"),
    }
    (tmp_path / "box.toml").write_text("")
    with far_box(tmp_path / "sshd", variables) as box:
        yield Far(box, state, tmp_path / "work", home)
