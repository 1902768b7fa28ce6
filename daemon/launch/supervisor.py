"""The supervisor: starts one command, survives the terminal, records how the command ended.

A stand-alone program, run as ``python -I -S supervisor.py`` by :mod:`.launch.start`. It runs beside
the training for days, so it imports nothing but ``os`` and built-in modules (to stay as small as a
bare interpreter), holds no file of the training open and does nothing but wait.

- The command writes directly into the log file, through no pipe: its output does not depend on the
  supervisor, the daemon or a terminal. If the supervisor is killed, only the exit status is lost.
- The exit file exists at full size (4 KiB of spaces) before the command starts and is overwritten
  in place, so that the record can be written even if the disk is full by then. If that fails, a
  copy is written to ``/dev/shm`` at once, and the write is tried again.
- Signals of a terminal are ignored; SIGTERM is passed on to the process group of the command.

Options: ``--name``, ``--log``, ``--exit-file``, ``--orders`` and ``--report`` (two FIFOs of the
launcher), ``--detach`` (fork away from the caller), ``--show`` (follow the log on stdout), ``--user``
(``UID:GID:GROUP,GROUP``: the command runs as this user; the supervisor itself stays root's),
``--next`` (a FIFO, see :func:`wait_for_next`).
The orders are ``cwd``, the number of arguments, the arguments and the environment as
``NAME=value``, NUL-separated and preceded by their length in ten digits: neither a command
line nor a disk ever shows the environment. The report is one line, ``started PID TICKS SUPERVISOR``
or ``failed CODE SUPERVISOR REASON``.
"""

from __future__ import annotations

import errno
import os
import sys
import time

# The built-in module behind ``signal``: the enums of ``signal`` would cost 0.8 MB of memory.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

RECORD_BYTES = 4096
"""One memory page and one disk block, so that a single call writes all of it or nothing."""
SPARE_DIR = "/dev/shm"
RETRIES_S = (1, 5, 15, 30, 60, 120, 300)
"""Seconds between attempts to write the exit file: about nine minutes in total, in which a person
or a clean-up may free the disk. The copy in /dev/shm exists from the first attempt on."""
ORDERS_S = 30
"""Seconds to wait for the orders: the launcher waits half as long for our report, and then sends none."""
NEXT_S = 24 * 3600
"""Seconds to wait for what follows (our choice): the daemon says so within minutes, if it runs; else a
person comes within a day."""
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of every shell for these two cases (POSIX, 2.8.2)."""

TERMINAL_SIGNALS = (
    *(_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT),
    *(_signal.SIGTSTP, _signal.SIGTTIN, _signal.SIGTTOU),
)
"""What a terminal sends when it closes or when somebody types into it."""


def spare_path(exit_file: str) -> str:
    """Path of the copy that is written when the exit file itself cannot be written."""
    return f"{SPARE_DIR}/middlewatch-exit{exit_file[-200:].replace('/', '!')}"


def number(value: object) -> str:
    """A JSON number, ``true``/``false`` or ``null``."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def record(fields: dict[str, object]) -> bytes:
    """One JSON object of numbers, padded with spaces to :data:`RECORD_BYTES`."""
    text = "{" + ", ".join(f'"{key}": {number(value)}' for key, value in fields.items()) + "}"
    return text.encode().ljust(RECORD_BYTES - 1) + b"\n"


def write_whole(path: str, data: bytes) -> bool:
    """Overwrite ``path`` with ``data`` in place, and sync it; ``False`` when that failed."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        written = os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
        return written == len(data)
    except OSError:
        return False
    finally:
        os.close(fd)


def reserve(exit_file: str) -> None:
    """Create the exit file at its full size before the command starts."""
    blank = b" " * (RECORD_BYTES - 1) + b"\n"
    write_whole(exit_file, blank)  # if this fails, only the copy in /dev/shm will be written
    forget_spare(exit_file)  # a copy of an older run must not be read for this one


def forget_spare(exit_file: str) -> None:
    """Remove the copy in /dev/shm."""
    try:
        os.unlink(spare_path(exit_file))
    except OSError:
        return


def save(exit_file: str, data: bytes) -> None:
    """Write the record; if that fails, write a copy to /dev/shm and try again for a while."""
    if write_whole(exit_file, data):
        return
    write_whole(spare_path(exit_file), data)
    for wait in RETRIES_S:
        time.sleep(wait)
        if write_whole(exit_file, data):
            forget_spare(exit_file)
            return


def start_ticks(pid: int) -> int:
    """Field 22 of /proc/PID/stat; 0 when it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def read_orders(path: str) -> tuple[bytes, list[bytes], dict[bytes, bytes]]:
    """Working directory, command and environment, from the FIFO of the launcher."""
    with open(path, "rb") as fifo:
        size = int(fifo.read(10))
        cwd, count, *rest = fifo.read(size).split(b"\0")
    argv = rest[: int(count)]
    pairs = (entry.partition(b"=") for entry in rest[int(count) :])
    return cwd, argv, {key: value for key, _, value in pairs}


