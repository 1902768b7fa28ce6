"""Programs that fill logs: many of them at a line a second, or one as fast as the disk takes it.

writers.py lines FOLDER COUNT      FOLDER/N.log for N below COUNT, a line a second each
writers.py flood PATH MIB_PER_S    one log, rotated after two GiB
"""

from __future__ import annotations

import os
import sys
import time

ROTATE_BYTES = 2 << 30
BLOCK_LINES = 20_000


def lines(folder: str, count: int) -> None:
    """Write a line a second to each of the logs, spread over the second."""
    logs = [
        os.open(f"{folder}/{n}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for n in range(count)
    ]
    began, step = time.monotonic(), 0
    while True:
        step += 1
        lost = _lost(f"{folder}/nan")
        for n, log in enumerate(logs):
            loss = "nan" if n == lost else f"{2 + 1 / step:.4f}"
            os.write(log, f"step {step}/100000 loss {loss} lr 3e-04\n".encode())
            if n % 10 == 9:
                _sleep_until(began + step + n / count)
        _sleep_until(began + step + 1)


def _sleep_until(mono: float) -> None:
    time.sleep(max(0.0, mono - time.monotonic()))


def _lost(path: str) -> int | None:
    try:
        with open(path) as file:
            return int(file.read() or -1)
    except FileNotFoundError:
        return None


def flood(path: str, mib_per_s: float) -> None:
    """Write step lines at this rate, or as fast as it goes below it."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    began, written, step, in_file = time.monotonic(), 0, 0, 0
    while True:
        block = "".join(
            f"step {step + n}/100000000 loss {2 + n % 97 / 1000:.4f} lr 3e-04\n"
            for n in range(BLOCK_LINES)
        ).encode()
        for _ in range(16):  # the same block again: making text is slower than writing it
            written += os.write(log, block)
        step += BLOCK_LINES
        in_file += 16 * len(block)
        if in_file > ROTATE_BYTES:
            in_file = 0
            os.close(log)
            os.replace(path, f"{path}.1")
            log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        time.sleep(max(0.0, written / (mib_per_s * 2**20) - (time.monotonic() - began)))


if __name__ == "__main__":
    if sys.argv[1] == "lines":
        lines(sys.argv[2], int(sys.argv[3]))
    else:
        flood(sys.argv[2], float(sys.argv[3]))
