"""The toy run of ``middlewatch drill``, which gets into real trouble.

Started as a separate process, it fits a line by gradient descent in plain Python, prints the lines
that training scripts print, and after ``CALM`` steps gets into the trouble that it was asked for.
It writes the time of that into a file, from which the delay of the push is measured.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

CALM = 20
"""Steps before the trouble: enough for every rule to know the usual pace."""
FLOOR = 2.0
"""Loss that no weight takes away, as of noise: one that falls to nothing is a trouble of its own."""
STEPS = 1000
PAUSE_S = 0.15
LONGEST_S = 240
"""Seconds after which the toy run ends by itself, in case the drill was killed."""
TMPFS_BYTES = 1 << 20
BITE_BYTES = 8 << 20

Trouble = Callable[[int], None]


class Line:
    """The model: ``y = weight * x``, trained on points of ``y = 3 x``, one at a time."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.rate = 0.02

    def step(self, number: int) -> float:
        """Make one update; returns the loss before it."""
        x = 1.0 + number % 3
        off = self.weight * x - 3.0 * x
        self.weight -= self.rate * 2.0 * off * x
        return off * off + FLOOR


def train(trouble: Trouble, line: Line, mark: Path, by: str) -> None:
    """Train and print a line per step; the trouble comes after ``CALM`` steps.

    ``mark``: file for the time of the trouble (epoch seconds) and ``by``, what causes it.
    """
    for number in range(1, STEPS + 1):
        if number == CALM + 1:
            now = time.time()  # noqa: TID251 - a child process
            mark.write_text(f"{now!r}\n{by}", encoding="utf-8")
        if number > CALM:
            trouble(number)
        print(f"step {number}/{STEPS} loss {line.step(number):.4f} lr {line.rate:.1e}", flush=True)
        time.sleep(PAUSE_S)


def nan(line: Line) -> Trouble:
    """NaN by a far too high learning rate: the numbers overflow, and inf - inf is NaN."""

    def trouble(_: int) -> None:
        line.rate = 1e300

    return trouble


def hang(_: int) -> None:
    """Deadlock: wait for a lock that this thread holds."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def crash(_: int) -> None:
    """A bug in the script: KeyError."""
    batch: dict[str, int] = {"inputs": 1}
    print(batch["labels"])


def disk(target: Path) -> Trouble:
    """Write a checkpoint that does not fit on the disk."""

    def trouble(_: int) -> None:
        with target.open("wb") as file:
            for _piece in range(4):
                file.write(b"\1" * TMPFS_BYTES)
                file.flush()

    return trouble


def oom(group: str) -> Trouble:
    """Take memory until the kernel kills the process, in the control group ``group``. Without one
    (empty) print the line that the kernel would write, and end by SIGKILL."""
    held: list[bytearray] = []
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def trouble(_: int) -> None:
        while group:
            held.append(bytearray(b"\1") * BITE_BYTES)
        pid = os.getpid()
        print(
            f"Memory cgroup out of memory: Killed process {pid} (python) total-vm:900000kB, "
            "anon-rss:800000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0",
            flush=True,
        )
        os.kill(pid, signal.SIGKILL)

    return trouble


def _tiny_disk(folder: str) -> bool:
    """Mount a tmpfs of 1 MiB that only this process sees; False where that is not allowed."""
    clone_newns, private_and_below = 0x00020000, (1 << 18) | (1 << 14)
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare") or libc.unshare(clone_newns):
        return False
    options = f"size={TMPFS_BYTES}".encode()
    failed: int = libc.mount(None, b"/", None, private_and_below, None)
    failed = failed or libc.mount(b"drill", os.fsencode(folder), b"tmpfs", 0, options)
    return not failed


def main(arguments: list[str] | None = None) -> int:
    """Arguments: ``TROUBLE MARK FOLDER [CGROUP]``. Most troubles end the process."""
    name, mark, folder, *rest = sys.argv[1:] if arguments is None else arguments
    signal.alarm(LONGEST_S)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    line, by, target = Line(), "", Path(folder) / "checkpoint.bin"
    if name == "disk":
        by = "a checkpoint of 4 MiB on a file system of 1 MiB"
        if not _tiny_disk(folder):
            target = Path("/dev/full")  # the kernel's own device that is always full
            by = "a checkpoint into /dev/full: no file system can be mounted on this box"
    troubles: dict[str, Callable[[], Trouble]] = {
        "nan": lambda: nan(line),
        "hang": lambda: hang,
        "crash": lambda: crash,
        "disk": lambda: disk(target),
        "oom": lambda: oom(rest[0] if rest else ""),
    }
    train(troubles[name](), line, Path(mark), by)
    return 0


if __name__ == "__main__":
    sys.exit(main())