def set_oom_score(score: str) -> str:
    """Set our own oom_score_adj and return its old value; empty when it cannot be changed."""
    try:
        with open("/proc/self/oom_score_adj", "r+") as file:
            before = file.read().strip()
            file.seek(0)
            file.write(score)
            return before
    except OSError:
        return ""


def execute(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """``execvpe`` that, like a shell, gives a script without ``#!`` to ``/bin/sh``.

    Raises OSError: the first reason other than "no such file", else that one.
    """
    name = argv[0]
    places = [b""] if b"/" in name else env.get(b"PATH", os.defpath.encode()).split(b":")
    problem: OSError | None = None
    for place in places:
        path = os.path.join(place, name) if place else name  # noqa: PTH118
        try:
            try:
                os.execve(path, argv, env)
            except OSError as error:
                if error.errno != errno.ENOEXEC:
                    raise
                os.execve(b"/bin/sh", [b"sh", path, *argv[1:]], env)
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            if problem is None or (not missing and problem.errno == errno.ENOENT):
                problem = error
    raise problem or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def defaults() -> None:
    """Reset all signals to their defaults: Python ignores some (SIGPIPE), the supervisor others."""
    fixed = {_signal.SIGKILL, _signal.SIGSTOP}
    for signum in _signal.valid_signals() - fixed:
        _signal.signal(signum, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, [])


def drop(user: str) -> None:
    """Become the user ``UID:GID:GROUP,GROUP`` for good; raises OSError when that is not possible."""
    uid, gid, groups = user.split(":")
    os.setgroups([int(group) for group in groups.split(",") if group])
    os.setresgid(int(gid), int(gid), int(gid))
    os.setresuid(int(uid), int(uid), int(uid))
    os.umask(0o022)


def become(
    log: int, oom: str, user: str, cwd: bytes, argv: list[bytes], env: dict[bytes, bytes]
) -> None:
    """In the forked child: replace it by the command. Raises OSError when that is not possible."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if oom:
        set_oom_score(oom)
    defaults()
    if user:
        drop(user)  # before anything of that user is touched: its folder, its program
    os.chdir(cwd)
    execute(argv, env)


def start(
    log: int, oom: str, user: str, cwd: bytes, argv: list[bytes], env: dict[bytes, bytes]
) -> tuple[int, int, str]:
    """Fork and exec: pid, exit code (0 when it runs) and the reason why it does not."""
    ours, theirs = os.pipe()  # the exec closes the child's end if it succeeds
    pid = os.fork()
    if pid == 0:
        try:
            become(log, oom, user, cwd, argv, env)
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            code = NOT_FOUND if missing else NOT_EXECUTABLE
            os.write(theirs, f"{code} {error.strerror}".encode())
        os._exit(NOT_EXECUTABLE)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        answer = pipe.read().decode()
    if not answer:
        return pid, 0, ""
    os.waitpid(pid, 0)
    word, _, reason = answer.partition(" ")
    return 0, int(word), reason


def detach() -> None:
    """Detach from the caller by a double fork: a session of its own, no terminal, no parent."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def follow(log: str, command: int) -> int:
    """Show the log on our terminal with ``tail`` until ``command`` has ended; the pid of ``tail``.

    Ctrl-C does not end it, because it inherits our ignored signals; a closed terminal does.
    """
    pid = os.fork()
    if pid:
        return pid
    _signal.signal(_signal.SIGHUP, _signal.SIG_DFL)
    try:
        os.execvp("tail", ["tail", f"--pid={command}", "-n", "+1", "-F", log])
    except OSError:
        os._exit(NOT_FOUND)


def release(keep_streams: bool) -> None:
    """Close all files and leave the directory, so that we block no unmount and no rotation."""
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0,) if keep_streams else (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, 1024)


def tell(report: int, line: str) -> None:
    """Answer the launcher. If it was killed meanwhile nobody reads it, and the command runs all the same."""
    try:
        os.write(report, line.encode())
    except OSError:
        return


def pass_on_sigterm(pid: int) -> None:
    """Pass SIGTERM on to the command's process group; the supervisor itself does not end."""

    def terminate(*_: object) -> None:
        try:
            os.killpg(pid, _signal.SIGTERM)
        except OSError:
            return

    _signal.signal(_signal.SIGTERM, terminate)


