"""What a child process gives up before it begins: rights of root, the network, writing files.

A child reads what strangers have written, or speaks to strangers. When it is taken over by that, it
should be able to do no more than its task. Four walls, each of which the kernel keeps up:

- *no new privileges*: no program that it starts gets more rights than it has.
- *capabilities*: of the powers of root only those that it needs, for good.
- *seccomp*: system calls that it never needs: the network, changing files, mounts, modules.
- *Landlock*: it changes files in a few folders only. Not for a child that looks into the processes
  of others: Landlock forbids that as well. There seccomp forbids all changes of files.

:data:`CHILDREN` says for each child what it keeps and why. What the kernel does not offer is left
out; :func:`missing` says it in sentences.

It runs before the program of a child (the leash in :mod:`.worker_main`) and inside of the loader, under
any Python from 3.8 on. So it imports little, and nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes longer than all the rest
    from collections.abc import Iterable, Sequence

CAPABILITIES = {
    "DAC_OVERRIDE": 1,
    "DAC_READ_SEARCH": 2,
    "SYS_PTRACE": 19,
    "SYSLOG": 34,
    "CHOWN": 0,
    "FOWNER": 3,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
}
"""Numbers of those that some child keeps (include/uapi/linux/capability.h)."""
_LAST_CAPABILITY = 63


class Walls:
    """What one child keeps."""

    __slots__ = ("capabilities", "network", "why", "writes")

    def __init__(
        self, capabilities: Sequence[str], network: bool | str, writes: str, why: str
    ) -> None:
        """``network``: all, none, or ``unix``: Unix sockets only. ``writes``: ``none``, ``listed`` (in
        folders that are named at its start) or ``all``."""
        self.capabilities = frozenset(capabilities)
        self.network = network
        self.writes = writes
        self.why = why


_LOOKS = ("DAC_READ_SEARCH", "SYS_PTRACE")
CHILDREN = {
    "verifier": Walls(
        _LOOKS, False, "none", "reads checkpoints of every user, and looks who still writes to one"
    ),
    "load": Walls(
        ("DAC_READ_SEARCH",),
        False,
        "none",
        "reads one checkpoint; it starts no programs either. As another user it has no capability",
    ),
    "loads": Walls(
        (*_LOOKS, "KILL", "SETGID", "SETUID"),
        False,
        "all",
        "starts the Python of a run, as the user of that run, to load a milestone with it",
    ),
    "stacks": Walls(_LOOKS, False, "none", "runs py-spy, which reads the memory of a process"),
    "far": Walls(
        _LOOKS, False, "none", "reads logs and folders, also through /proc/PID of a container"
    ),
    "far-copies": Walls(
        ("DAC_READ_SEARCH", "DAC_OVERRIDE"),
        False,
        "all",
        "writes into `status_dir`, of whoever it is",
    ),
    "disk": Walls(("DAC_READ_SEARCH",), False, "none", "asks for the free space of a mount"),
    "docker": Walls(
        ("DAC_READ_SEARCH",),
        "unix",
        "none",
        "asks the docker engine; its Python may lie in the folder of another user",
    ),
    "save-search": Walls(_LOOKS, False, "none", "reads settings and lists folders of runs"),
    "notifier": Walls(
        ("DAC_READ_SEARCH",),
        True,
        "listed",
        "speaks to the services of the alerts; its Python may lie in the folder of another user",
    ),
    "mirror-folder": Walls(
        ("DAC_READ_SEARCH", "DAC_OVERRIDE"),
        False,
        "listed",
        "reads checkpoints of every user, writes below the destination",
    ),
    "mirror-host": Walls(
        ("DAC_READ_SEARCH", "DAC_OVERRIDE"),
        True,
        "listed",
        "runs rsync and ssh; ssh notes hosts in ~/.ssh",
    ),
    "mirror-remote": Walls(
        ("DAC_READ_SEARCH", "DAC_OVERRIDE", "SYS_PTRACE"),
        True,
        "all",
        "runs rclone, whose remote may be a folder of this box; or reads in a container, by "
        "/proc/PID, which Landlock would forbid",
    ),
    "finder": Walls(
        (*_LOOKS, "DAC_OVERRIDE", "CHOWN", "FOWNER", "KILL", "SETGID", "SETUID"),
        True,
        "all",
        "asks the tmux of a user as that user, over a socket",
    ),
    "usual": Walls((*_LOOKS, "SYSLOG"), True, "all", "of a child that is not in this table"),
}
"""``nvml`` is not among them: the library of the driver may load a module and make device nodes."""
NONE = ""
"""Instead of a name of :data:`CHILDREN`: no walls."""

# ------------------------------------------------------------------------ seccomp

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Linux system calls: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
PROGRAMS = {  # exec, fork without threads, ptrace, signals to others
    "x86_64": (57, 58, 59, 322, 101, 310, 311, 62, 200, 424),
    "aarch64": (221, 281, 117, 270, 271, 129, 130, 424),
}
NETWORK = {  # socket and what belongs to it
    "x86_64": (41, 42, 43, 49, 50, 53, 288),
    "aarch64": (198, 199, 200, 201, 202, 203, 242),
}
LISTENS = {"x86_64": (43, 49, 50, 288), "aarch64": (200, 201, 202, 242)}  # accept, bind, listen
_SOCKETS = {"x86_64": (41, 53), "aarch64": (198, 199)}  # socket, socketpair
_AF_UNIX = 1
CHANGES = {  # create, rename, remove, truncate, modes, owners, times, attributes
    "x86_64": (
        *(76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 132, 133, 235, 261, 280, 285),
        *(258, 259, 260, 263, 264, 265, 266, 268, 316, 452, 188, 189, 190, 197, 198, 199),
    ),
    "aarch64": (
        *(5, 6, 7, 14, 15, 16, 33, 34, 35, 36, 37, 38, 276, 45, 46, 47, 52, 53, 54, 55, 88, 452),
    ),
}
SYSTEM = {  # mounts, namespaces, kernel modules, keys, and io_uring, which can do most of the above
    "x86_64": (
        *(155, 161, 165, 166, 169, 175, 246, 272, 308, 313, 321, 323, 298, 425, 426, 427),
        *(248, 249, 250, 304, 428, 429, 430, 431, 432, 438, 442),
    ),
    "aarch64": (
        *(39, 40, 41, 51, 97, 104, 105, 106, 142, 217, 218, 219, 241, 268, 273, 280, 282),
        *(265, 425, 426, 427, 428, 429, 430, 431, 432, 438, 442),
    ),
}
_CLONE3, _OPENAT2 = 435, 437  # a filter cannot see their flags
_OPENS = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}  # number, argument with flags
_CLONE = {"x86_64": 56, "aarch64": 220}
_TGKILL = {"x86_64": 234, "aarch64": 131}
_CLONE_THREAD = 0x00010000
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_GET_ACTION_AVAIL = 2


def rules(
    machine: str,
    calls: Iterable[int],
    *,
    changes: bool = False,
    alone: int | None = None,
    unix: bool = False,
) -> list[tuple[int, int, int, int]]:
    """A seccomp filter as BPF instructions: (code, jump if true, jump if false, operand).

    ``calls`` are forbidden; with ``changes`` also to open a file for writing, with ``unix`` every socket
    but those of Unix. ``alone``: the process of this pid starts no other process (threads it may) and
    signals only itself.
    """
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    no, missing = (_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ERRNO | _ENOSYS)
    yes, kill = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL)
    number = (_LOAD, 0, 0, 0)
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT[machine]), kill, number]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, 0x40000000), no]  # the x32 numbers
    for call in calls:
        program += [(_EQUAL, 0, 1, call), no]
    for call in _SOCKETS[machine] if unix else ():
        program += [(_EQUAL, 0, 4, call), (_LOAD, 0, 0, 16), (_EQUAL, 1, 0, _AF_UNIX), no, yes]
    if changes:
        program += [(_EQUAL, 0, 1, _OPENAT2), missing]
        for call, argument in _OPENS[machine]:
            flags = (_LOAD, 0, 0, 16 + 8 * argument)
            program += [(_EQUAL, 0, 4, call), flags, (_ANY_BIT, 0, 1, writes), no, yes]
    if alone is None:
        return [*program, yes]
    program += [(_EQUAL, 0, 1, _CLONE3), missing]
    program += [(_EQUAL, 0, 4, _CLONE[machine]), (_LOAD, 0, 0, 16)]
    program += [(_ANY_BIT, 1, 0, _CLONE_THREAD), no, yes]
    program += [(_EQUAL, 0, 4, _TGKILL[machine]), (_LOAD, 0, 0, 16)]  # abort() is allowed
    return [*program, (_EQUAL, 1, 0, alone), no, yes, yes]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int, *(4 * [ctypes.c_ulong])]
_PR_CAPBSET_DROP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 24, 22, 38


def forbid(program: Sequence[tuple[int, int, int, int]]) -> bool:
    """Put up a filter; returns whether the kernel took it."""
    code = b"".join(struct.pack("=HBBI", *rule) for rule in program)
    text = ctypes.create_string_buffer(code, len(code))
    whole = _Program(len(code) // 8, ctypes.addressof(text))
    return bool(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(whole), 0, 0) == 0)


def no_new_privileges() -> None:
    """No program that is started from now on gets more rights than this one."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def machine() -> str:
    """The architecture, if it is one that filters are known for; else empty."""
    name = os.uname().machine
    return name if name in _AUDIT and ctypes.sizeof(ctypes.c_void_p) == 8 else ""


