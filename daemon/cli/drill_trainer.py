"""A toy run that gets into real trouble: what ``middlewatch drill`` is about.

Started as a process of its own, it fits a line by gradient descent in plain Python, prints
the lines that training scripts print, and after ``CALM`` steps gets into the trouble that it
was asked for. It writes the instant of that into a file, so that seconds can be counted.
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
"""Steps before the trouble: enough for every rule to know the rhythm."""
STEPS = 1000
PAUSE_S = 0.15
LONGEST_S = 240
"""A drill that was killed must not leave a process behind for good."""
TMPFS_BYTES = 1 << 20
BITE_BYTES = 8 << 20

Trouble = Callable[[int], None]


class Line:
    """``y = 3 x``, learned from one point at a time."""

    def __init__(self) -> None:
        self.weight = 0.0
        self.rate = 0.02

    def step(self, number: int) -> float:
        """One update; the loss before it."""
        x = 1.0 + number % 3
        off = self.weight * x - 3.0 * x
        self.weight -= self.rate * 2.0 * off * x
        return off * off + 0.1


def train(trouble: Trouble, line: Line, mark: Path, by: str) -> None:
    """Steps and their lines; the trouble comes after ``CALM`` of them."""
    for number in range(1, STEPS + 1):
        if number == CALM + 1:
            now = time.time()  # noqa: TID251 - a child process
            mark.write_text(f"{now!r}\n{by}", encoding="utf-8")
        if number > CALM:
            trouble(number)
        print(f"step {number}/{STEPS} loss {line.step(number):.4f} lr {line.rate:.1e}", flush=True)
        time.sleep(PAUSE_S)


def nan(line: Line) -> Trouble:
    """A learning rate that is far too high: the numbers overflow, and inf - inf is NaN."""

    def trouble(_: int) -> None:
        line.rate = 1e300

    return trouble


def hang(_: int) -> None:
    """A lock that its holder waits for."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def crash(_: int) -> None:
    """A mistake in the script."""
    batch: dict[str, int] = {"inputs": 1}
    print(batch["labels"])


def disk(target: Path) -> Trouble:
    """A checkpoint that does not fit."""

    def trouble(_: int) -> None:
        with target.open("wb") as file:
            for _piece in range(4):
                file.write(b"\1" * TMPFS_BYTES)
                file.flush()

    return trouble


def oom(group: str) -> Trouble:
    """Memory until the kernel ends it, in a control group with a limit; without one, only the
    line that the kernel would write."""
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
    """``TROUBLE MARK FOLDER [CGROUP]``; does not return where the trouble ends the process."""
    name, mark, folder, *rest = sys.argv[1:] if arguments is None else arguments
    signal.alarm(LONGEST_S)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    line, by, target = Line(), "", Path(folder) / "checkpoint.bin"
    if name == "disk":
        by = "a checkpoint of 4 MiB on a file system of 1 MiB"
        if not _tiny_disk(folder):
            target = Path("/dev/full")  # the kernel's own device that is always full
            by = "a checkpoint into /dev/full: this box does not let us mount a file system"
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
