"""A small training for the kills: it reports, gets into one trouble or none, and ends.

python trainer.py --trouble KIND --at STEP --steps STEPS [--pause SECONDS] [--saves FOLDER] [--wait FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import struct
import time
from pathlib import Path

RECOVERS_AFTER = 200
"""Reports with a NaN before the loss of ``recovers`` is finite again: ten seconds, so that some daemon
lives meanwhile. What came and went while none did is told by nobody."""
SAVE_EVERY = 60


def main() -> None:
    """Train."""
    words = argparse.ArgumentParser()
    words.add_argument("--trouble", default="none")
    words.add_argument("--at", type=int, default=0)
    words.add_argument("--steps", type=int, required=True)
    words.add_argument("--pause", type=float, default=0.05)
    words.add_argument("--saves", type=Path)
    words.add_argument("--wait", type=Path, help="no trouble and no end before this file is there")
    given = words.parse_args()
    for step in range(1, given.steps + 1):
        loss = 1.0 + 3.0 * math.exp(-step / 200) + 0.01 * math.sin(step)
        since = step - given.at
        while since == 0 and given.wait is not None and not given.wait.exists():
            time.sleep(given.pause)
        if given.trouble == "nan" and since >= 0:
            loss = math.nan
        if given.trouble == "recovers" and 0 <= since < RECOVERS_AFTER:
            loss = math.nan
        if since == 0:
            end(given.trouble)
        print(f"step {step}/{given.steps} loss {loss:.4f} lr 3.0e-04", flush=True)
        if given.saves is not None and step % SAVE_EVERY == 0:
            save(given.saves, step)
        time.sleep(given.pause)
    print(f"training finished after {given.steps} steps", flush=True)


def end(trouble: str) -> None:
    """Die, if that is the trouble."""
    if trouble == "error":
        raise KeyError("input_ids")
    if trouble == "oom":
        raise RuntimeError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "79.11 GiB of which 1.20 GiB is free."
        )
    if trouble == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


def save(folder: Path, step: int) -> None:
    """A whole safetensors file, renamed into place."""
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"dtype": "F32", "shape": [256], "data_offsets": [0, 1024]}
    header = json.dumps({"w": entry}).encode()
    fresh = folder / f".step_{step}.tmp"
    fresh.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<256f", *range(256)))
    fresh.rename(folder / f"step_{step}.safetensors")
    print(f"saved checkpoint to {folder}/step_{step}.safetensors", flush=True)


if __name__ == "__main__":
    main()
