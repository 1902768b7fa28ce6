"""What a checkpoint is made of, in a few words."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.verify.composition import MOST, roster


def tensors(path: Path, names: list[str]) -> Path:
    header = {
        name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * n, 4 * n + 4]}
        for n, name in enumerate(names)
    }
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + bytes(4 * len(names)))
    return path


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "global_step5").mkdir()
    for name in ("rng_state_0.pth", "rng_state_1.pth", "optimizer.pt", "global_step5/rank_3.pt"):
        (tmp_path / name).touch()
    (tmp_path / "optimizer.pt.tmp").touch()
    assert roster(str(tmp_path)) == [
        "global_step#/rank_#.pt×1",
        "optimizer.pt×1",
        "rng_state_#.pth×2",
    ]


def test_shards_and_their_index(tmp_path: Path) -> None:
    for number in (1, 2):
        tensors(tmp_path / f"model-0000{number}-of-00002.safetensors", ["w"])
    index = tmp_path / "model.safetensors.index.json"
    index.write_text("{}")
    assert roster(str(index)) == ["model-#-of-#.safetensors×2"]


def test_a_single_file(tmp_path: Path) -> None:
    path = tensors(tmp_path / "a.safetensors", ["model.0.w", "model.1.w", "lm_head.w", "7.w"])
    assert roster(str(path)) == ["#×1", "lm_head×1", "model×2"]


def test_many_parts_are_counted_together(tmp_path: Path) -> None:
    letters = [a + b for a in "abcdefgh" for b in "abcdefgh"]
    found = roster(str(tensors(tmp_path / "a.safetensors", letters)))
    assert len(found) == MOST
    assert found[-1] == f"other tensors×{len(letters) - MOST + 1}"


@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04", bytes(4096), b"\x80\x02\x8a\n"])
def test_what_cannot_be_read_tells_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(data)
    assert roster(str(path)) == []
    assert roster(str(tmp_path / "missing.pt")) == []
