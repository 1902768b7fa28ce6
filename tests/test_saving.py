"""``middlewatch.atomic_save``: no crash leaves half of a save under its name."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import middlewatch
from middlewatch.daemon.checkpoints.verify import manifest
from middlewatch.saving import atomic_save

SOURCE = Path(middlewatch.__file__).with_name("saving.py")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_and_its_manifest(tmp_path: Path) -> None:
    path = tmp_path / "out" / "step_1.bin"
    atomic_save(b"first", path)
    middlewatch.atomic_save(b"second", str(path))
    assert path.read_bytes() == b"second"
    assert names(path.parent) == ["step_1.bin", "step_1.bin.sha256"]
    told = Path(f"{path}.sha256").read_text()
    assert told == f"{hashlib.sha256(b'second').hexdigest()}  step_1.bin\n"
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "-c", "step_1.bin.sha256"], cwd=path.parent, check=True)
    atomic_save(b"third", path, manifest=False)
    assert names(path.parent) == ["step_1.bin"], "a manifest of another save is worse than none"


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    def write(text: bytes, path: str) -> None:
        assert Path(path).name == "checkpoint-1", "writers that add an ending find the right one"
        (Path(path) / "sub").mkdir(parents=True)
        (Path(path) / "model.bin").write_bytes(text)
        (Path(path) / "sub" / "rng.bin").write_bytes(b"rng")

    path = tmp_path / "checkpoint-1"
    for text in (b"old", b"new"):
        atomic_save(partial(write, text), path)
    assert names(tmp_path) == ["checkpoint-1"]
    assert (path / "model.bin").read_bytes() == b"new"
    listed = [line.split("  ")[1] for line in (path / "SHA256SUMS").read_text().splitlines()]
    assert listed == ["model.bin", "sub/rng.bin"]
    assert manifest.why_other(str(path)) == ("", "")
    (path / "sub" / "rng.bin").write_bytes(b"rnG")
    assert manifest.why_other(str(path))[0] == "corrupt"
    (path / "sub" / "rng.bin").unlink()
    assert manifest.why_other(str(path))[0] == "incomplete"


def test_what_fails_leaves_the_old_save(tmp_path: Path) -> None:
    path = tmp_path / "step_1.pt"
    atomic_save(b"old", path)

    def full(name: str) -> None:
        Path(name).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        atomic_save(full, path)
    with pytest.raises(FileNotFoundError, match="has not written"):
        atomic_save(lambda _: None, path)
    assert names(tmp_path) == ["step_1.pt", "step_1.pt.sha256"]
    assert path.read_bytes() == b"old"
    assert manifest.why_other(str(path)) == ("", "")


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import saving
real, left = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink")}, int(sys.argv[3])

def counted(name):
    def call(*args):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real[name](*args)
    return call

for name in real:
    setattr(os, name, counted(name))
saving.atomic_save(b"n" * 100000, sys.argv[2])
"""


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """The module alone, copied, in a Python that knows nothing else of us; killed before each of its steps."""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(SOURCE, alone / "saving.py")
    path = tmp_path / "out" / "step_1.pt"
    for step in range(20):
        shutil.rmtree(path.parent, ignore_errors=True)
        atomic_save(b"o" * 100000, path)
        argv = [sys.executable, "-I", "-c", KILLED, str(alone), str(path), str(step)]
        ended = subprocess.run(argv, check=False, timeout=120).returncode
        assert path.read_bytes() in (b"o" * 100000, b"n" * 100000)
        assert manifest.why_other(str(path)) == ("", ""), "no manifest speaks of another save"
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
    assert (step > 4, path.read_bytes()[:1]) == (True, b"n")
    atomic_save(b"again", path)
    assert path.read_bytes() == b"again"


def test_an_object_goes_to_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)  # may be called, and is no writer
    atomic_save(model.state_dict(), tmp_path / "a.pt")
    atomic_save(model, tmp_path / "b.pt")
    assert set(torch.load(tmp_path / "a.pt", weights_only=True)) == {"weight", "bias"}
    assert type(torch.load(tmp_path / "b.pt", weights_only=False)) is torch.nn.Linear


def test_it_costs_the_daemon_nothing() -> None:
    code = "import middlewatch, sys; print('middlewatch.saving' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "False"
