"""tmux panes: which one a terminal belongs to, and how to copy what it prints into a file.

``pipe-pane`` does not touch the program in the pane: tmux itself copies what the pane shows.

A tmux client does what its server says, also start programs. So a server is asked only by a client
with the rights of its user, and only if its socket belongs to that user and nobody else (but root)
could have put it there.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..system.errors import MiddlewatchError, Refused, UsageError
from ..system.ownership import Untrusted, check_way, name_of
from ..system.private import open_private
from ..system.users import NoAnswer, Said, User, run_as, user_of

ANSWER_S = 3.0
"""Seconds to wait for a tmux server. It answers in 5 ms; one stopped by SIGSTOP never does."""
MOST_SOCKETS = 8
"""Servers asked in the folder of one user. One or two are usual; a user could make thousands."""
SCROLL_BYTES = 16 << 20
"""Bytes of a scroll-back: 2,000 lines by default, 100,000 where a person has set it high."""
_FORMAT = "#{pane_tty}\t#{pane_id}\t#{pane_pipe}\t#{pid}\t#{session_name}"
_PANE = re.compile(r"%\d+")


class Unanswered(UsageError):
    """The server did not answer in time: asking it again would take as long again."""


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane. ``id`` (``%1``) is unique only within the server behind ``socket``."""

    tty: str
    id: str
    session: str
    socket: str
    piped: bool
    """Its output goes to a ``pipe-pane`` command already."""
    server_pid: int
    owner: User
    """The user of the server."""


class Panes:
    """The panes of the tmux servers of this box; every server is asked once."""

    def __init__(self, answer_s: float = ANSWER_S) -> None:
        self._answer_s = answer_s
        self._known: dict[tuple[str, int], list[Pane]] = {}
        self._silent: set[int] = set()
        """Users of whom one server did not answer: no other one of theirs is waited for."""

    def of(
        self, tty: str, runner: tuple[int, int], named: str = ""
    ) -> tuple[Pane | None, list[str]]:
        """The pane whose terminal is ``tty`` (``/dev/pts/3``), and sentences about what was not
        asked.

        ``runner`` is (user id, group id) of the process there, and ``named`` its ``$TMUX``: only
        servers of its user are asked, and our own.
        """
        notes: list[str] = []
        who = user_of(*runner)
        if who is None:
            return None, notes
        first = named.rpartition(",")[0].rpartition(",")[0]
        sockets = [(first, who)] if first else []
        sockets += [(path, who) for path in _usual(who)]
        if not who.is_us and (own := user_of(os.geteuid(), os.getegid())) is not None:
            sockets += [(path, own) for path in _usual(own)]
        for socket, user in dict.fromkeys(sockets):
            try:
                for pane in self._panes(socket, user):
                    if pane.tty == tty:
                        return pane, []
            except FileNotFoundError:
                continue
            except (MiddlewatchError, OSError) as error:
                notes.append(f"tmux was not asked about {tty}: {error}")
        return None, notes

    def _panes(self, socket: str, user: User) -> list[Pane]:
        """The panes of one server; none when it says that it has none. Raises MiddlewatchError."""
        known = self._known.get((socket, user.uid))
        if known is not None:
            return known
        check_socket(socket, user)
        if user.uid in self._silent:
            raise Refused(f"a tmux server of {user.name} did not answer before")
        self._known[socket, user.uid] = []
        try:
            said = _tmux(socket, user, "list-panes", "-a", "-F", _FORMAT, answer_s=self._answer_s)
        except Unanswered:
            self._silent.add(user.uid)
            raise
        except Refused:
            raise
        except UsageError:
            return []
        found = self._known[socket, user.uid] = list(_parsed(said, socket, user))
        return found


def _parsed(text: str, socket: str, user: User) -> Iterator[Pane]:
    for line in text.splitlines():
        parts = line.split("\t", 4)
        if len(parts) == 5 and parts[3].isdecimal() and _PANE.fullmatch(parts[1]):
            tty, pane, piped, pid, session = parts
            yield Pane(tty, pane, session, socket, piped == "1", int(pid[:9]), user)


def _usual(user: User) -> list[str]:
    """The sockets in the folders in which tmux of this user makes them."""
    folders = [os.environ.get("TMUX_TMPDIR", "/tmp"), "/tmp"]
    found: list[str] = []
    for folder in dict.fromkeys(folders):
        with contextlib.suppress(OSError), os.scandir(f"{folder}/tmux-{user.uid}") as entries:
            found += sorted(entry.path for entry in islice(entries, MOST_SOCKETS))
    return found


