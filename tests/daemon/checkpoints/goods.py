"""Good checkpoints, made by the libraries themselves: which ones, and what is true of each.

The makers run in processes of their own, once per run of the tests: several test processes
share what the first one made.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

MAKERS = Path(__file__).parent / "makers"
WANTS = {
    "torch": ("torch",),
    "transformers": ("torch", "safetensors", "transformers", "accelerate"),
    "lightning": ("torch", "lightning"),
    "distributed": ("torch",),
    "deepspeed": ("torch", "deepspeed"),
    "keras": ("torch", "keras", "h5py"),
}
"""Maker: the libraries without which it cannot run."""
_LONGEST_S = 900
REMARK = r"not finite, but not counted as damage: .*"
"""What a callback remembers may be infinite: it is told, and no fault."""


@dataclass(frozen=True)
class Good:
    """One checkpoint that is as it should be."""

    maker: str
    path: str
    """In the folder of its maker; may hold ``*`` where the library puts a loss into the name."""
    format: str = "torch"
    step: float | None = None
    epoch: float | None = None
    level: str = "finite"
    """The highest level that it can pass."""
    detail: str = ""
    """A pattern for what is said although it is ok."""


def _torch() -> list[Good]:
    return [
        Good("torch", "weights.pt"),
        Good("torch", "full.pt", step=1200, epoch=3),
        Good("torch", "types.pt"),
        Good("torch", "views.pt"),
        Good("torch", "masks.pt"),
        Good("torch", "callbacks.pt", step=77, epoch=1, detail=REMARK),
        Good("torch", "amsgrad.pt", step=3),
        Good("torch", "adafactor.pt", step=3),
        Good("torch", "rmsprop.pt", step=3),
        Good("torch", "rprop.pt", step=3),
        Good("torch", "ema.pth"),
        Good("torch", "sparse.pt"),
        Good("torch", "quantized.pt"),
        Good("torch", "module.pt"),
        Good("torch", "parameter.pt"),
        Good("torch", "list.pt"),
        Good("torch", "nothing.pt", step=5),
        Good("torch", "empty_tensors.pt"),
        Good("torch", "many.pt"),
        Good("torch", "检查点 第三步=40 é.pt", step=40),
        Good("torch", "protocol_5.pt", step=1200, epoch=3),
        Good("torch", "big.pt", step=9),
        Good("torch", "numbers.pt"),
        Good("torch", "no_sums.pt", step=1200, epoch=3, detail="its writer left the checksums out"),
        Good("torch", "aligned.pt", step=1200, epoch=3),
        Good("torch", "script.pt", detail=r"15 of 36 records are compressed: .*"),
        Good("torch", "model_epoch_4.tar", epoch=4),
        Good("torch", "old_weights.pt"),
        Good("torch", "old_full.pth", step=1200, epoch=3),
        Good("torch", "old_amsgrad.pt", step=3),
        Good("torch", "old_types.pt"),
        Good("torch", "old_views.pt"),
        Good("torch", "old_masks.pt"),
        Good("torch", "old_callbacks.pt", step=77, epoch=1, detail=REMARK),
        Good("torch", "old_module.pt"),
        Good("torch", "old_many.pt"),
    ]


def _transformers() -> list[Good]:
    tensors = ("model", "scalar", "nothing", "types", "ints", "mask")
    models = ("one/model", "llama/model")
    saves = [
        ("plain", 2, 0.5),
        ("plain", 4, 1.0),
        ("plain", 6, 1.5),
        ("judged", 2, 0.5),
        ("judged", 6, 1.5),
        ("weights_only", 6, 1.5),
        ("sixteen", 3, 0.75),
        ("bert", 6, 1.5),
    ]
    return [
        *(Good("transformers", f"tensors/{n}.safetensors", "safetensors") for n in tensors),
        *(Good("transformers", f"pretrained/{n}.safetensors", "safetensors") for n in models),
        Good("transformers", "pretrained/sharded/model.safetensors.index.json", "safetensors"),
        Good("transformers", "pretrained/half/model.safetensors.index.json", "safetensors"),
        *(
            Good(
                "transformers",
                f"trainers/{name}/checkpoint-{step}",
                "hf",
                step,
                epoch,
                detail="no optimizer state in it" if name == "weights_only" else "",
            )
            for name, step, epoch in saves
        ),
        Good("transformers", "states/checkpoint_12", "safetensors", 12),
        Good("transformers", "states/step_24", "torch", 24),
    ]


def _lightning() -> list[Good]:
    return [
        Good("lightning", "top/epoch=1-step=8-val_loss=*.ckpt", "lightning", 8, 1),
        Good("lightning", "top/epoch=2-step=12-val_loss=*.ckpt", "lightning", 12, 2),
        Good("lightning", "top/last.ckpt", "lightning", 12, 2),
        Good("lightning", "light/epoch=2-step=12.ckpt", "lightning", 12, 2),
        Good(
            "lightning",
            "standard/checkpoints/epoch=2-step=12.ckpt",
            "lightning",
            12,
            2,
            detail=f"(?:{REMARK})?",
        ),
        Good("lightning", "by_hand.ckpt", "lightning", 12, 3),
        Good("lightning", "by_hand_weights.ckpt", "lightning", 12, 3),
        Good("lightning", "fabric.ckpt", "torch", 30),
        Good("lightning", "litgpt/step-00000016", "torch", 16),
        Good("lightning", "litgpt/final/lit_model.pth", "torch", 16),
        Good("lightning", "litgpt/finetuned/lit_model.pth", "torch"),
    ]


def _distributed() -> list[Good]:
    return [
        Good("distributed", "step_40", "dcp", 40),
        Good("distributed", "step_50", "dcp", 50),
        Good("distributed", "async/step_60", "dcp", 60),
        Good("distributed", "step_70", "dcp", 70),
        Good("distributed", "fsdp/step-80", "dcp", 80),
        Good("distributed", "back/step_80", "dcp", 80),
        Good("distributed", "fsdp_whole.pt", "torch", 80),
        Good("distributed", "converted.pt", "torch", 70),
    ]


GOODS = (
    *_torch(),
    *_transformers(),
    *_lightning(),
    *_distributed(),
    *(Good("deepspeed", f"zero{n}/global_step3", "deepspeed", 3, 2) for n in range(4)),
    Good("keras", "model-01.keras", "unknown", 1),
    Good("keras", "model-02.keras", "unknown", 2),
    Good("keras", "model.weights.h5", "unknown", 2),
    Good("keras", "model_whole.h5", "unknown", 2),
)
"""All of them."""


def made(maker: str, base: Path) -> Path:
    """The folder of a maker; it runs if nobody ran it in this run of the tests."""
    absent = [name for name in WANTS[maker] if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"good-{maker}"
    with (shared / f"good-{maker}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _run(maker, folder)
    return folder


def _run(maker: str, folder: Path) -> None:
    """In a folder of another name first: what is there under its own name is whole."""
    begun = folder.with_suffix(".begun")
    begun.mkdir()
    script = MAKERS / f"make_{maker}.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(begun)],
        env=os.environ
        | {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    begun.rename(folder)


def found(good: Good, base: Path) -> Path:
    """Where it lies now."""
    folder = made(good.maker, base)
    (path,) = folder.glob(good.path) if "*" in good.path else [folder / good.path]
    return path
