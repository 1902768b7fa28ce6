"""What ``resume --exec`` puts aside, if the configuration asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from middlewatch.daemon.cli.quarantine import quarantine_before_resume
from middlewatch.daemon.config.load import parse


def row(path: Path, state: str) -> dict[str, object]:
    return {"path": str(path), "step": 9, "state": state, "detail": "cut off"}


def test_it_is_off_unless_somebody_asks() -> None:
    assert not parse("", "").checkpoints.quarantine
    assert parse("[checkpoints]\nquarantine = true\n", "f").checkpoints.quarantine


def test_what_is_bad_gets_another_name_at_once(tmp_path: Path) -> None:
    bad, folder, odd = tmp_path / "step_9.pt", tmp_path / "checkpoint-9", tmp_path / "step_8.pt"
    folder.mkdir()
    for path in (bad, odd, folder / "model.safetensors"):
        path.write_bytes(b"half")
    told: list[str] = []
    rows = [row(bad, "corrupt"), row(folder, "incomplete"), row(odd, "unverifiable")]
    left = quarantine_before_resume(rows, say=told.append)
    assert [one["state"] for one in left] == ["gone", "gone", "unverifiable"]
    assert (tmp_path / "step_9.pt.quarantined").read_bytes() == b"half"
    assert (tmp_path / "checkpoint-9.quarantined" / "model.safetensors").exists()
    assert odd.exists()
    assert told == [f"renamed: {bad}.quarantined", f"renamed: {folder}.quarantined"]


def test_what_is_in_use_or_would_hide_another_keeps_its_name(tmp_path: Path) -> None:
    open_one, twice, link = (tmp_path / name for name in ("a_9.pt", "b_9.pt", "c_9.pt"))
    for path in (open_one, twice, Path(f"{twice}.quarantined")):
        path.write_bytes(b"half")
    link.symlink_to(twice)
    told: list[str] = []
    holds = "import sys; held = open(sys.argv[1], 'r+b'); print('open', flush=True); input()"
    argv = [sys.executable, "-c", holds, str(open_one)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"open\n"
        rows = [row(path, "corrupt") for path in (open_one, twice, link)]
        left = quarantine_before_resume(rows, say=told.append)
        writer.kill()
    assert [one["state"] for one in left] == ["corrupt"] * 3
    assert told == []
    assert all(path.exists() for path in (open_one, twice, link))
