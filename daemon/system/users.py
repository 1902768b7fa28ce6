"""Run a program as another user of the box, so that it can do no more than that user could.

What belongs to another user is asked by a child that has become that user before it does anything:
its user, its groups, none of our environment, no terminal of ours. The child has a deadline and a
limit on what it says, because its user may interfere with it.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import select
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import procfs
from .clock import Clock, SystemClock
from .errors import Refused

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
UNUSED = range(61184, 65520)
"""Ids that no account has: systemd.exec(5), ``DynamicUser=``."""
MOST_WORDS = 4000
"""Bytes kept of what a program says on stderr."""


@dataclass(frozen=True, slots=True)
class User:
    """A user, with the groups that a login would give."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    home: str
    """Empty for a user without an account, as containers have them."""
    shell: str = "/bin/sh"

    @property
    def is_us(self) -> bool:
        """True for the user that we run as."""
        return self.uid == os.geteuid()

    def environment(self) -> dict[str, str]:
        """The variables that a program of this user is given by us: none of ours."""
        return {
            "HOME": self.home or "/",
            "USER": self.name,
            "LOGNAME": self.name,
            "SHELL": self.shell,
            "PATH": PATH,
            "LANG": "C.UTF-8",
        }


@dataclass(frozen=True, slots=True)
class Said:
    """What a program said until its end."""

    code: int
    out: bytes
    words: bytes
    """The beginning of its stderr."""


def runner_of(pid: int, proc: str = procfs.PROC) -> tuple[int, int] | None:
    """(user id, group id) that a process was started by and runs as.

    ``None`` when it is gone, or when they are not the same: the command and the environment of a
    program with the set-user-id bit come from one user, and its rights from another. Such a program
    (sudo, before it has asked for a password) may have given itself all ids of the other one.
    Unlike the owner of its folder in /proc, this is right for a process that has made itself
    untraceable.
    """
    try:
        if os.stat(f"{proc}/{pid}/exe").st_mode & (stat.S_ISUID | stat.S_ISGID):
            return None
    except OSError:
        pass  # of another user, and we are not root; or a copy of /proc
    lines = (procfs.read_or_none(f"{proc}/{pid}/status", 8192) or b"").splitlines()
    found = []
    for name in (b"Uid:", b"Gid:"):
        line = next((line for line in lines if line.startswith(name)), b"")
        values = set(line.split()[1:])
        if len(values) != 1:
            return None
        found.append(procfs.parse_number(values.pop()))
    return found[0], found[1]


class NoAnswer(Exception):
    """The program did not end in time, or said too much."""


def user_of(uid: int, gid: int | None = None) -> User | None:
    """The user with this id.

    ``gid`` is the group of one without an account, who gets no other groups. ``None`` for one with
    neither: a group that nobody has named may be anybody's.
    """
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        return None if gid is None else User(uid, gid, (), str(uid), "")
    groups = tuple(os.getgrouplist(account.pw_name, account.pw_gid))
    shell = account.pw_shell or "/bin/sh"
    return User(uid, account.pw_gid, groups, account.pw_name, account.pw_dir, shell)


def unused_user(proc: str = procfs.PROC) -> User:
    """A user who has no account, no group, no process and so, as far as anybody can tell, no file.

    For programs that anybody may have changed: what they are then made to do, everybody could have
    done before. Taken from the range that systemd keeps for such users (``DynamicUser=``). Raises
    Refused when all of them are in use.
    """
    busy = {_owner(pid, proc) for pid in procfs.pids(proc)}
    for uid in reversed(UNUSED):
        if uid not in busy and not _has_account(uid):
            return User(uid, uid, (), str(uid), "")
    raise Refused("no user id is free for a program that nobody vouches for")


def _owner(pid: int, proc: str) -> int | None:
    with contextlib.suppress(OSError):
        return os.stat(f"{proc}/{pid}").st_uid
    return None


def _has_account(uid: int) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwuid(uid))
    with contextlib.suppress(KeyError):
        return bool(grp.getgrgid(uid))
    return False


def check_may_become(who: User) -> None:
    """Raises Refused where we cannot run a program as this user."""
    if not who.is_us and os.geteuid() != 0:
        raise Refused(f"only {who.name} and root can do this", f"type it as {who.name}")


def run_as(
    who: User,
    argv: Sequence[str],
    *,
    deadline_s: float,
    given: bytes = b"",
    most: int = 1 << 20,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
) -> Said:
    """Run a program as ``who`` to its end; ``given`` is its stdin.

    As another user it has a clean environment; for our own user it has ours; or ``environ``. Raises NoAnswer when
    it takes longer than ``deadline_s`` or says more than ``most`` bytes, Refused where we may not
    become that user, and OSError when it cannot be started.
    """
    check_may_become(who)
    stdin = os.memfd_create("given", os.MFD_CLOEXEC)
    try:
        _write_all(stdin, given)
        os.lseek(stdin, 0, os.SEEK_SET)
        try:
            child = _start(who, argv, stdin, environ)
        except subprocess.SubprocessError as error:
            raise OSError(f"{argv[0]} cannot be started as {who.name}: {error}") from error
    finally:
        os.close(stdin)
    try:
        return _hear(child, deadline_s, most, clock or SystemClock())
    finally:
        _end(child)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _start(
    who: User, argv: Sequence[str], stdin: int, environ: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    # A session of its own: with our terminal as its controlling terminal, a program of another user
    # could type into our shell.
    return subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ if environ is not None or who.is_us else who.environment(),
        cwd="/",
        start_new_session=True,
        umask=0o077,
        user=None if who.is_us else who.uid,
        group=None if who.is_us else who.gid,
        extra_groups=None if who.is_us else list(who.groups),
    )


def _hear(child: subprocess.Popen[bytes], deadline_s: float, most: int, clock: Clock) -> Said:
    assert child.stdout is not None
    assert child.stderr is not None
    out, words = child.stdout.fileno(), child.stderr.fileno()
    heard = {out: bytearray(), words: bytearray()}
    waiting = select.poll()
    for fd in heard:
        waiting.register(fd, select.POLLIN)
    until = clock.monotonic() + deadline_s
    open_ends = len(heard)
    while open_ends:
        left = until - clock.monotonic()
        if left <= 0:
            raise NoAnswer(f"it did not answer within {deadline_s:.0f} s")
        for fd, _ in waiting.poll(left * 1000):
            data = os.read(fd, 1 << 16)
            if not data:
                waiting.unregister(fd)
                open_ends -= 1
            elif fd == words:
                heard[fd] += data[: MOST_WORDS - len(heard[fd])]
            else:
                heard[fd] += data
                if len(heard[fd]) > most:
                    raise NoAnswer(f"it said more than {most} bytes")
    try:
        code = child.wait(max(0.1, until - clock.monotonic()))
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"it did not end within {deadline_s:.0f} s") from None
    return Said(code, bytes(heard[out]), bytes(heard[words]))


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the program if it has not ended, with what is left of its process group."""
    if child.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(2)  # one that hangs in the kernel is left behind
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
