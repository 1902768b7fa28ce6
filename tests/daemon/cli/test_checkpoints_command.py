"""``checkpoints --rescan`` where nobody watches, and how an index is shown."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli.checkpoints import show
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.system.store import Store

Say = Callable[..., tuple[int, str, str]]


def tensors(path: Path, first: float = 1.0, *, cut: int = 0) -> None:
    entry = {"dtype": "F32", "shape": [8], "data_offsets": [0, 32]}
    header = json.dumps({"layer.weight": entry}).encode()
    data = struct.pack("<Q", len(header)) + header + struct.pack("<8f", first, *[2.0] * 7)
    path.write_bytes(data[: len(data) - cut])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    for step in (1, 2, 3):
        path = folder / f"step_{step}.safetensors"
        tensors(path)
        os.utime(path, (1e9 + step, 1e9 + step))
    return folder


def stored(tmp_path: Path, out: Path) -> StateDir:
    """What a daemon has left that watched a run."""
    state = StateDir(tmp_path / "state")
    state.root.mkdir()
    spec = RunSpec("gpt", started_at=5.0, checkpoint_dirs=(str(out),), id="gpt-12ab")
    store = Store(state.store, state.reserve)
    store.put("run", spec.id, {"spec": spec.to_json()}, 5.0)
    store.flush()
    store.close()
    return state


def test_a_folder_without_run_and_daemon(out: Path, say: Say) -> None:
    tensors(out / "step_4.safetensors", math.nan)
    tensors(out / "step_5.safetensors.tmp")
    status, text, _ = say("checkpoints", "--rescan", "--dir", str(out), "--json")
    index = json.loads(text)
    assert (status, index["run"]) == (1, "out")
    assert [(c["step"], c["verified"]["state"]) for c in index["checkpoints"]] == [
        (1, "ok"),
        (2, "ok"),
        (3, "ok"),
        (4, "corrupt"),
    ]
    assert {c["verified"]["level"] for c in index["checkpoints"]} == {"finite"}
    assert all(c["digest"].startswith("xxh3:") for c in index["checkpoints"])
    assert index["resume_from"] == str(out / "step_3.safetensors")
    assert index["checkpoints"][0]["parts"] == ["layer×1"]
    assert index["checkpoints"][0]["step_origin"] == "name"


def test_as_a_table(out: Path, say: Say) -> None:
    tensors(out / "step_4.safetensors", cut=1)
    status, text, _ = say("checkpoints", "--rescan", "--dir", str(out))
    lines = text.splitlines()
    assert status == 1
    assert lines[0].split() == [
        "STEP", "SAVED", "SIZE", "VERIFIED", "LEVEL", "MARKS", "SURVIVES", "DIGEST", "PATH",
    ]  # fmt: skip
    assert lines[1].startswith("1     2001-09-09 01:46:41")
    assert "  resume  " in lines[3]
    assert "corrupt   structure  latest" in lines[4]
    assert lines[5].startswith(f"{out}/step_4.safetensors: ")
    assert lines[-2] == "size: stable over 3 saves"
    assert lines[-1] == f"would resume from: {out}/step_3.safetensors"


def test_a_run_whose_daemon_is_gone(tmp_path: Path, out: Path, say: Say) -> None:
    state = stored(tmp_path, out)
    status, text, _ = say("checkpoints", "gpt", "--rescan", "--json")
    first = json.loads(text)
    assert (status, first["run"], len(first["checkpoints"])) == (0, "gpt-12ab", 3)
    assert json.loads(state.checkpoint_index("gpt-12ab").read_text()) == first


def test_rot_is_found_by_the_digests_of_the_last_index(tmp_path: Path, out: Path, say: Say) -> None:
    stored(tmp_path, out)
    say("checkpoints", "--rescan")
    path = out / "step_3.safetensors"
    tensors(path, 1.5)
    os.utime(path, (1e9 + 3, 1e9 + 3))
    for _ in range(2):
        status, text, _ = say("checkpoints", "gpt-12ab", "--rescan", "--json")
        newest = json.loads(text)["checkpoints"][-1]
        assert (status, newest["verified"]["state"]) == (1, "corrupt")
        assert "although nobody wrote it" in newest["verified"]["detail"]
    assert json.loads(text)["resume_from"].endswith("step_2.safetensors")


def test_an_index_that_is_damaged_is_made_anew(tmp_path: Path, out: Path, say: Say) -> None:
    path = stored(tmp_path, out).checkpoint_index("gpt-12ab")
    path.parent.mkdir(parents=True)
    for text in ("", "{", "[]", '{"checkpoints": 3}', '{"checkpoints": [{}]}'):
        path.write_text(text)
        assert say("checkpoints", "--rescan")[0] == 0
        assert len(json.loads(path.read_text())["checkpoints"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        ("--dir", "."),
        ("gpt", "--rescan", "--dir", "."),
        ("--rescan", "--dir", "no/such/folder"),
        ("--rescan",),
        ("nobody", "--rescan"),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], say: Say) -> None:
    status, _, told = say("checkpoints", *words)
    assert status == 2
    assert told.startswith("middlewatch: ") or "error" in told


def test_an_empty_folder(tmp_path: Path, say: Say) -> None:
    assert say("checkpoints", "--rescan", "--dir", str(tmp_path))[:2] == (
        0,
        "no checkpoint has been seen yet\n",
    )


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        (None, "-"),
        ((None, None), "unknown"),
        ((False, False), "nothing"),
        ((True, False), "stop"),
        ((True, None), "stop"),
        ((True, True), "destroy"),
    ],
)
def test_what_a_place_outlives(
    out: Path, say: Say, capsys: pytest.CaptureFixture[str], known: Any, shown: str
) -> None:
    _, text, _ = say("checkpoints", "--rescan", "--dir", str(out), "--json")
    index = json.loads(text)
    for entry in index["checkpoints"]:
        entry["durability"] = known and {
            "survives_stop": known[0],
            "survives_destroy": known[1],
            "where": "somewhere",
        }
    index["size_trend"] = {"direction": "growing", "saves": 3, "bytes_per_save": 2048}
    index |= {"best_metric": "accuracy", "best_mode": "max"}
    show(index, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[-3] == shown
    assert lines[-3:-1] == [
        "size: growing over 3 saves, +2.0 KiB a save",
        "best by: accuracy (max)",
    ]
