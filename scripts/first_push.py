#!/usr/bin/env python3
"""From the README to the first push, as a newcomer types it, on the box where this is started.

    scripts/first_push.py [--json]

A training is already running, started with nohup by a shell that is gone; a receiver for pushes
listens on loopback. Then the commands of the README's section "Two commands do everything" are
typed, one after the other, into one shell; only the alert URL is the receiver's. When the last
is done, the learning rate of the training is raised, its loss becomes NaN, and the
push has to arrive. Prints each command with its seconds. It installs into a home of its own and
leaves no process behind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.receiver import LOSS, PUSHED_NAN, Log, Push, Receiver  # noqa: E402

SECTION = "## Two commands do everything"
COMMAND = "~/.middlewatch/bin/middlewatch"
SETUP = re.compile(r"\bmiddlewatch setup\b")
"""It asks three questions at a terminal; here its options answer them."""
LINE_S = 900.0
"""For one typed line. Installing fetches 70 MB; how fast that comes says nothing about us."""
PUSH_S = 120.0
"""From the NaN to the push; it takes some seconds where the machine has nothing else to do."""
INSTALLS = re.compile(r"\bpip install\b")


class Failed(Exception):
    """A step did not do what it should."""


def typed_lines(readme: str, urls: str) -> list[str]:
    """What a newcomer types: the lines of the section's first block. ``urls``: a file with the alert URL."""
    section = readme.partition(SECTION)[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    lines = re.sub(r"&&\n\s*", "&& ", block[1]).splitlines() if block else []
    if not any(SETUP.search(line) for line in lines):
        raise Failed(f"README.md has no block with `middlewatch setup` below `{SECTION}`")
    answered = f"middlewatch setup --alert {urls} --no-mirror --no-boot"
    # Options that the line has follow.
    return [SETUP.sub(answered, line) for line in lines if line and not line.startswith("#")]


class Terminal:
    """One shell of a person: it keeps what was exported, and reads one line after the other."""

    def __init__(self, home: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MIDDLEWATCH_", "XDG_"))}
        loopback = "127.0.0.1,localhost"
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=ROOT,
            env={**kept, "HOME": str(home), "NO_PROXY": loopback, "no_proxy": loopback},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def type(self, line: str) -> tuple[int, str]:
        """Exit status of a line, and what it printed."""
        assert self.shell.stdin
        assert self.shell.stdout
        end = f"typed-{os.urandom(8).hex()}"
        # What the line starts must not read the next one.
        self.shell.stdin.write(f"{{ {line}\n}} </dev/null\nprintf '\\n{end} %s\\n' $?\n")
        self.shell.stdin.flush()
        late = threading.Timer(LINE_S, self.kill)
        late.start()
        said: list[str] = []
        try:
            for heard in self.shell.stdout:
                if heard.startswith(end):
                    return int(heard.split()[1]), "".join(said).rstrip("\n")
                said.append(heard)
        finally:
            late.cancel()
        told = "".join(said)
        raise Failed(f"the shell ended, or `{line}` took more than {LINE_S:.0f} s:\n{told}")

    def kill(self) -> None:
        """End the shell and what still runs in front of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.shell.pid, signal.SIGKILL)

    def close(self) -> None:
        """The same, and wait for it."""
        self.kill()
        self.shell.wait()
        for end in (self.shell.stdin, self.shell.stdout):
            if end:
                end.close()


@contextlib.contextmanager
def training(job: Path) -> Iterator[Log]:
    """A training of the person's own, as trainings are started on rented boxes; its log."""
    job.mkdir()
    shutil.copy(ROOT / "scripts" / "toy_trainer.py", job / "train.py")
    train = f"{sys.executable} train.py --steps 1000000 --sleep 0.05 --flush --raise-lr-when raise"
    nohup = f"nohup {train} --save-every 200 --out out > train.log 2>&1 & echo $!"
    pid = int(
        subprocess.run(["bash", "-c", nohup], cwd=job, capture_output=True, check=True).stdout
    )
    try:
        yield Log(job / "train.log")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def until_nan(log: Log, patience_s: float = 60.0) -> tuple[float, str]:
    """When the loss stopped being a number, and the line that says so."""
    deadline = time.perf_counter() + patience_s
    while time.perf_counter() < deadline:
        for line in log.lines():
            loss = LOSS.match(line)
            if loss and loss[2] in ("nan", "inf", "-inf"):
                return time.perf_counter(), line
        time.sleep(0.02)
    raise Failed("the loss of the training did not become NaN")


def pushed(receiver: Receiver, path: Path) -> Push:
    """The push about the NaN in this log; other trainings of the box may have their own."""
    heard = []
    deadline = time.perf_counter() + PUSH_S
    while (left := deadline - time.perf_counter()) > 0:
        with contextlib.suppress(Empty):
            push = receiver.pushes.get(timeout=left)
            if PUSHED_NAN.search(push.title) and str(path) in push.body:
                return push
            heard.append(push.title)
    raise Failed(f"no push about the NaN within {PUSH_S:.0f} s; others: {heard or 'none'}")


def of_this_home(home: Path) -> list[int]:
    """Processes that run with ``home`` as their home, but for this one."""
    mark = b"HOME=" + os.fsencode(home)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def play(home: Path, say: bool) -> dict[str, object]:
    """Everything from the first typed line to the push."""
    receiver = Receiver()
    job = home / "job"
    with contextlib.ExitStack() as stack:
        stack.callback(receiver.close)
        log = stack.enter_context(training(job))
        terminal = Terminal(home)
        stack.callback(terminal.close)
        stack.callback(lambda: terminal.type(f"{COMMAND} stop"))
        urls = home / "urls"
        urls.touch(mode=0o600)
        urls.write_text(f"{receiver.url}\n")
        lines = typed_lines((ROOT / "README.md").read_text(encoding="utf-8"), str(urls))
        begun = time.perf_counter()
        took: dict[str, float] = {}
        for command in [one for line in lines for one in line.split(" && ")]:
            at = time.perf_counter()
            status, told = terminal.type(command)
            took[command] = time.perf_counter() - at
            if say:
                print(f"$ {command}\n{told}\n  [{took[command]:.1f} s]", flush=True)
            if status:
                raise Failed(f"`{command}` ended with status {status}:\n{told}")
        _, told = terminal.type(f"{COMMAND} runs --json")
        if str(log.path) not in told:
            raise Failed(f"the training was not found; `middlewatch runs --json`:\n{told}")
        (job / "raise").touch()
        nan_at, nan_line = until_nan(log)
        push = pushed(receiver, log.path)
        installing = sum(s for line, s in took.items() if INSTALLS.search(line))
        if say:
            print(f"{nan_line}\n\n{push.title}\n\n{push.body}\n", flush=True)
        return {
            "typed_lines": len(lines),
            "typed_commands": len(took),
            "install_s": round(installing, 1),
            "other_commands_s": round(sum(took.values()) - installing, 1),
            "nan_to_push_s": round(max(0.0, push.at - nan_at), 1),
            "all_s": round(push.at - begun, 1),
            "push": push.title,
        }


def main() -> int:
    """0 when the push arrived and nothing is left running, else 1."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], epilog="example: scripts/first_push.py --json"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, else the play")
    asked = parser.parse_args()
    # Short: the address of a Unix socket below it holds 107 bytes.
    with tempfile.TemporaryDirectory(prefix="first-", dir="/var/tmp") as name:
        home = Path(name)
        try:
            result = play(home, say=not asked.json)
            left = of_this_home(home)
            if left:
                raise Failed(f"left running after `middlewatch stop`: {left}")
        except Failed as problem:
            print(f"FAILED: {problem}", file=sys.stderr)
            return 1
        finally:
            for pid in of_this_home(home):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    if asked.json:
        print(json.dumps(result))
    else:
        print(
            f"typed {result['typed_lines']} lines with {result['typed_commands']} commands;"
            f" install {result['install_s']} s, the other commands {result['other_commands_s']} s,"
            f" from the NaN to the push {result['nan_to_push_s']} s, all together {result['all_s']} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
