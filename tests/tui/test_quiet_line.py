"""What the screen costs on a slow line, measured at the other end of a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import itertools, sys
sys.path.insert(0, {here!r})
from overview_answer import overview, run
from middlewatch.tui.app import WatchApp

turns = itertools.count()

def fetch(op, **args):
    if op != "overview":
        return {{}}
    found, turn = overview(gpus=8), next(turns)
    # The clock and the uptime go on in any case; that alone must not be worth a byte.
    found["updated_at"] = f"2026-03-01T02:13:{{turn % 50:02d}}.000+01:00"
    found["daemon"]["uptime_s"] += turn
    if {busy}:
        now, gpus = found["runs"][0]["now"], found["box"]["gpus"]
        now["step"] += turn
        now["values"]["train_loss"] -= turn / 1000
        found["runs"][0]["log_tail"].append(f"step {{4200 + turn}} | train_loss 2.24")
        for gpu in gpus:
            gpu["power_w"] += (turn * 7 + gpu["index"]) % 60
    return found

WatchApp(fetch).run(mouse=False)
"""


class Terminal:
    """A program on a pty, and everything it wrote."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process, self.master = process, master
        self.written = b""

    def read_for(self, seconds: float) -> bytes:
        """What arrives within ``seconds``."""
        before, until = len(self.written), time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.written += os.read(self.master, 65536)
                except OSError:  # the program is gone
                    break
        return self.written[before:]

    def read_until(self, word: bytes, seconds: float = 120.0) -> None:
        """Wait until the program wrote ``word``."""
        until = time.monotonic() + seconds
        while word not in self.written:
            assert time.monotonic() < until, self.written[-2000:]
            self.read_for(0.05)

    @property
    def cpu_s(self) -> float:
        """CPU seconds that the program has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def terminal(
    *command: str, width: int = 80, height: int = 24, **environment: str
) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", **environment}
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            yield Terminal(process, master)
        finally:
            process.kill()
            os.close(master)


def screens(busy: bool) -> tuple[str, ...]:
    here = str(Path(__file__).parent)
    return sys.executable, "-c", PROGRAM.format(here=here, busy=busy)


def test_a_quiet_night_sends_nothing() -> None:
    with terminal(*screens(busy=False)) as screen:
        screen.read_until(b"box3")
        screen.read_for(1.5)
        assert screen.read_for(3.0) == b""


def test_a_busy_night_fits_a_slow_line_and_costs_little() -> None:
    with terminal(*screens(busy=True)) as screen:
        screen.read_until(b"box3")
        screen.read_for(1.5)
        before = screen.cpu_s
        # Measured 380 bytes a second and 0.4 % of a core, for eight GPUs that all change;
        # ready-made table, chart and log widgets take 39,000 and 6 %.
        assert 4 * 50 < len(screen.read_for(4.0)) < 4 * 1024
        assert screen.cpu_s - before < 4 * 0.03


def test_without_colour_no_colour_is_sent() -> None:
    with terminal(*screens(busy=False), NO_COLOR="1") as screen:
        screen.read_until(b"q")
        screen.read_for(1.0)
        assert b"running" in screen.written
        colours = re.findall(rb"\x1b\[[\d;]*m", screen.written)
        codes = {code for colour in colours for code in colour[2:-1].split(b";")}
        assert not codes & {b"%d" % n for n in (*range(30, 39), *range(40, 49), *range(90, 108))}


def test_quitting_restores_the_terminal() -> None:
    with terminal(*screens(busy=False)) as screen:
        screen.read_until(b"box3")
        os.write(screen.master, b"q")
        screen.read_until(b"\x1b[?1049l")
        assert screen.process.wait(120) == 0


def test_a_lost_terminal_ends_the_screen() -> None:
    with terminal(*screens(busy=False)) as screen:
        screen.read_until(b"box3")
        screen.process.send_signal(signal.SIGHUP)
        assert screen.process.wait(120) != 0


def test_the_command_shows_that_no_daemon_answers(tmp_path: Path) -> None:
    code = f"import sys; from middlewatch.tui.app import main; sys.exit(main({str(tmp_path / 'no.sock')!r}))"
    with terminal(sys.executable, "-c", code) as screen:
        screen.read_until(b"no answer yet")
        screen.read_until(b"middlewatch start")
        os.write(screen.master, b"q")
        screen.read_for(0.5)
        assert screen.process.wait(120) == 0
