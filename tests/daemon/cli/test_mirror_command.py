from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    header = json.dumps({"w": {"dtype": "F32", "shape": [2048], "data_offsets": [0, 8192]}})
    for step, value in ((1, 1.0), (2, 2.0), (3, float("nan"))):
        data = struct.pack("<Q", len(header)) + header.encode() + struct.pack("<f", value) * 2048
        path = folder / f"step-{step}.safetensors"
        path.write_bytes(data)
        os.utime(path, (1.7e9 + step, 1.7e9 + step))
    return folder


def mirror(tmp_path: Path, *words: str) -> tuple[int, Any, str]:
    """In a process of its own, because it takes the lowest priority."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
    env["MIDDLEWATCH_STATE_DIR"] = str(tmp_path / "state")
    env["MIDDLEWATCH_CONFIG"] = str(tmp_path / "config.toml")
    argv = [sys.executable, "-m", "middlewatch.daemon", "mirror", *words]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=300, check=False)
    return (
        done.returncode,
        json.loads(done.stdout) if "--json" in words else done.stdout,
        done.stderr,
    )


def test_it_copies_what_passes_and_says_what_does_not(out: Path, tmp_path: Path) -> None:
    far = tmp_path / "far"
    status, _, complaint = mirror(tmp_path, "--dir", str(out), "--to", str(far))
    assert (status, "is its disk mounted?" in complaint, far.exists()) == (2, True, False)
    far.mkdir()
    status, told, _ = mirror(tmp_path, "--dir", str(out), "--to", str(far), "--json")
    assert status == 1
    assert [c["state"] for c in told["copies"]] == ["failed", "ok", "ok"]
    assert "not finite" in told["copies"][0]["detail"]
    assert "same file system" in told["warning"]
    assert sorted(p.name for p in far.glob("*.safetensors")) == [
        *("step-1.safetensors", "step-2.safetensors")
    ]
    (out / "step-3.safetensors").unlink()
    status, text, _ = mirror(tmp_path, "--dir", str(out), "--to", str(far))
    assert status == 0
    assert text.count("there already") == 2
    assert str(far) in json.loads((tmp_path / "state" / "mirror.json").read_text())


def test_the_destination_may_be_configured(out: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "config.toml").write_text(f'[mirror]\nto = "{tmp_path}/far"\nbest_only = true\n')
    status, told, _ = mirror(tmp_path, "--dir", str(out), "--limit", "20MiB", "--json")
    assert (status, told["copies"]) == (0, [])  # none tells a loss, so none is best


@pytest.mark.parametrize(
    "words",
    [
        ["--dir", "OUT"],
        ["--dir", "OUT", "--to", "OUT/inside"],
        ["--dir", "OUT", "--to", "me@box:"],
        ["--dir", "OUT", "--to", "FAR", "--limit", "fast"],
        ["--dir", "OUT/nowhere", "--to", "FAR"],
    ],
)
def test_usage(words: list[str], out: Path, tmp_path: Path) -> None:
    given = [w.replace("OUT", str(out)).replace("FAR", str(tmp_path / "far")) for w in words]
    assert mirror(tmp_path, *given)[0] == 2
