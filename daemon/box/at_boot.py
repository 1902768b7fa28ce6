"""Have the daemon start when the box starts: systemd, cron, or what the platform offers.

The first of these that works here is taken. What a person has written or changed is never replaced:
a unit of ours carries a digest of itself, by which its next version sees that nobody has edited it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import middlewatch

from ..system import procfs
from ..system.files import write_whole
from ..system.ownership import name_of
from .platforms import Platform

By = Literal["systemd", "systemd --user", "cron", "by hand"]
State = Literal["new", "same", "ours", "theirs"]
"""What is there already: nothing; what would be written; an older text of ours; a person's own."""

NAME = "middlewatch.service"
UNITS = Path(middlewatch.__file__).with_name("systemd")
ASK_S = 120.0
"""Seconds for systemctl: longer than the 60 s that the unit gives a start."""
CRONS = frozenset({"cron", "crond", "fcron", "dcron", "cronie", "anacron"})
"""Names of programs that run a crontab."""
OF_SYSTEM = "/etc/cron.d/middlewatch"
"""Where our documentation puts the lines of root."""
_SIGNED = re.compile(r"# Written by `middlewatch setup`, .* \(sha256 ([0-9a-f]{64})\)\n")
_MARK = "# middlewatch setup: the watch starts with the box, and again within 5 minutes if it was killed"


class Failed(Exception):
    """A program that had to help did not; ``str()`` is what it said."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be started, and what the service may write besides its state."""

    program: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    """Of its environment: where state and configuration are, where that is not the default."""
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AtBoot:
    """How the daemon can be started with this box."""

    by: By
    path: str
    """The unit that is written; empty for the others."""
    wanted: Wanted
    hint: str = ""
    """For a person, where nothing here starts it: where the line goes."""

    @property
    def words(self) -> str:
        """What is used, for a question."""
        if self.by == "cron":
            return f"cron, in the crontab of {name_of(os.geteuid())}"
        return f"{self.by}, {self.path}" if self.path else self.hint

    @property
    def line(self) -> str:
        """The command that has to run at every start, for cron or a start hook."""
        given = [f"{name}={shlex.quote(value)}" for name, value in self.wanted.variables]
        return " ".join([*given, shlex.join([*self.wanted.program, "start"]), ">/dev/null 2>&1"])

    def state(self) -> State:
        """What is there now. Raises OSError for a unit that cannot be read, :class:`Failed` for a
        crontab."""
        if self.by == "cron":
            return _crontab_state(_crontab(), self.line)
        if not self.path or not os.path.lexists(self.path):
            return "new"
        if os.path.islink(self.path):  # masked, or kept elsewhere
            return "theirs"
        there = Path(self.path).read_text(encoding="utf-8", errors="surrogateescape")
        if there == self.text():
            return "same"
        return "ours" if _unchanged(there) else "theirs"

    def text(self) -> str:
        """The unit, with the place of this installation."""
        template = UNITS / ("middlewatch-user.service" if self._user else NAME)
        return _unit(template.read_text(encoding="utf-8"), self.wanted, user=self._user)

    @property
    def _user(self) -> bool:
        return self.by == "systemd --user"

    def put(self) -> list[str]:
        """Write what is missing and switch it on; sentences for a person about what to know.

        Raises OSError, and :class:`Failed` with the words of the program that refused.
        """
        state = self.state()
        if self.by == "cron":
            if state in ("new", "ours"):
                _run(["crontab", "-"], _crontab_with(_crontab(), self.line))
            return ["cron starts it by a line of yours, which is kept"] if state == "theirs" else []
        if not self.path:
            return []
        said = [f"{self.path} was changed by a person: it is kept"] if state == "theirs" else []
        if state in ("new", "ours"):
            _write(Path(self.path), self.text())
        self._systemctl("daemon-reload")
        self._systemctl("enable", NAME)
        if self._user and not Path("/var/lib/systemd/linger", name_of(os.geteuid())).exists():
            try:
                _run(["loginctl", "enable-linger"])
            except Failed:
                user = name_of(os.geteuid())
                said.append(f"it starts at your login only; as root: loginctl enable-linger {user}")
        return said

    def take_back(self) -> list[str]:
        """Take away what :meth:`put` has written; sentences about what was kept.

        What a person has written or changed stays, and what starts another installation. Raises
        OSError and :class:`Failed`.
        """
        state = self.state()
        if self.by == "by hand" or state == "new":
            return []
        if self.by == "cron":
            text = _crontab()
            if state == "theirs" or self.wanted.program[0] not in text:
                return ["lines of the crontab that are not of this installation are kept"]
            _run(["crontab", "-"], _crontab_without(text))
            return []
        if state == "theirs":
            return [f"{self.path} was changed by a person: it is kept"]
        text = Path(self.path).read_text(encoding="utf-8", errors="surrogateescape")
        if self.wanted.program[0] not in text:
            return [f"{self.path} starts another installation: it is kept"]
        self._systemctl("disable", "--now", NAME)
        Path(self.path).unlink()
        self._systemctl("daemon-reload")
        return []

    def active(self) -> bool:
        """True while the unit runs, whoever has started it."""
        if self.by not in ("systemd", "systemd --user"):
            return False
        try:
            self._systemctl("is-active", "--quiet", NAME)
        except Failed:
            return False
        return True

    def restart(self) -> None:
        """Start the unit, or start it again. Raises :class:`Failed`."""
        self._systemctl("restart", NAME)

    def _systemctl(self, *words: str) -> None:
        _run(["systemctl", *(("--user",) if self._user else ()), *words])


