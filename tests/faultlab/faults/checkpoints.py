"""Checkpoints that are no good."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..bench import Bench
from ..lab import DELIVERY_S, Fault
from .hangs import torch_is_there


def _truncate(bench: Bench, path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, bench.random.randint(size // 4, size * 9 // 10))


def _flip(bench: Bench, path: Path) -> None:
    """One bit somewhere in the tensors."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        place = bench.random.randint(size // 3, size * 2 // 3)
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << bench.random.randint(0, 7)]))


def damaged(how: Callable[[Bench, Path], None]) -> Callable[[Bench], None]:
    """A real torch checkpoint, damaged as soon as it lies there."""

    def arrange(bench: Bench) -> None:
        torch_is_there()
        out = bench.root / "out"
        words = ("--save-every", 200, "--out", out, "--pace", 0.08)
        bench.train(*bench.program("charlm", "none", *words), checkpoints=[out])
        which = bench.random.randint(2, 3)
        path = bench.until(lambda: _nth(out, which), 100, "saves")
        bench.inject(lambda: how(bench, path))

    return arrange


def _nth(out: Path, count: int) -> Path | None:
    saves = sorted(out.glob("step-*.pt"), key=lambda p: p.stat().st_mtime)
    return saves[-1] if len(saves) >= count else None


def killed_in_save(bench: Bench) -> None:
    """What a kill in the middle of a save leaves behind."""
    out = bench.root / "out"
    words = ("--save-every", 40, "--at", 120, "--out", out, "--size", 4 << 20, "--pace", 0.1)
    bench.train(*bench.program("plain", "cut_save", *words), checkpoints=[out])


def saving(bench: Bench) -> None:
    """Good saves, one after the other."""
    torch_is_there()
    out = bench.root / "out"
    words = ("--save-every", 200, "--out", out, "--pace", 0.08)
    bench.train(*bench.program("charlm", "none", *words), checkpoints=[out])


TRUNCATED = Fault(
    "27",
    "checkpoint_truncated",
    damaged(_truncate),
    classes=frozenset({"ckpt_corrupt", "ckpt_incomplete"}),
    cause="checkpoint|step-|corrupt|truncat",
    remedy=r"previous|earlier|valid|good|verified|before",
    least="warning",
    deadline_s=60 + DELIVERY_S,
    weight=0.2,
)
FAULTS = (
    TRUNCATED,
    replace(
        TRUNCATED,
        number="28",
        name="checkpoint_bit_flipped",
        arrange=damaged(_flip),
        classes=frozenset({"ckpt_corrupt"}),
    ),
    replace(
        TRUNCATED,
        number="29",
        name="save_cut_by_kill",
        arrange=killed_in_save,
        classes=frozenset({"ckpt_incomplete"}),
        also=frozenset({"process_killed"}),
        least="note",
        weight=0.1,
    ),
    Fault("C9", "healthy_saves", saving, kind="control", length_s=90, weight=0.2),
)
