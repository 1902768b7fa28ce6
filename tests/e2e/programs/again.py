"""A small trainer that resumes from a save, and ends in one of several ways.

    again.py MODE [--resume PATH] [--out DIR] [--saves N] [--makes N] [--sleep S]

It makes ``--makes`` steps from where it begins, saves every ``--saves`` steps, and then: ``network``
raises the error of a connection that was reset; ``nan`` prints a loss that is NaN until it is ended;
``mistake`` raises a KeyError; ``preempted`` tells of a notice and ends by SIGTERM, as its launcher would
have it; ``finish`` saves, reports an ``eval_loss`` of ``--reaches`` and ends well; ``wait`` goes on until it is ended. With ``--stuck`` it never gets further than that many steps.
Each start adds a line to ``starts`` in the folder of its saves.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import sys
import time
from pathlib import Path


def save(folder: Path, step: int) -> None:
    """A whole safetensors file of eight numbers."""
    header = b'{"w":{"dtype":"F32","shape":[8],"data_offsets":[0,32]}}'
    header += b" " * (-len(header) % 8)
    partial = folder / f"step-{step:06d}.safetensors.tmp"
    partial.write_bytes(len(header).to_bytes(8, "little") + header + bytes(32))
    partial.rename(folder / f"step-{step:06d}.safetensors")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--saves", type=int, default=10)
    parser.add_argument("--makes", type=int, default=25)
    parser.add_argument("--stuck", type=int, default=0)
    parser.add_argument("--reaches", type=float, default=2.0)
    parser.add_argument("--jump", type=float, default=0.0, help="what other data adds to the loss")
    parser.add_argument("--forget", action="store_true", help="load the step, but no weights")
    parser.add_argument("--sleep", type=float, default=0.05)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    begin = int(re.findall(r"\d+", args.resume.name)[0]) if args.resume else 0
    with (args.out / "starts").open("a") as starts:
        starts.write(f"{os.getpid()} {begin} {os.environ.get('OF_THE_RUN', '')}\n")
    end = begin + args.makes
    if args.stuck:
        end = min(end, args.stuck)
    total = end if args.mode == "finish" else 100_000
    step = begin
    while True:
        step += 1
        lost = args.mode == "nan" and step > end
        learnt = step - begin if args.forget else step
        loss = (
            math.nan if lost else 4.0 * math.exp(-learnt / 200) + 0.01 * math.sin(step) + args.jump
        )
        print(f"step {step}/{total} loss {loss:.4f} lr 0.001", flush=True)
        if step % args.saves == 0 and not lost:
            save(args.out, step)
        time.sleep(args.sleep)
        if step < end or args.mode == "wait":
            continue
        if args.mode == "finish":
            save(args.out, step)
            print(f"step {step}/{total} eval_loss {args.reaches:.4f}", flush=True)
            return 0
        if args.mode == "network":
            raise ConnectionResetError(104, "Connection reset by peer")
        if args.mode == "mistake":
            print({"rows": 3}["columns"])
        if args.mode == "preempted":
            print(
                "Received spot instance interruption notice: this instance will be terminated in 2 minutes",
                flush=True,
            )
            os.kill(os.getpid(), signal.SIGTERM)
        if args.mode == "nan" and step > end + 40:
            return 1


if __name__ == "__main__":
    sys.exit(main())
