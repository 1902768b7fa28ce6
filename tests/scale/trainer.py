"""A training that logs a line a second to a file that it rotates, and saves a checkpoint now and then.

    trainer.py --log PATH [--saves DIR] [--every S] [--rotate S] [--save S] [--keep N] [--nan PATH]

Rotation is as logrotate does it: the file is renamed, and a new one begun. As soon as the file ``--nan``
exists, the loss is not a number.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import time
from pathlib import Path

WEIGHTS = 4096
"""Numbers in a checkpoint: 16 KiB, in one tensor."""


def save(path: Path) -> None:
    """A whole safetensors file, written beside and renamed."""
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [WEIGHTS], "data_offsets": [0, 4 * WEIGHTS]}}
    ).encode()
    fresh = path.with_suffix(".tmp")
    fresh.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<f", 0.5) * WEIGHTS)
    os.replace(fresh, path)


def main() -> None:
    """Train until killed."""
    words = argparse.ArgumentParser()
    words.add_argument("--log", type=Path, required=True)
    words.add_argument("--saves", type=Path)
    words.add_argument("--every", type=float, default=1.0)
    words.add_argument("--rotate", type=float, default=300.0)
    words.add_argument("--save", type=float, default=60.0)
    words.add_argument("--keep", type=int, default=5)
    words.add_argument("--nan", type=Path)
    given = words.parse_args()
    log = given.log.open("a", buffering=1)
    rotated = saved = time.monotonic()
    step, kept = 0, list[Path]()
    while True:
        step += 1
        loss = "nan" if given.nan and given.nan.exists() else f"{2 + 1 / step:.4f}"
        log.write(f"step {step}/1000000 loss {loss} lr 3e-04\n")
        now = time.monotonic()
        if now - rotated >= given.rotate:
            rotated = now
            log.close()
            os.replace(given.log, given.log.with_name(f"{given.log.name}.1"))
            log = given.log.open("a", buffering=1)
        if given.saves and now - saved >= given.save:
            saved = now
            kept.append(given.saves / f"step-{step}.safetensors")
            save(kept[-1])
            log.write(f"saved {kept[-1]}\n")
            while len(kept) > given.keep:
                kept.pop(0).unlink(missing_ok=True)
        time.sleep(given.every)


if __name__ == "__main__":
    main()
