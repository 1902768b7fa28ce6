"""A trainer that saves, and gets into the trouble of its first argument when it is told to.

    twelve.py TROUBLE OUT GO [MOUNT]

It trains until the file GO exists, then the trouble begins. MOUNT is a disk of its own.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from trainer import descend, save  # type: ignore[import-not-found]

STEPS = 100_000


class OutOfMemoryError(RuntimeError):
    """Named as that of torch."""


OutOfMemoryError.__module__ = "torch.cuda"


def get_into(trouble: str, mount: Path | None) -> None:
    """One step further into the trouble."""
    if trouble == "key_error":
        print({"rows": 3}["columns"])
    elif trouble == "out_of_memory":
        raise OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "79.11 GiB of which 1.02 GiB is free."
        )
    elif trouble == "segfault":
        ctypes.string_at(0)
    elif trouble == "deadlock":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    elif trouble == "assertion":
        raise AssertionError("the batch has 3 rows, not 4")
    elif trouble == "finished":
        sys.exit(0)
    elif trouble == "inodes" and mount is not None:
        for number in range(40):
            (mount / f"sample-{time.monotonic_ns()}-{number}").write_text("x")
    elif trouble == "space" and mount is not None:
        with (mount / "samples").open("ab", buffering=0) as out:
            out.write(b"x" * (1 << 20))


def main() -> None:
    trouble, out, go = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    mount = Path(sys.argv[4]) if len(sys.argv) > 4 else None
    rates = [0.05]

    def rate() -> Iterator[float]:
        while True:
            yield rates[0]

    for step, (loss, lr) in enumerate(descend(rate()), 1):
        print(f"step {step}/{STEPS} loss {loss:.4g} lr {lr:.2g}", flush=True)
        if step % 25 == 0 and not go.exists():
            save(out, step, 4096)
        if go.exists():
            if trouble == "nan":
                rates[0] = 1e60
            get_into(trouble, mount)
        time.sleep(0.2)


if __name__ == "__main__":
    os.umask(0o022)
    main()
