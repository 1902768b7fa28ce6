"""Trouble for the watcher itself: it stays silent about it, and still finds the NaN after it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..bench import Bench
from ..lab import DELIVERY_S, Alarm, Fault, NotRun
from ..watchers import Middlewatch
from .hangs import IDLE_S, compiled, doing, plain

PACE = 0.1
TROUBLE_AT, NAN_AT = 60, 160
NO_PTRACE = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")


def trainer(bench: Bench, *words: object, log: Path | None = None, name: str = "gpt") -> None:
    """The small trainer, whose loss is NaN in the end."""
    seed = bench.random.randint(1, 1000)
    own_log = ("--log", log) if log else ()
    program = bench.program(
        "plain", "nan", "--at", NAN_AT, "--pace", PACE, "--seed", seed, *own_log, *words
    )
    bench.train(*program, log=log, name=name)


def rotated(how: str) -> Callable[[Bench], None]:
    """The log is renamed, or copied and truncated, under the tail."""

    def arrange(bench: Bench) -> None:
        log = bench.root / "train.log"
        trainer(bench, log=log)
        bench.until_said(f"step {TROUBLE_AT}/")
        if how == "rename":
            log.rename(log.with_suffix(".log.1"))
            return
        log.with_suffix(".log.1").write_bytes(log.read_bytes())
        os.truncate(log, 0)

    return arrange


def clock_jump(bench: Bench) -> None:
    """The wall clock of everybody jumps by an hour, forth or back."""
    jump = bench.root / "jump"
    jump.write_text("0")
    library = compiled(bench, "clock_jump")
    bench.env = {"LD_PRELOAD": str(library), "CLOCK_JUMP": str(jump)}
    trainer(bench)
    bench.until_said(f"step {TROUBLE_AT}/")
    fresh = bench.root / "jump.fresh"
    fresh.write_text(bench.random.choice(["3600", "-3600"]))
    fresh.rename(jump)


def two_runs(bench: Bench) -> None:
    """Two runs in one directory; only one of them turns bad."""
    healthy = bench.program("plain", "none", "--pace", PACE)
    bench.train(*healthy, name="healthy")
    trainer(bench, name="sick")


def restarted(bench: Bench) -> None:
    """The daemon dies after its page, and starts again: nobody is woken twice."""
    ours = _ours(bench)
    trainer(bench)
    bench.until(lambda: _pages(ours.alarms()), 60, "a page")
    bench.pause(1.0)
    os.kill(ours.box.ask("ping")["pid"], signal.SIGKILL)
    ours.box.command("start")


def no_room(bench: Bench) -> None:
    """Nothing can be written to its own state directory any more."""
    bench.state = bench.tmpfs("size=4m", bench.root / "state")
    trainer(bench, log=bench.root / "train.log")
    bench.until_said(f"step {TROUBLE_AT}/")
    filler = bench.state / "filler"
    with filler.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(bytes(4096))
        except OSError:
            return


def hidden_processes(bench: Bench) -> None:
    """The daemon's /proc shows only what it might trace, and it may trace nothing."""
    _needs("setpriv")
    _ours(bench)
    script = 'mount -t proc -o hidepid=2,gid=54321 proc /proc && exec "$@"'
    bench.daemon_prefix = ("unshare", "-m", "/bin/sh", "-c", script, "sh", *NO_PTRACE)
    trainer(bench, log=bench.root / "train.log")


def read_only_proc(bench: Bench) -> None:
    """The daemon may not write to /proc, as in most containers."""
    _needs("unshare")
    _ours(bench)
    script = 'mount --bind /proc /proc && mount -o remount,bind,ro /proc && exec "$@"'
    bench.daemon_prefix = ("unshare", "-m", "/bin/sh", "-c", script, "sh")
    trainer(bench)


def no_ptrace(bench: Bench) -> None:
    """No stack can be read: a lock that is taken twice must be found without."""
    _needs("setpriv")
    _ours(bench)
    bench.daemon_prefix = NO_PTRACE
    plain(bench, "lock")


def _ours(bench: Bench) -> Middlewatch:
    if not isinstance(bench.watcher, Middlewatch):
        raise NotRun("is about the daemon of middlewatch")
    return bench.watcher


def _needs(program: str) -> None:
    done = subprocess.run(["which", program], capture_output=True, check=False)
    if done.returncode or os.geteuid() != 0:
        raise NotRun(f"needs root and {program}")


def _pages(alarms: list[Alarm]) -> list[Alarm]:
    return [a for a in alarms if a.severity == "page"]


NAN = Fault(
    "A1",
    "log_renamed",
    rotated("rename"),
    kind="against_us",
    classes=frozenset({"loss_nan", "loss_inf"}),
    cause="nan|infinite",
    remedy=r"stop the run|resume|checkpoint",
    deadline_s=2 * PACE + DELIVERY_S,
)
FAULTS = (
    NAN,
    replace(NAN, number="A2", name="log_truncated", arrange=rotated("copytruncate")),
    replace(
        NAN,
        number="A3",
        name="lines_of_a_mebibyte",
        arrange=doing("long_lines", "--pace", PACE),
        weight=0.4,
    ),
    replace(NAN, number="A4", name="clock_jumps_an_hour", arrange=clock_jump),
    replace(NAN, number="A5", name="two_runs_in_one_directory", arrange=two_runs),
    replace(NAN, number="A6", name="daemon_killed_and_restarted", arrange=restarted),
    replace(
        NAN,
        number="A7",
        name="own_disk_full",
        arrange=no_room,
        also=frozenset({"blind", "disk_full"}),
    ),
    replace(NAN, number="A8", name="proc_hidden", arrange=hidden_processes),
    replace(NAN, number="A9", name="proc_read_only", arrange=read_only_proc),
    replace(
        NAN,
        number="A10",
        name="no_ptrace",
        arrange=no_ptrace,
        classes=frozenset({"hang"}),
        cause=r"no progress|lock",
        remedy=r"stack|py-spy|dump|rank|worker",
        deadline_s=IDLE_S,
    ),
)
