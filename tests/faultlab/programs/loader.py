"""A real DataLoader with two workers, one of which gets into trouble.

loader.py none|sleep|kill|starve [--at STEP]
"""

import argparse
import os
import signal
import threading
import time
from typing import Any

import torch
from tests.faultlab.programs.stamp import injected
from torch.utils.data import DataLoader, Dataset

BATCH = 4


class Samples(Dataset[Any]):
    """Random samples; from number ``at`` on, as ``mode`` says."""

    def __init__(self, mode: str, at: int) -> None:
        self.mode, self.at = mode, at

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        if index >= self.at and self.mode == "sleep":
            injected()
            threading.Event().wait()
        if index >= self.at and self.mode == "kill":
            injected()
            os.kill(os.getpid(), signal.SIGKILL)
        if index >= self.at and self.mode == "starve":
            injected()
            end = time.monotonic() + 600
            while time.monotonic() < end:
                sum(range(index % 1000))
        time.sleep(0.02)
        return torch.randn(8)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("none", "sleep", "kill", "starve"))
    parser.add_argument("--at", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    w, goal = torch.zeros(8), torch.arange(8.0)
    samples = Samples(args.mode, args.at * BATCH)
    workers = 1 if args.mode == "starve" else 2
    loader = DataLoader(samples, batch_size=BATCH, num_workers=workers)
    for step, x in enumerate(loader, 1):
        gap = x @ (w - goal)
        w -= 0.01 * (x * gap[:, None]).mean(0)
        print(f"step {step}/{len(loader)} loss {float((gap**2).mean()):.4f}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