# ------------------------------------------------------------------------ capabilities


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


_CAP_VERSION = 0x20080522


def keep_capabilities(names: Iterable[str]) -> bool:
    """Give up all capabilities but these, for good; returns whether the kernel did it.

    The bounding set shrinks where this process may do that. Where it may not, programs started later
    still get no more, if :func:`no_new_privileges` was called before.
    """
    kept = 0
    for name in names:
        kept |= 1 << CAPABILITIES[name]
    for number in range(_LAST_CAPABILITY + 1):
        if not kept >> number & 1:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header = _CapHeader(_CAP_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; the low half, then the high
    if _libc.capget(ctypes.byref(header), data) != 0:
        return False
    for half in (0, 1):
        wanted = data[3 * half + 1] & (kept >> 32 * half & 0xFFFFFFFF)
        data[3 * half] = data[3 * half + 1] = wanted
        data[3 * half + 2] = 0
    return bool(_libc.capset(ctypes.byref(header), data) == 0)


# ------------------------------------------------------------------------ Landlock

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on all architectures
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
_LEAST_ABI = 2
"""The first version (Linux 5.19) in which a file can be renamed into another folder at all."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_access_fs", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def landlock_abi() -> int:
    """The version of Landlock; 0 where the kernel has none, or it is switched off."""
    none = ctypes.c_void_p(None)
    number = ctypes.c_long(_CREATE_RULESET)
    return max(0, int(_libc.syscall(number, none, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def write_only_below(folders: Iterable[str]) -> bool:
    """Change files in these folders only, and write to /dev/null; returns whether that holds.

    Of a folder that is not there yet the nearest one above it counts.
    """
    abi = landlock_abi()
    if abi < _LEAST_ABI:
        return False
    handled = _WRITE_FILE | _MAKE_AND_REMOVE | _REFER | (_TRUNCATE if abi >= 3 else 0)
    asked = _Ruleset(handled)
    number, size = ctypes.c_long(_CREATE_RULESET), ctypes.c_size_t(ctypes.sizeof(asked))
    ruleset = int(_libc.syscall(number, ctypes.byref(asked), size, ctypes.c_uint32(0)))
    if ruleset < 0:
        return False
    try:
        for folder in folders:
            _allow(ruleset, _nearest(folder), handled)
        _allow(ruleset, "/dev/null", handled & (_WRITE_FILE | _TRUNCATE))
        restrict = ctypes.c_long(_RESTRICT_SELF)
        return bool(_libc.syscall(restrict, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _nearest(folder: str) -> str:
    folder = os.path.realpath(folder)
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return folder


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        beneath = _Beneath(access, fd)
        number, kind = ctypes.c_long(_ADD_RULE), ctypes.c_int(1)
        _libc.syscall(
            number, ctypes.c_int(ruleset), kind, ctypes.byref(beneath), ctypes.c_uint32(0)
        )
    finally:
        os.close(fd)


# ------------------------------------------------------------------------ all of them


def enter(name: str, folders: Sequence[str] = (), alone: int | None = None) -> bool:
    """Put up the walls of one child around this process, for good.

    ``folders``: where it may change files, for one that may in listed ones. ``alone``: as for
    :func:`rules`. Returns whether system calls are filtered.
    """
    walls = CHILDREN[name]
    no_new_privileges()
    if walls.writes == "listed":
        write_only_below(folders)
    keep_capabilities(walls.capabilities)
    known = machine()
    unix = walls.network == "unix"
    if not known or (walls.network and walls.writes == "all"):
        return False
    calls = list(SYSTEM[known])
    calls += LISTENS[known] if unix else () if walls.network else NETWORK[known]
    calls += CHANGES[known] if walls.writes == "none" else ()
    calls += () if alone is None else PROGRAMS[known]
    return forbid(rules(known, calls, changes=walls.writes == "none", alone=alone, unix=unix))


def missing() -> list[str]:
    """Sentences about the walls that this kernel does not offer; empty if it offers all."""
    found = []
    known = machine()
    action = ctypes.c_uint32(_ERRNO)
    if not known or _libc.syscall(
        ctypes.c_long(_SECCOMP[known]), _GET_ACTION_AVAIL, 0, ctypes.byref(action)
    ):
        found.append(
            "this kernel filters no system calls (seccomp): children are not kept from the network "
            "and from changing files"
        )
    if landlock_abi() < _LEAST_ABI:
        found.append(
            "this kernel has no Landlock (Linux 5.19, or it is switched off): the notifier and the "
            "mirror may change files anywhere that their user may"
        )
    return found
