"""A straight line through a file of points, one point a step: small, real, and it can go on.

    regression.py POINTS --out DIR [--resume SAVE]

A point that is no number makes the loss NaN, and with it the weights and every save from there on.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import time
from pathlib import Path

SAVE_EVERY = 40
PAUSE_S = 0.15


def save(path: Path, step: int, weights: list[float]) -> None:
    """The weights as safetensors, whole or not at all."""
    data = struct.pack("<2f", *weights)
    tensors = {"line": {"dtype": "F32", "shape": [2], "data_offsets": [0, len(data)]}}
    header = json.dumps({"__metadata__": {"step": str(step)}, **tensors}).encode()
    partial = path.with_suffix(".tmp")
    partial.write_bytes(len(header).to_bytes(8, "little") + header + data)
    partial.rename(path)


def load(path: Path) -> tuple[int, list[float]]:
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    return int(header["__metadata__"]["step"]), list(struct.unpack("<2f", content[8 + size :]))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("points", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    points = [[float(n) for n in line.split(",")] for line in args.points.read_text().splitlines()]
    args.out.mkdir(exist_ok=True)
    done, weights = load(args.resume) if args.resume else (0, [0.0, 0.0])
    for step, (x, y) in enumerate(points[done:], done + 1):
        gap = weights[0] * x + weights[1] - y
        weights = [weights[0] - 0.1 * gap * x, weights[1] - 0.1 * gap]
        print(f"step {step}/{len(points)} loss {gap * gap + 0.1:.4f} lr 0.1")
        if step % SAVE_EVERY == 0:
            save(args.out / f"step-{step:06d}.safetensors", step, weights)
        time.sleep(PAUSE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
