"""A small honest trainer: gradient descent on a least-squares problem, in many troubles.

    trainer.py MODE [--steps N] [--sleep S] [--at STEP] [--wait FILE] [--out DIR] [--size BYTES]

Prints ``step I/N loss X lr Y``; MODE says what becomes of it at STEP.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def descend(lr: Iterator[float]) -> Iterator[tuple[float, float]]:
    """(loss, rate) of real steps; a rate above 1 makes the loss overflow to inf, then NaN."""
    rng = random.Random(7)
    w, goal = 4.0, 0.5
    for rate in lr:
        noise = rng.gauss(0, 0.05)
        gap = w - goal
        loss = 0.5 * gap * gap + abs(noise)
        yield loss, rate
        w = w - rate * (gap + noise)


def burn(seconds: float, cores: float) -> None:
    """Work for a while at a part of one core, without a word."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        spin = time.monotonic() + 0.1 * cores
        while time.monotonic() < spin:
            sum(range(500))
        time.sleep(0.1 * (1 - cores))


def save(folder: Path, step: int, size: int, pause: float = 0.0, *, lost: bool = False) -> None:
    """A safetensors file of one float tensor, written piece by piece, then renamed.

    ``lost``: every number of it is NaN, as of a run whose loss is.
    """
    header = (
        f'{{"w":{{"dtype":"F32","shape":[{size // 4}],"data_offsets":[0,{size // 4 * 4}]}}}}'
    ).encode()
    header += b" " * (-len(header) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"step-{step:06d}.safetensors.tmp"
    with partial.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        left = size // 4 * 4
        while left:
            piece = bytearray(os.urandom(min(left, 1 << 20)))
            count = len(piece) // 4
            piece[3::4] = b"\x7f" * count if lost else b"\x3e" * count  # sign and exponent
            piece[2::4] = b"\xff" * count if lost else piece[2::4]
            out.write(piece)
            out.flush()
            left -= len(piece)
            time.sleep(pause)
    partial.rename(folder / f"step-{step:06d}.safetensors")


def eat(total: int) -> None:
    """Take memory and touch it, 4 MiB at a time."""
    held = []
    for _ in range(total >> 22):
        held.append(bytearray(os.urandom(4096) * 1024))
        time.sleep(0.01)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("--steps", type=int, default=100_000, help="it is stopped by its test")
    parser.add_argument("--sleep", type=float, default=0.1)
    parser.add_argument("--at", type=int, default=30)
    parser.add_argument("--wait", type=Path, help="no trouble before this file is there")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--size", type=int, default=1 << 20)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--saves", type=int, default=1 << 30, help="no save after that many")
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    rate = 0.051 if args.mode == "frozen" else 0.05

    def rates() -> Iterator[float]:
        while True:
            yield rate

    for step, (loss, lr) in enumerate(descend(rates()), 1):
        if step == args.at and args.wait is not None and not args.wait.exists():
            args.at += 1
        if step >= args.at:
            loss += 50.0 if args.mode == "jump" else 0.0
            lr *= 0.0 if args.mode == "frozen" else 1.0
        print(f"step {step}/{args.steps} loss {loss:.4g} lr {lr:.2g}")
        if args.mode == "early" and step == args.at:
            return 0
        if args.mode == "crash" and step == args.at:
            shape = {"rows": 3}
            print(shape["columns"])
        if args.mode == "nan" and step >= args.at:
            rate = 1e60
        if args.mode == "evaluate" and step == args.at:
            burn(args.seconds, 0.35)
        if args.mode == "spike" and step == args.at:
            for number in range(50_000):
                print(f"debug: sample {number} of the batch has no errors and 0 nan values")
        if args.mode == "eat" and step == args.at:
            eat(args.size)
        if args.mode == "worker" and step == args.at:
            subprocess.run([sys.executable, __file__, "eat", "--at", "1", "--size", str(args.size)])
        if args.mode == "slow-save" and step == args.at:
            save(args.out, step, args.size, pause=args.seconds / max(1, args.size >> 20))
        if args.save_every and step % args.save_every == 0 and step <= args.save_every * args.saves:
            save(args.out, step, args.size, lost=not math.isfinite(loss))
        if args.mode == "litter" and step >= args.at:
            for number in range(20):
                (args.out / f"sample-{step}-{number}.txt").write_text("x")
        if step >= args.steps:
            return 0
        time.sleep(args.sleep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
