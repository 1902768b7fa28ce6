"""A small honest trainer without torch: gradient descent, in many troubles.

plain.py MODE [--at STEP] [--steps N] [--pace S] [--out DIR] [--size BYTES] ...
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faultlab.programs.stamp import injected, too_late


def descend(seed: int) -> Iterator[float]:
    """Losses of real steps of a least-squares problem, with noise that stays."""
    rng = random.Random(seed)
    w = [rng.uniform(2, 4) for _ in range(8)]
    while True:
        x = [rng.gauss(0, 1) for _ in w]
        gap = sum(a * b for a, b in zip(w, x, strict=True)) + rng.gauss(0, 0.2)
        w = [a - 0.02 * gap * b for a, b in zip(w, x, strict=True)]
        yield 0.5 * sum(a * a for a in w) + 0.4 + abs(rng.gauss(0, 0.04))


def lock(_: argparse.Namespace) -> None:
    """A lock that is taken twice."""
    one = threading.Lock()
    one.acquire()
    one.acquire()


def spin(_: argparse.Namespace) -> None:
    """A loop that waits for something that never comes."""
    ready = False
    while not ready:
        pass


def stray(args: argparse.Namespace) -> None:
    """Training is over; a thread that is no daemon keeps the process alive."""
    print("Training completed. Final model saved.", flush=True)
    threading.Thread(target=threading.Event().wait).start()
    sys.exit(0)


def crash(_: argparse.Namespace) -> None:
    shape = {"rows": 3}
    print(shape["columns"])


def segfault(_: argparse.Namespace) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def early(_: argparse.Namespace) -> None:
    sys.exit(0)


def cuda_oom(_: argparse.Namespace) -> None:
    """The words of PyTorch's allocator, raised the way it raises them."""
    raise RuntimeError(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
        "of which 1.05 GiB is free. Process 4242 has 78.04 GiB memory in use."
    )


def eat(args: argparse.Namespace) -> None:
    """Take memory and touch it."""
    held = []
    for _ in range(args.size >> 22):
        held.append(bytearray(os.urandom(4096) * 1024))
        time.sleep(0.005)


def worker(args: argparse.Namespace) -> None:
    """A child that loads data takes too much memory, and only it is killed."""
    pid = os.fork()
    if pid == 0:
        eat(args)
        os._exit(0)
    os.waitpid(pid, 0)


def evaluate(args: argparse.Namespace) -> None:
    """Work for a while without a word."""
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        until = time.monotonic() + 0.04
        while time.monotonic() < until:
            sum(range(500))
        time.sleep(0.06)


def slow_save(args: argparse.Namespace) -> None:
    save(args.out, 0, args.size, args.seconds / max(1, args.size >> 20))


def stall(args: argparse.Namespace) -> None:
    """State D: a parent by vfork sleeps so until its child ends."""
    ctypes.CDLL(str(args.out)).stall(3600)


def compiling(args: argparse.Namespace) -> None:
    """A compiler works for a while, and this waits for it."""
    code = f"import time; e = time.monotonic() + {args.seconds}\n"
    code += "while time.monotonic() < e: sum(range(20000)); time.sleep(0.002)"
    subprocess.run([args.out, "-S", "-c", code], check=True)


def save(folder: Path, step: int, size: int, pause: float = 0.0) -> None:
    """A safetensors file of one float tensor, written piece by piece, then renamed."""
    cells = size // 4
    header = f'{{"w":{{"dtype":"F32","shape":[{cells}],"data_offsets":[0,{cells * 4}]}}}}'.encode()
    header += b" " * (-len(header) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"step-{step:06d}.safetensors.tmp"
    with partial.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        left = cells * 4
        while left:
            piece = bytes(min(left, 1 << 20))
            out.write(piece)
            out.flush()
            left -= len(piece)
            time.sleep(pause)
    partial.rename(folder / f"step-{step:06d}.safetensors")


def cut_save(folder: Path, step: int, size: int) -> None:
    """Killed in the middle of a save: what it began lies there for good."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"step-{step:06d}.safetensors.tmp").open("wb") as out:
        out.write(bytes(size // 2))
    injected()
    os.kill(os.getpid(), signal.SIGKILL)


TROUBLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "lock": lock,
    "spin": spin,
    "stray": stray,
    "crash": crash,
    "segfault": segfault,
    "early": early,
    "cuda_oom": cuda_oom,
    "eat": eat,
    "worker": worker,
    "stall": stall,
}
HARMLESS: dict[str, Callable[[argparse.Namespace], None]] = {
    "evaluate": evaluate,
    "slow_save": slow_save,
    "compile": compiling,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    modes = ("none", "nan", "litter", "grow", "shrinking_room", "long_lines", "cut_save")
    parser.add_argument("mode", choices=(*modes, *TROUBLES, *HARMLESS))
    parser.add_argument("--at", type=int, default=30)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--pace", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--size", type=int, default=1 << 20)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--keep", type=int, default=0, help="saves to keep; 0 keeps all")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--burn", type=int, default=0, help="iterations of work for each step")
    parser.add_argument("--log", type=Path, help="write there, opening it for every line")
    args = parser.parse_args()
    for step, loss in enumerate(descend(args.seed), 1):
        for _ in range(args.burn):
            sum(range(1000))
        if args.mode in ("nan", "long_lines") and step >= args.at:
            injected()
            loss = math.nan
        line = f"step {step}/{args.steps} loss {loss:.4f} lr 2e-2"
        if args.log:
            with args.log.open("a") as out:
                out.write(line + "\n")
        else:
            print(line)
        if args.mode == "long_lines" and step % 7 == 0:
            print("x" * (1 << 20))
        if step == args.at and args.mode in TROUBLES:
            sys.stdout.flush()
            injected()
            TROUBLES[args.mode](args)
        if step == args.at and args.mode in HARMLESS:
            HARMLESS[args.mode](args)
        if args.mode == "litter" and step >= args.at:
            injected()
            for number in range(args.size):
                (args.out / f"sample-{step}-{number}.txt").write_text("x")
        if args.mode == "grow" and step >= args.at:
            injected()
            with (args.out / "samples.bin").open("ab") as samples:
                samples.write(bytes(args.size))
        if args.save_every and step % args.save_every == 0:
            if args.mode == "shrinking_room":
                room = os.statvfs(args.out)
                if room.f_bavail * room.f_frsize < args.size:
                    too_late()
            if args.mode == "cut_save" and step >= args.at:
                cut_save(args.out, step, args.size)
            save(args.out, step, args.size)
            if args.mode == "shrinking_room":
                injected()
            saves = sorted(args.out.glob("*.safetensors"))
            for old in saves[: -args.keep] if args.keep else ():
                old.unlink()
        if step >= args.steps:
            return
        time.sleep(args.pace)


if __name__ == "__main__":
    main()
