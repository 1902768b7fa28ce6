from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.mirror.receipt import RECEIPT
from middlewatch.daemon.mirror.source import COPIER_ARGV

MIB = 1 << 20


class Child:
    """The copier on pipes, asked line by line."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(COPIER_ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, line: bytes) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        assert select.select([self.process.stdout], [], [], 120)[0], "no answer"
        answer = json.loads(self.process.stdout.readline())
        assert isinstance(answer, dict)
        return answer

    def ask(self, path: Path, to: Path, **more: object) -> dict[str, Any]:
        question = {"path": str(path), "place": path.name, "to": str(to), **more}
        return self.say(json.dumps(question).encode())

    def finish(self, path: Path, to: Path, **more: object) -> dict[str, Any]:
        """Asks until it is done: one answer may come in the middle of a copy on a busy box."""
        while (answer := self.ask(path, to, **more))["state"] == "copying":
            pass
        return answer


@pytest.fixture
def child() -> Iterator[Child]:
    child = Child()
    yield child
    assert child.process.stdin is not None
    assert child.process.stdout is not None
    child.process.stdin.close()
    assert child.process.wait(120) == 0
    child.process.stdout.close()


def test_it_copies_and_survives_nonsense(child: Child, tmp_path: Path) -> None:
    source = tmp_path / "step_1.pt"
    source.write_bytes(os.urandom(MIB))
    answer = child.finish(source, tmp_path / "far", step=1, memory=str(tmp_path / "mirror.json"))
    assert (answer["state"], answer["copied"], answer["bytes"]) == ("ok", True, MIB)
    assert answer["digest"].startswith("xxh3:")
    assert (tmp_path / "far" / f"step_1.pt{RECEIPT}").exists()
    assert child.finish(source, tmp_path / "far")["copied"] is False
    assert str(tmp_path / "far") in json.loads((tmp_path / "mirror.json").read_text())
    for line in (b"", b"{", b"[]", b'{"path": 1}', b'{"path": 1, "to": 2, "place": 3}', b"\xff"):
        assert "error" in child.say(line)
    assert child.ask(tmp_path / "none.pt", tmp_path / "far")["state"] == "gone"
    assert child.ask(source, tmp_path / "step_1.pt")["state"] == "failed"
    assert child.ask(source, Path("nobody@nowhere:/x"))["state"] == "failed"
    with open(f"/proc/{child.process.pid}/stat", encoding="ascii") as stat:
        assert stat.read().rpartition(")")[2].split()[16] == "19"  # nice
    with open(f"/proc/{child.process.pid}/status", encoding="ascii") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 40_000


def test_a_long_copy_is_told_in_pieces_and_can_be_left(child: Child, tmp_path: Path) -> None:
    source = tmp_path / "step_1.pt"
    source.write_bytes(os.urandom(4 * MIB))
    answer = child.ask(source, tmp_path / "far", limit=MIB)
    assert answer["state"] == "copying"
    assert 0 < answer["done"] < answer["total"] == 8 * MIB
    other = tmp_path / "step_2.pt"
    other.write_bytes(b"2")
    assert child.finish(other, tmp_path / "far")["state"] == "ok"
    assert child.finish(source, tmp_path / "far")["state"] == "ok"