def check_socket(path: str, owner: User) -> None:
    """Raises Refused unless this is a socket of ``owner`` that nobody else could have put there.

    Raises FileNotFoundError when there is none.
    """
    if not path.startswith("/"):
        raise Refused(f"{path} is no path of a socket")
    try:
        info = check_way(path, owner.uid)
    except Untrusted as error:
        raise Refused(f"{error}, so its socket {path} may be anybody's") from None
    except PermissionError as error:
        raise Refused(f"its socket {path} cannot be looked at") from error
    except OSError:
        raise FileNotFoundError(path) from None
    if not stat.S_ISSOCK(info.st_mode):
        raise FileNotFoundError(path)
    if info.st_uid != owner.uid:
        raise Refused(f"its socket {path} belongs to {name_of(info.st_uid)}, not to {owner.name}")


def attach_tmux(
    pane_id: str,
    log: str | Path,
    socket: str | None = None,
    since: str | None = None,
    owner: User | None = None,
) -> None:
    """Append what pane ``pane_id`` prints from now on to ``log``.

    ``owner`` is the user of the server behind ``socket``, who also writes the log (default: we).
    ``since`` is the command as it was typed. If the scroll-back still has that line, the text
    after it is written first, so that the log also has the steps before this call. Without that
    line the scroll-back may belong to another run and is left out.

    Raises Refused when the pane has a pipe already (``pipe-pane -o`` would close it) or the socket
    cannot be trusted, and UsageError when there is no such pane or the log cannot be written.
    """
    log = Path(log).absolute()
    who = owner or user_of(os.geteuid(), os.getegid())
    assert who is not None
    if socket is not None:
        try:
            check_socket(socket, who)
        except FileNotFoundError:
            raise UsageError(f"tmux: there is no server at {socket}") from None
    target = ["-t", pane_id]
    shown = _tmux(socket, who, "display-message", "-p", *target, "#{pane_pipe}").strip()
    if shown == "1":
        raise Refused(f"tmux pane {pane_id} is piped somewhere already", "see tmux pipe-pane")
    past = ""
    if since:
        scroll = _tmux(socket, who, "capture-pane", "-p", "-J", "-S", "-", *target).rstrip()
        past = scroll.rpartition(since)[2].partition("\n")[2] if since in scroll else ""
        # Old ones (3.2) fill the lines with blanks.
        past = "\n".join(line.rstrip(" ") for line in past.split("\n"))
    _begin(log, f"{past}\n" if past else "", who)
    _tmux(socket, who, "pipe-pane", "-o", *target, f"exec cat >> {quoted(str(log))}")


def _begin(log: Path, past: str, who: User) -> None:
    """Make the log, as the user whose tmux is going to write it. Raises UsageError."""
    data = past.encode("utf-8", "surrogateescape")
    try:
        if who.is_us:
            log.parent.mkdir(parents=True, exist_ok=True)
            fd = open_private(log, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(fd, "ab") as file:
                file.write(data)
            return
        make = 'mkdir -p -- "$1" && exec cat >> "$2"'
        words = ["/bin/sh", "-c", make, "sh", str(log.parent), str(log)]
        done = run_as(who, words, given=data, deadline_s=ANSWER_S)
    except OSError as error:
        raise UsageError(f"cannot write {log}: {error.strerror or error}") from error
    except NoAnswer as error:
        raise UsageError(f"cannot write {log} as {who.name}: {error}") from error
    if done.code:
        raise UsageError(f"cannot write {log} as {who.name}: {_words(done)}")


def quoted(path: str) -> str:
    """``path`` quoted for the shell, with tmux's own ``#{…}`` and strftime codes escaped."""
    return shlex.quote(path).replace("#", "##").replace("%", "%%")


def attach_command(pane: Pane, log: str) -> str:
    """The shell command with which a person can do the same as :func:`attach_tmux`.

    For a pane of another user it begins with the user who has to type it: typed by anybody else,
    it would trust that user's server.
    """
    inner = f"exec cat >> {quoted(log)}"
    whose = "" if pane.owner.is_us else f"as {pane.owner.name}: "
    socket = shlex.quote(pane.socket)
    return f"{whose}tmux -S {socket} pipe-pane -o -t {pane.id} {shlex.quote(inner)}"


def _tmux(socket: str | None, who: User, *args: str, answer_s: float = ANSWER_S) -> str:
    """Output of one tmux command. Raises UsageError with tmux's message when it fails."""
    tmux = shutil.which("tmux")
    if tmux is None:
        raise UsageError("tmux is not installed")
    where = ["-S", socket] if socket else []
    try:
        done = run_as(who, [tmux, "-u", *where, *args], deadline_s=answer_s, most=SCROLL_BYTES)
    except NoAnswer as error:
        raise Unanswered(f"tmux does not answer: {error}") from error
    except OSError as error:
        raise UsageError(f"tmux cannot be started: {error}") from error
    if done.code:
        raise UsageError(f"tmux: {_words(done)}")
    return done.out.decode("utf-8", errors="surrogateescape")


def _words(said: Said) -> str:
    return said.words.decode(errors="replace").strip() or f"exit code {said.code}"
