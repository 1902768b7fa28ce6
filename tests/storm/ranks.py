"""A training of eight ranks in which everything goes wrong at once, again and again: lines for eight logs.

ranks.py FOLDER LINES_PER_RANK_AND_SECOND SECONDS
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import time
from pathlib import Path

RANKS = 8
TROUBLES = (
    "step {n}/100000 loss nan grad_norm nan lr 3e-04",
    "[rank{r}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {n}.00 MiB. GPU {r}",
    "[rank{r}]: RuntimeError: CUDA error: an illegal memory access was encountered",
    "[rank{r}]:[E] ProcessGroupNCCL.cpp:607] WorkNCCL(SeqNum={n}, Timeout(ms)=600000) ran for 600029 ms",
    "OSError: [Errno 28] No space left on device: '/data/out/rank{r}/step-{n}.pt'",
    "wandb: ERROR Error while calling W&B API: rank {r} step {n}: connection refused",
    "RuntimeError: DataLoader worker (pid {n}) is killed by signal: Killed. ",
    "step {n}/100000 loss inf grad_norm 1e9 lr 3e-04",
)


def rank(folder: Path, number: int, lines_per_s: float, seconds: float, begins: float) -> None:
    """Write the log of one rank."""
    with (folder / f"rank{number}.log").open("a", buffering=1, encoding="utf-8") as log:
        for n in range(1, 60):
            log.write(f"step {n}/100000 loss {3.0 - n / 100:.3f} grad_norm 1.0 lr 3e-04\n")
        while not (folder / "storm").exists():
            time.sleep(0.02)
        until = time.monotonic() + seconds
        for n in itertools.count(60):
            text = TROUBLES[(n + number) % len(TROUBLES)].format(n=n, r=number)
            log.write(text + "\n")
            ahead = begins + n / lines_per_s - time.monotonic()
            if begins == 0.0:
                begins, ahead = time.monotonic() - n / lines_per_s, 0.0
            if time.monotonic() > until:
                break
            time.sleep(max(0.0, ahead))
        while not (folder / "end").exists():
            time.sleep(0.05)


def main() -> None:
    """Eight processes and the one that waits for them."""
    folder, lines_per_s, seconds = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    ranks = [
        multiprocessing.Process(target=rank, args=(folder, number, lines_per_s, seconds, 0.0))
        for number in range(RANKS)
    ]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join()


if __name__ == "__main__":
    main()
