"""Typical mistakes: each is answered with what is wrong and what to do, and no traceback."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ...fakes.second_user import UID
from .mistakes import BARE, BOX, ROOT, Mistake

TRAIN = """
import itertools, time
for n in itertools.count(1):
    print(f"step {n}/9000 | train_loss {3 - n / 9000:.4f}", flush=True)
    time.sleep(0.2)
"""
FILES = {
    "train.py": TRAIN,
    "train.sh": "#!/bin/sh\npython train.py\n",
    "train.log": "step 1 loss 2.0\nstep 2 loss 1.9\n",
    "empty.log": "",
    "logs/a.log": "step 1 loss 2.0\n",
    "zero.safetensors": "",
    "page.safetensors": "<!DOCTYPE html>\n<html><body>404: not found</body></html>\n" * 40,
    "pointer.safetensors": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n",
    "broken.toml": "[alerts]\nmin_severity = critical\n",
    "key.toml": '[alerts]\nmin_severty = "critical"\n',
    "section.toml": '[alert]\nmin_severity = "critical"\n',
    "type.toml": "[alerts]\nrepeat_s = true\n",
    "value.toml": '[alerts]\nmin_severity = "high"\n',
    "urls.toml": '[alerts]\nurls_file = "nowhere.txt"\n',
}


def make(folder: Path) -> None:
    """The folder in which a person makes the mistakes."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for name in ("empty", "out", "bin", "stale"):
        (folder / name).mkdir()
    (folder / "latin.toml").write_bytes('[alerts]\nhost = "Zürich"\n'.encode("latin-1"))
    (folder / "out" / "model.pt").write_bytes(
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\0\0\xff" * 99
    )
    packed = gzip.compress(os.urandom(9000).hex().encode())
    (folder / "old.log.gz").write_bytes(packed)
    (folder / "cut.log.gz").write_bytes(packed[:-4000])
    shim = folder / "bin" / "middlewatch"
    shim.write_text(
        f"#!{sys.executable}\nimport sys\nfrom middlewatch.daemon.cli import main\nsys.exit(main())\n"
    )
    shim.chmod(0o755)
    (folder / "bin" / "python").symlink_to(sys.executable)  # a bare box has no program of that name
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.path.relpath(folder / "stale" / "middlewatch.sock"))
    (folder / "stale").chmod(0o700)


class Person:
    """Types lines into a shell of a box that has nothing but this folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make(folder)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        self.env = kept | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "MIDDLEWATCH_STATE_DIR": str(folder / "state"),
            "MIDDLEWATCH_CONFIG": str(folder / "none.toml"),
            "PYTHON": sys.executable,
            "PYTHONUTF8": "1",
        }

    def types(self, line: str) -> subprocess.CompletedProcess[str]:
        """The line in bash, with no terminal."""
        return subprocess.run(
            ["bash", "-c", line],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=300,
            check=False,
            env=self.env,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
        )

    def makes(self, mistake: Mistake) -> None:
        """Make the mistake, and read the answer."""
        said = self.types(mistake.line)
        told = said.stdout + said.stderr
        assert "Traceback" not in told, told
        assert said.returncode == mistake.code, told
        assert mistake.says in told, told
        assert mistake.hint == "-" or mistake.hint in told, told
        assert "secret" not in told
        assert len(said.stderr.splitlines()) <= 6, "a person reads it at a glance"
        if said.returncode > 1:
            assert said.stderr.startswith("middlewatch"), "it says who speaks"
            assert "\n  " in said.stderr, "what to do stands on a line of its own"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A box on which no daemon runs, and a shell on it that waits."""
    person = Person(tmp_path_factory.mktemp("bare"))
    with subprocess.Popen(["bash", "-i"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as shell:
        person.env["SHELL_PID"] = str(shell.pid)
        yield person
        assert not (person.folder / "state" / "middlewatch.sock").exists(), "nothing was started"
        shell.kill()


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A box on which a daemon watches two runs of one name, and three others."""
    person = Person(tmp_path_factory.mktemp("box"))
    pids = []
    try:
        for name in ("gpt", "gpt", "llama", "训练", "'my run'"):
            said = person.types(f"middlewatch run --name {name} --json -- $PYTHON train.py")
            assert said.returncode == 0, said.stderr
            pids.append(json.loads(said.stdout)["pid"])
        until = time.monotonic() + 120
        while any(run["now"]["step"] is None for run in _runs(person)):
            assert time.monotonic() < until
            time.sleep(0.2)
        yield person
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        person.types("middlewatch stop")


def _runs(person: Person) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads(person.types("middlewatch runs --json").stdout)
    return runs


def _what(mistake: Mistake) -> str:
    return mistake.what


@pytest.mark.parametrize("mistake", BARE, ids=_what)
def test_a_mistake_without_a_daemon(bare: Person, mistake: Mistake) -> None:
    bare.makes(mistake)


@pytest.mark.parametrize("mistake", BOX, ids=_what)
def test_a_mistake_beside_a_daemon(box: Person, mistake: Mistake) -> None:
    box.makes(mistake)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A box with a folder of another user, and a good checkpoint."""
    person = Person(tmp_path_factory.mktemp("root"))
    theirs, good = person.folder / "theirs", person.folder / "good"
    theirs.mkdir()
    good.mkdir()
    (good / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    (theirs / "a.log").write_text("step 1 loss 2.0\n")
    (theirs / "model.pt").write_bytes(b"PK\x03\x04")
    (theirs / "mw.toml").write_text("[alerts]\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(theirs / "middlewatch.sock"))
        server.listen()
        for path in (*theirs.iterdir(), theirs):
            path.chmod(0o711 if path == theirs else 0o600)
            os.chown(path, UID, UID)
        yield person


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it gives files away")
@pytest.mark.parametrize("mistake", ROOT, ids=_what)
def test_a_mistake_with_rights_and_disks(root: Person, mistake: Mistake) -> None:
    for tool in ("setpriv", "unshare"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")
    root.makes(mistake)
