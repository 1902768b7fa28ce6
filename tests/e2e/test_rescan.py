"""``checkpoints --rescan``: by the daemon while a run lives, by the command when it is over."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]


def tensors(path: Path, first: float = 1.0) -> None:
    entry = {"dtype": "F32", "shape": [8], "data_offsets": [0, 32]}
    header = json.dumps({"layer.weight": entry}).encode()
    data = struct.pack("<Q", len(header)) + header + struct.pack("<8f", first, *[2.0] * 7)
    path.write_bytes(data)


def rotten(path: Path) -> None:
    """Other bytes, with the time that it had."""
    stat = path.stat()
    tensors(path, 1.5)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.slow
def test_while_it_runs_and_when_it_is_over(box: Any, program: Program) -> None:
    out = box.root / "out"
    out.mkdir()
    for step in (1, 2, 3):
        tensors(out / f"step_{step}.safetensors")
    run = box.run(*program("trainer"), "none", name="gpt", options=("--checkpoints", str(out)))

    def verdicts() -> list[tuple[str, str | None]]:
        index = box.ask("checkpoints", run=run)
        known = [c["verified"] for c in index["checkpoints"]]
        return [(v["state"], v["level"]) for v in known]

    whole = [("ok", "structure"), ("ok", "structure"), ("ok", "finite")]
    box.until(lambda: verdicts() == whole, "the newest is read")
    before = box.ask("checkpoints", run=run)["checkpoints"]

    done = box.command("checkpoints", "gpt", "--rescan", "--json")
    after = json.loads(done.stdout)["checkpoints"]
    assert [c["path"] for c in after] == [c["path"] for c in before]
    pairs = zip(before, after, strict=True)
    assert all(new["verified"]["at"] > old["verified"]["at"] for old, new in pairs)
    box.until(lambda: verdicts() == [("ok", "finite")] * 3, "now all are read")

    box.command("stop")
    rotten(out / "step_3.safetensors")
    done = box.command("checkpoints", "gpt", "--rescan", "--json", check=False)
    assert done.returncode == 1
    path = box.state / "runs" / run / "checkpoints_index.json"
    assert json.loads(path.read_text()) == json.loads(done.stdout)
    newest = json.loads(done.stdout)["checkpoints"][-1]["verified"]
    assert (newest["state"], newest["level"]) == ("corrupt", "checksum")

    box.command("start")
    assert verdicts()[2] == ("corrupt", "checksum"), "what the command found is not forgotten"
    os.kill(box.status(run)["pid"], 9)
    box.until(lambda: box.status(run)["ended_at"], "the run is over")
    rotten(out / "step_2.safetensors")
    box.command("checkpoints", "gpt", "--rescan", check=False)
    index = box.ask("checkpoints", run=run)
    states = [c["verified"]["state"] for c in index["checkpoints"]]
    assert states == ["ok", "corrupt", "corrupt"]
    assert index["resume_from"] == str(out / "step_1.safetensors")
    assert index == json.loads(path.read_text())
