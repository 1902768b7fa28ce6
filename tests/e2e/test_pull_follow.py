"""``pull --follow``: checkpoints come home while the run trains, and a lost box costs one interval."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fakes.far_box import NAME, FarBox, command_folder, far_box

pytestmark = [pytest.mark.system, pytest.mark.slow]

SAVER = """
import json, struct, sys, time
from pathlib import Path
out, until = Path(sys.argv[1]), Path(sys.argv[2])
out.mkdir(exist_ok=True)
header = json.dumps({"w": {"dtype": "F32", "shape": [65536], "data_offsets": [0, 262144]}}).encode()
for step in range(1, 100000):
    print(f"step {step}/100000 loss {1 / step + 1:.4f}", flush=True)
    if step % 100 == 0:
        partial = out / f"step-{step:06}.safetensors.tmp"
        partial.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<f", 1 / step) * 65536)
        partial.rename(out / f"step-{step:06}.safetensors")
    if until.exists():
        break
    time.sleep(0.03)
"""


@pytest.fixture
def far(box: Any, tmp_path: Path) -> Iterator[FarBox]:
    commands = command_folder(tmp_path / "commands")
    variables = {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "MIDDLEWATCH_STATE_DIR": str(box.state),
        "MIDDLEWATCH_CONFIG": str(box.root / "config.toml"),
    }
    with far_box(tmp_path / "sshd", variables) as made:
        yield made


def follow(far: FarBox, home: Path) -> subprocess.Popen[str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
    words = ["pull", f"{NAME}:gpt", "results", "--follow", "--every", "0.5", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "middlewatch.daemon", *words],
        env={**own, **far.env(), "MIDDLEWATCH_STATE_DIR": str(home / "state")},
        cwd=home,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def test_each_checkpoint_comes_home_and_the_end_is_signed(
    box: Any, far: FarBox, tmp_path: Path
) -> None:
    home, until = tmp_path / "home", tmp_path / "until"
    home.mkdir()
    options = ("--checkpoints", str(box.root / "out"))
    command = (sys.executable, "-c", SAVER, str(box.root / "out"), str(until))
    run = box.run(*command, name="gpt", options=options)
    process = follow(far, home)
    told = events(process)
    saves = [one for one in (next(told), next(told)) if one["type"] == "checkpoint"]
    assert saves, "two events, and none is a checkpoint"
    for one in saves:
        path = home / "results" / run / one["name"]
        assert path.read_bytes() == Path(one["path"]).read_bytes()
    assert not (home / "results/PULL_VERIFIED.json").exists(), "the run still trains"
    until.touch()
    end = next(one for one in told if one["type"] == "end")
    assert process.wait() == 0, process.stderr and process.stderr.read()
    assert end["ok"] is True
    kept = {Path(c["path"]).name for c in end["runs"][0]["checkpoints"]}
    assert kept == {path.name for path in (box.root / "out").iterdir()}
    receipt = json.loads((home / "results/PULL_VERIFIED.json").read_text())
    assert receipt["runs"][run]["alive"] is False
    assert process.communicate()[1] == ""


def test_a_lost_box_leaves_what_was_proved(box: Any, far: FarBox, tmp_path: Path) -> None:
    home, until = tmp_path / "home", tmp_path / "until"
    home.mkdir()
    options = ("--checkpoints", str(box.root / "out"))
    command = (sys.executable, "-c", SAVER, str(box.root / "out"), str(until))
    run = box.run(*command, name="gpt", options=options)
    process = follow(far, home)
    told = events(process)
    first = next(one for one in told if one["type"] == "checkpoint")
    far.close()  # preempted
    lost = next(one for one in told if one["type"] == "unreachable")
    assert NAME in lost["why"]
    assert (home / "results" / run / first["name"]).stat().st_size == first["bytes"]
    process.kill()
    process.communicate()
    memory = json.loads((home / "results" / run / ".middlewatch-pull.json").read_text())
    assert first["name"] in memory["checkpoints"]
    assert not (home / "results/PULL_VERIFIED.json").exists()
    far.open()  # it comes back
    until.touch()
    again = follow(far, home)
    assert "end" in {one["type"] for one in events(again)}
    assert again.wait() == 0
    again.communicate()