def way(wanted: Wanted, platforms: Sequence[Platform], environ: Mapping[str, str]) -> AtBoot:
    """How the daemon can be started with this box."""
    if Path("/run/systemd/system").is_dir() and shutil.which("systemctl"):
        if os.geteuid() == 0:
            return AtBoot("systemd", f"/etc/systemd/system/{NAME}", wanted)
        runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
        if Path(runtime, "systemd", "private").exists():
            home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
            return AtBoot("systemd --user", f"{home}/systemd/user/{NAME}", wanted)
    if shutil.which("crontab") and _cron_runs():
        return AtBoot("cron", "", wanted)
    told = next((f"{p.name}: {p.start}" for p in platforms if p.start), "")
    rest = (
        "Put the line into the entry point of the image, or the start hook of whoever rents it out"
    )
    return AtBoot("by hand", "", wanted, told or rest)


def _cron_runs() -> bool:
    seen = (procfs.stat(pid) for pid in procfs.pids())
    return any(one is not None and one.name in CRONS for one in seen)


# ------------------------------------------------------------------------ units


def _unit(template: str, wanted: Wanted, *, user: bool) -> str:
    """The unit with our program, and a digest of its text at the top."""
    lines = []
    for line in template.splitlines():
        if line.startswith("ExecStart="):
            program, *words = (*wanted.program, "daemon")
            # Only what follows the program is searched for variables.
            given = [_quoted(program), *(_quoted(word).replace("$", "$$") for word in words)]
            lines.append(f"ExecStart={' '.join(given)}")
            lines += [f"Environment={_quoted(f'{k}={v}')}" for k, v in wanted.variables]
            # With a dash: a folder that is not mounted keeps nobody from watching.
            lines += [
                f"ReadWritePaths={_quoted('-' + folder)}" for folder in wanted.writable if not user
            ]
        else:
            lines.append(line)
    body = "\n".join(lines) + "\n"
    edit = "systemctl --user edit middlewatch" if user else "systemctl edit middlewatch"
    digest = hashlib.sha256(os.fsencode(body)).hexdigest()
    return f"# Written by `middlewatch setup`, which keeps it once it is changed; better: {edit} (sha256 {digest})\n{body}"


def _unchanged(text: str) -> bool:
    """True for a unit that is as one of ours was written."""
    if found := _SIGNED.match(text):
        body = text[found.end() :]
        return hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest() == found[1]
    return any(
        text == (UNITS / name).read_text(encoding="utf-8")
        for name in (NAME, "middlewatch-user.service")
    )


def _quoted(word: str) -> str:
    """A word of a unit, in which nothing is a specifier or an end."""
    shown = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return shown if re.fullmatch(r"[\w@%+=:,./$-]+", shown) else f'"{shown}"'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(str(path), text)
    path.chmod(0o644)  # whatever the umask is: systemctl shows it to every user


# ------------------------------------------------------------------------ cron


def _crontab() -> str:
    """The crontab of this user; empty when there is none."""
    try:
        return _run(["crontab", "-l"])
    except Failed as error:
        if "no crontab" in str(error):
            return ""
        raise


def _block(line: str) -> list[str]:
    """Our lines. In a crontab a percent sign ends a command."""
    shown = line.replace("%", "\\%")
    return [_MARK, f"@reboot {shown}", f"*/5 * * * * {shown}"]


def _crontab_state(text: str, line: str) -> State:
    lines, wanted = text.splitlines(), _block(line)
    if _MARK in lines:
        at = lines.index(_MARK)
        there = lines[at : at + len(wanted)]
        if there == wanted:
            return "same"
        command = there[1].removeprefix("@reboot ") if len(there) == len(wanted) else ""
        as_written = there[1:] == [f"@reboot {command}", f"*/5 * * * * {command}"]
        return "ours" if as_written else "theirs"
    own = any("middlewatch" in one and not one.lstrip().startswith("#") for one in lines)
    return "theirs" if own or os.path.exists(OF_SYSTEM) else "new"


def _crontab_with(text: str, line: str) -> str:
    lines, wanted = text.splitlines(), _block(line)
    if _MARK in lines:
        at = lines.index(_MARK)
        lines[at : at + len(wanted)] = wanted
    else:
        lines += wanted
    return "\n".join(lines) + "\n"


def _crontab_without(text: str) -> str:
    """The crontab without our lines, which are there as we wrote them."""
    lines = text.splitlines()
    at = lines.index(_MARK)
    del lines[at : at + len(_block(""))]
    return "".join(f"{line}\n" for line in lines)


def _run(argv: Sequence[str], text: str = "") -> str:
    """The output of a program that was given ``text``. Raises :class:`Failed`."""
    try:
        done = subprocess.run(
            argv,
            input=text,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=ASK_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{argv[0]} gave no answer within {ASK_S:.0f} s") from None
    except OSError as error:
        raise Failed(f"{argv[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).split())
        raise Failed(f"{' '.join(argv)}: {words or f'exit status {done.returncode}'}")
    return done.stdout
