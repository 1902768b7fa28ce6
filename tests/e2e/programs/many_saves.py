"""Saves again and again, in every way that trainers do, some of it damaged; keeps a journal.

    many_saves.py OUT JOURNAL --saves 200 --seed 7 --every 0.2

A line of the journal is ``{"at", "op": "saved" | "deleted" | "all saved", "path", "step",
"harm"}``; ``harm`` is what is wrong with a save, empty where nothing is. A deletion is written
down before it begins. When everything is saved it lives on until it is killed.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import random
import shutil
import time
from collections import deque
from pathlib import Path
from typing import IO, Any

import torch
from safetensors.torch import save_file

KEPT = 4
"""Of every kind; one more is there while the oldest is deleted."""
HARMS = {
    "renamed": ("cut", "zeroes", "bit", "nan"),
    "in_place": ("cut",),
    "tensors": ("cut", "nan"),
    "folder": ("cut", "nan"),
    "rolling": ("nan",),
}
"""What may be wrong with a save of a kind."""


class Saver:
    """One training run that only saves."""

    def __init__(self, out: Path, journal: IO[str], seed: int) -> None:
        self.out = out
        self.journal = journal
        self.random = random.Random(seed)
        self.kept: dict[str, deque[Path]] = {kind: deque() for kind in HARMS}

    def note(self, op: str, path: Path | None = None, **more: Any) -> None:
        line = {"at": time.time(), "op": op, "path": str(path) if path else "", **more}
        self.journal.write(json.dumps(line) + "\n")
        self.journal.flush()

    def save(self, step: int, *, harmless: bool) -> None:
        kind = self.random.choice(list(HARMS))
        harm = ""
        if not harmless and self.random.random() < 0.3:
            harm = self.random.choice(HARMS[kind])
        path: Path = getattr(self, kind)(step, harm)
        self.note("saved", path, step=step, harm=harm)
        kept = self.kept[kind]
        if path not in kept:
            kept.append(path)
        if len(kept) > KEPT:
            oldest = kept.popleft()
            self.note("deleted", oldest)
            if oldest.is_dir():
                shutil.rmtree(oldest)
            else:
                oldest.unlink()

    def state(self, step: int, harm: str) -> dict[str, Any]:
        weight = torch.randn(64, 32)
        if harm == "nan":
            weight[3, 5] = math.nan
        return {"model": {"weight": weight, "bias": torch.ones(8)}, "global_step": step}

    def renamed(self, step: int, harm: str) -> Path:
        path = self.out / f"renamed-{step:05d}.pt"
        temporary = path.with_suffix(".pt.tmp")
        torch.save(self.state(step, harm), temporary)
        damage(temporary, harm)
        os.replace(temporary, path)
        return path

    def in_place(self, step: int, harm: str) -> Path:
        """Written in three pieces under its own name; what is cut was given up half-way."""
        path = self.out / f"in_place-{step:05d}.pt"
        whole = io.BytesIO()
        torch.save(self.state(step, harm), whole)
        data = whole.getvalue()
        third = len(data) // 3
        pieces = [data[:third], data[third : 2 * third], data[2 * third :]]
        with path.open("wb", buffering=0) as file:
            for piece in pieces[: 2 if harm == "cut" else 3]:
                file.write(piece)
                time.sleep(0.02)
        return path

    def tensors(self, step: int, harm: str) -> Path:
        path = self.out / f"tensors-{step:05d}.safetensors"
        temporary = path.with_suffix(".tmp")
        save_file(self.state(step, harm)["model"], temporary)
        damage(temporary, harm)
        os.replace(temporary, path)
        return path

    def folder(self, step: int, harm: str) -> Path:
        """As a Trainer does it: file by file, the state last."""
        path = self.out / f"checkpoint-{step}"
        path.mkdir()
        state = self.state(step, harm)
        save_file(state["model"], path / "model.safetensors")
        if harm == "cut":
            damage(path / "model.safetensors", harm)
        time.sleep(0.02)
        torch.save({"state": {0: {"exp_avg": torch.zeros(9)}}}, path / "optimizer.pt")
        progress = {"global_step": step, "epoch": 1.0, "log_history": []}
        (path / "trainer_state.json").write_text(json.dumps(progress))
        return path

    def rolling(self, step: int, harm: str) -> Path:
        path = self.out / "last.ckpt"
        torch.save(self.state(step, harm), path)
        return path


def damage(path: Path, harm: str) -> None:
    """Cut a file, lose its end, or flip a bit in its middle, where the numbers lie."""
    data = bytearray(path.read_bytes())
    if harm == "cut":
        del data[len(data) // 2 :]
    elif harm == "zeroes":
        data[-200:] = bytes(200)
    elif harm == "bit":
        data[len(data) // 2] ^= 1
    else:
        return
    path.write_bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--every", type=float, default=0.2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    with args.journal.open("a") as journal:
        saver = Saver(args.out, journal, args.seed)
        for step in range(1, args.saves + 1):
            # The last ones are sound: what is cut is waited for, and this must come to an end.
            saver.save(step, harmless=step > 0.9 * args.saves)
            print(f"step {step}: loss {2 + 1 / step:.4f}", flush=True)
            time.sleep(args.every)
        saver.note("all saved")
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main()
