"""Blocks of a file that are copies of others: found where no program makes them, quiet where programs do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify import levels

torch: Any = pytest.importorskip("torch")
save_file: Any = pytest.importorskip("safetensors.torch").save_file
PAGE = 4096


def weights(kind: Any = None) -> dict[str, Any]:
    torch.manual_seed(3)
    return {
        f"layers.{n}.w": torch.randn(120, 500).to(kind or torch.float32) * 0.02 for n in range(4)
    }


def copied(path: Path, source: int, target: int, count: int = 1) -> None:
    with path.open("r+b") as file:
        file.seek(source * PAGE)
        block = file.read(count * PAGE)
        file.seek(target * PAGE)
        file.write(block)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize(
    ("source", "target", "count"), [(9, 10, 1), (12, 40, 1), (40, 12, 1), (5, 45, 6)]
)
def test_a_block_of_another_place_is_found(
    tmp_path: Path, kind: str, source: int, target: int, count: int
) -> None:
    path = tmp_path / "model.safetensors"
    save_file(weights(getattr(torch, kind)), path)
    assert levels.describe(str(path))["state"] == "ok"
    copied(path, source, target, count)
    found = levels.describe(str(path))
    assert found["state"] == "unverifiable"
    first, second = sorted((source * PAGE, target * PAGE))
    assert f"the {count * PAGE} bytes from {first} on are those from {second} on" in found["detail"]


def test_in_the_old_format_of_torch_too(tmp_path: Path) -> None:
    path = tmp_path / "step_9.pt"
    torch.save(weights(), path, _use_new_zipfile_serialization=False)
    assert levels.describe(str(path))["state"] == "ok"
    copied(path, 20, 70)
    assert "blocks of another place" in levels.describe(str(path))["detail"]


def tied(one: dict[str, Any]) -> dict[str, Any]:
    return one | {"lm_head": one["layers.0.w"].clone(), "ema.w": one["layers.1.w"].clone()}


def ema_of_step_0(one: dict[str, Any]) -> dict[str, Any]:
    return one | {f"ema.{name}": tensor.clone() for name, tensor in one.items()}


def copied_experts(one: dict[str, Any]) -> dict[str, Any]:
    return {f"experts.{n}.w": one["layers.0.w"].clone() for n in range(24)}


def equal_rows(one: dict[str, Any]) -> dict[str, Any]:
    """New tokens that begin as the mean of all, rows of a page and of other lengths."""
    return one | {
        f"embed.{width}": torch.randn(1, width).expand(80, width).clone()
        for width in (333, 512, 1024, 2048, 4096)
    }


def masks(one: dict[str, Any]) -> dict[str, Any]:
    return one | {f"h.{n}.bias": torch.ones(200, 200).tril() for n in range(6)}


def moments(one: dict[str, Any]) -> dict[str, Any]:
    """Those of an embedding, of which most rows were never seen."""
    rows = torch.zeros(400, 768)
    rows[::7] = torch.randn(58, 768)
    return one | {"exp_avg": rows, "exp_avg_sq": rows.square(), "step": torch.zeros(1)}


def repeated(one: dict[str, Any]) -> dict[str, Any]:
    """A position table that was made longer by itself, as in Longformer."""
    return one | {"pos": torch.randn(16, 768).repeat(6, 1), "rope": torch.arange(64.0).repeat(900)}


USUAL = (tied, ema_of_step_0, copied_experts, equal_rows, masks, moments, repeated)


@pytest.mark.parametrize("make", USUAL, ids=lambda make: make.__name__)
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_copies_that_programs_make_are_quiet(
    tmp_path: Path, make: Callable[[dict[str, Any]], dict[str, Any]], kind: str
) -> None:
    tensors = {n: t.to(getattr(torch, kind)) for n, t in make(weights()).items()}
    for shift in (0, 1, 5):  # the header ends elsewhere
        path = tmp_path / f"{shift}.safetensors"
        save_file(tensors, path, metadata={"note": "x" * (517 * shift)})
        found = levels.describe(str(path))
        assert (found["state"], found["detail"]) == ("ok", "")
    path = tmp_path / "legacy.pt"
    torch.save(tensors, path, _use_new_zipfile_serialization=False)
    assert levels.describe(str(path))["state"] == "ok"
