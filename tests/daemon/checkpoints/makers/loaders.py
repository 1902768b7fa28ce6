"""Load checkpoints as their own libraries do. Asked by lines ``KIND<tab>PATH`` on stdin.

The answer is one line: ``silent``, or what went wrong.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

torch: Any = importlib.import_module("torch")


def lone_torch(path: Path) -> None:
    torch.load(path, weights_only=True)


def lone_safetensors(path: Path) -> None:
    importlib.import_module("safetensors.torch").load_file(path)


def sharded(path: Path) -> None:
    pretrained(path.parent)


def pretrained(folder: Path) -> None:
    importlib.import_module("transformers").GPT2LMHeadModel.from_pretrained(folder)


def trainer(folder: Path) -> None:
    """What resuming reads."""
    pretrained(folder)
    for name in ("optimizer.pt", "scheduler.pt"):
        torch.load(folder / name, weights_only=True)
    json.loads((folder / "trainer_state.json").read_text())["global_step"]


def distributed(folder: Path) -> None:
    convert = importlib.import_module("torch.distributed.checkpoint.format_utils")
    with tempfile.TemporaryDirectory() as there:
        convert.dcp_to_torch_save(folder, Path(there) / "whole.pt")


def deepspeed(folder: Path) -> None:
    """The file of the model and those of both ranks, by the name that ``latest`` gives."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    importlib.import_module("deepspeed")
    tag = folder.parent / (folder.parent / "latest").read_text()
    torch.load(tag / "mp_rank_00_model_states.pt", weights_only=False)
    for rank in (0, 1):
        torch.load(tag / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt", weights_only=False)


LOADERS: dict[str, Callable[[Path], None]] = {
    "torch zip": lone_torch,
    "torch legacy": lone_torch,
    "safetensors": lone_safetensors,
    "safetensors, sharded": sharded,
    "HF checkpoint-N": trainer,
    "DCP": distributed,
    "DeepSpeed": deepspeed,
    "Lightning": lone_torch,
}


def answer(kind: str, path: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            LOADERS[kind](Path(path))
        except BaseException as error:  # noqa: BLE001 - what torch.distributed raises is no Exception
            return " ".join(f"{type(error).__name__}: {error}".split())[:200] or "error"
    return "silent"


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(answer(*line.rstrip("\n").split("\t")), flush=True)
