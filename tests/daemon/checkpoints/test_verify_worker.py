from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify import worker
from middlewatch.daemon.sources.checkpoint_dir import VERIFIER_ARGV


class Child:
    """The verifier on pipes, asked line by line."""

    def __init__(self, argv: tuple[str, ...] = VERIFIER_ARGV) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def say(self, line: bytes) -> dict[str, Any]:
        self.stdin.write(line + b"\n")
        self.stdin.flush()
        assert select.select([self.stdout], [], [], 120)[0], "no answer"
        answer = json.loads(self.stdout.readline())
        assert isinstance(answer, dict)
        return answer

    def ask(self, path: Path) -> dict[str, Any]:
        return self.say(json.dumps({"path": str(path)}).encode())


@pytest.fixture
def child() -> Iterator[Child]:
    child = Child()
    yield child
    child.stdin.close()
    assert child.process.wait(120) == 0
    child.stdout.close()


def test_it_answers_steps_back_and_survives_nonsense(child: Child, tmp_path: Path) -> None:
    (tmp_path / "step_7.pt").write_bytes(bytes(9000))
    answer = child.ask(tmp_path / "step_7.pt")
    assert answer == {
        "path": str(tmp_path / "step_7.pt"),
        "state": "corrupt",
        "level": "structure",
        "detail": "file is all zeroes: delayed allocation after a crash",
        "bytes": 9000,
        "files": 1,
        "format": "torch",
        "step": 7.0,
        "step_origin": "name",
        "epoch": None,
        "metrics": {},
        "parts": [],
        "digest": None,
        "writer": None,
    }
    assert "error" in child.say(b"garbage")
    assert "error" in child.say(b'{"path": 7}')
    assert child.ask(tmp_path / "gone.pt")["state"] == "incomplete"
    pid = child.process.pid
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    ionice = Path(f"/proc/{pid}/limits").read_text()
    assert str(worker.MEMORY_BYTES) in ionice


def test_it_sees_who_still_writes(child: Child, tmp_path: Path) -> None:
    path = tmp_path / "step_7.pt"
    with path.open("wb") as file:
        file.write(b"PK\x03\x04half")
        file.flush()
        assert child.ask(path)["writer"] == os.getpid()
    folder = tmp_path / "checkpoint-9"
    folder.mkdir()
    with (folder / "model.safetensors").open("wb"):
        assert child.ask(folder)["writer"] == os.getpid()
    with path.open("rb"):
        assert child.ask(path)["writer"] is None


def test_it_ends_when_nobody_asks() -> None:
    code = (
        "import sys; from middlewatch.daemon.checkpoints.verify import worker as v;"
        "v.QUIET_S = 0.05; v.step_back = int; sys.exit(v.main())"
    )
    child = Child((sys.executable, "-c", code))
    assert child.process.wait(120) == 0
    child.stdin.close()
    child.stdout.close()


def test_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, middlewatch.daemon.checkpoints.verify.worker;"
        "print(sorted({'torch', 'numpy', 'asyncio', 'pickle', 'zipfile'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout == b"[]\n"


def test_it_ends_after_a_very_large_table(tmp_path: Path) -> None:
    """Soon, and not only when it was quiet for long: that would take an hour here."""
    code = (
        "import sys; from middlewatch.daemon.checkpoints.verify import worker as v;"
        "v.QUIET_S = 3600.0; v.step_back = int; sys.exit(v.main())"
    )
    child = Child((sys.executable, "-c", code))
    names = [f"model.layers.{n}.weight" for n in range(60_000)]
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps(dict.fromkeys(names, entry)).encode()
    path = tmp_path / "step_1.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert child.ask(path)["state"] == "ok"
    assert child.process.wait(120) == 0
    child.stdin.close()
    child.stdout.close()


def test_a_large_parent_does_not_make_it_hurry() -> None:
    """The kernel hands ``ru_maxrss`` on to the program that a large process starts."""
    asked = "from middlewatch.daemon.checkpoints.verify import worker; print(worker._patience_s())"
    large = (
        "import os, sys; kept = b'x' * (96 << 20);"
        "os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    )
    told = subprocess.run(
        [sys.executable, "-c", large, asked], capture_output=True, text=True, check=True
    )
    assert float(told.stdout) == worker.QUIET_S