def ending(pid: int, ticks: int, started: float, status: int, rss: int) -> dict[str, object]:
    """The exit record of a command that ran."""
    signaled = os.WIFSIGNALED(status)
    return {
        "pid": pid,
        "start_ticks": ticks,
        "exit_code": None if signaled else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if signaled else None,
        "core": os.WCOREDUMP(status),
        "started_at": started,
        "ended_at": time.time(),  # noqa: TID251  (the daemon's clock is not available here)
        "max_rss_bytes": rss,
    }


def never_ran(code: int) -> dict[str, object]:
    """The exit record of a command that could not be started."""
    now = time.time()  # noqa: TID251  (as above)
    return {
        **dict.fromkeys(("pid", "start_ticks", "signal")),
        "exit_code": code,
        "core": False,
        **dict.fromkeys(("started_at", "ended_at"), now),
        "max_rss_bytes": 0,
    }


def wait_for_next(path: str, log: str, oom: str, env: dict[bytes, bytes]) -> None:
    """Wait for the daemon's word on what follows the command, and start that in the command's own
    environment, which only we still have: no disk ever saw it.

    The word is one line in the FIFO ``path``, arguments with NUL between them; an empty one: nothing
    follows. It is read once, so nothing is started twice. What is started writes to ``log``.
    """
    _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)  # the group that it was passed on to is gone
    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    _signal.alarm(NEXT_S)
    try:
        # For writing too: it never ends, and the daemon sees by it that somebody reads.
        fifo = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        words = os.read(fifo, 4096).partition(b"\n")[0].split(b"\0")
    except OSError:
        return
    _signal.alarm(0)
    if words == [b""] or os.fork():
        return
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        become(out, oom, "", b"/", words, env)
    finally:
        os._exit(NOT_EXECUTABLE)


def supervise(options: dict[str, str]) -> int:
    """The whole life of a supervisor; returns its exit code, that of the command."""
    log_path, exit_file = options["--log"], options["--exit-file"]
    os.closerange(3, 1024)  # the command must not inherit what tmux or systemd left open
    _signal.alarm(ORDERS_S)  # if the launcher has died, nobody opens the other end
    # Opened before the fork: if we die without a report, the launcher sees the end of the FIFO.
    report = os.open(options["--report"], os.O_WRONLY | os.O_CLOEXEC)
    if "--detach" in options:
        detach()
    _signal.alarm(ORDERS_S)  # again, as a fork ends it: nothing may come through this FIFO either
    cwd, argv, env = read_orders(options["--orders"])
    _signal.alarm(0)
    for signum in TERMINAL_SIGNALS:
        _signal.signal(signum, _signal.SIG_IGN)
    # The OOM killer should choose any other process first. Without the right it stays as it is.
    oom = set_oom_score("-500")
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    user = options.get("--user", "")
    if user:  # else it could not open its own output again (/dev/stderr)
        uid, gid, _ = user.split(":")
        os.fchown(log, int(uid), int(gid))
    reserve(exit_file)
    started = time.time()  # noqa: TID251  (as above)
    pid, code, reason = start(log, oom, user, cwd, argv, env)
    if code:
        command = argv[0].decode(errors="replace")
        os.write(log, f"middlewatch: cannot start {command!r}: {reason}\n".encode())
        save(exit_file, record(never_ran(code)))
        tell(report, f"failed {code} {os.getpid()} {reason}\n")
        return code
    pass_on_sigterm(pid)
    ticks = start_ticks(pid)
    tell(report, f"started {pid} {ticks} {os.getpid()}\n")
    following = options.get("--next", "")
    argv, env = [], env if following else {}
    show = "--show" in options
    tail = follow(log_path, pid) if show else 0
    release(keep_streams=show)
    _, status, usage = os.wait4(pid, 0)
    rss = usage.ru_maxrss * 1024  # the kernel counts KiB here
    save(exit_file, record(ending(pid, ticks, started, status, rss)))
    if tail:
        os.waitpid(tail, 0)  # the pane closes when we end: let it show the last lines first
    if following:
        wait_for_next(following, f"{following}.log", oom, env)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # like a shell: 128 + number of the signal


def parse(args: list[str]) -> dict[str, str]:
    """``--key value`` pairs and bare flags, as :mod:`.start` writes them."""
    options: dict[str, str] = {}
    waiting = iter(args)
    for key in waiting:
        options[key] = "" if key in ("--detach", "--show") else next(waiting)
    return options


if __name__ == "__main__":
    sys.exit(supervise(parse(sys.argv[1:])))
