"""What the processes of a run say about where it saves: options, settings, programs, open files.

Runs in a child process (:mod:`.programs.save_search`): it opens files that a run names, and any of
them may be on a mount that does not answer.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ..checkpoints.formats import names
from ..launch.checkpoint_args import DIRECTORY_OPTIONS, PATH_OPTIONS, directory, from_argv
from ..launch.programs import is_excluded, program
from ..system import places
from ..system.processes import Process, Processes
from .save_walk import listed

MOST_PROCESSES = 64
"""Processes of one run whose open files are looked at, those with a rank first. Our choice: eight
ranks and their loader workers."""
MOST_FILES = 512
"""Open files looked at per process: a loader of many shards may hold thousands."""
MOST_SETTINGS = 12
"""Files of settings read per look."""
SETTINGS_BYTES = 256 << 10
"""Largest file of settings, or program, that is read; longer ones are data."""

_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")
_SETTING = re.compile(
    r"""(?:^|[\s,{])["']?(?P<key>[A-Za-z_][\w.-]*)["']?[ \t]*[:=][ \t]*["']?(?P<value>[^"'#,{}\[\]\n]+)""",
    re.MULTILINE,
)
"""One setting of YAML, JSON, TOML or INI."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_WORDS = re.compile(r"[A-Za-z0-9]+")


class Hint(NamedTuple):
    """A folder that the run has named. Whether it saves there is seen when something lies there."""

    path: str
    """As we see it."""
    why: str
    sure: bool = False
    """An option of the command line: it counts before anything lies there."""


class Written(NamedTuple):
    """A file or folder that the run has written, or says it has."""

    path: str
    why: str
    claimed: bool = False
    """The log says so: it counts whatever it is called."""


class Program(NamedTuple):
    """One program and its processes: of this run, or of somebody who may write beside it."""

    pid: int
    words: frozenset[str]
    """Words of its command line."""
    text: str
    """The program, as far as it is a script that can be read."""
    started_at: float
    claims: tuple[str, ...] = ()
    """Names of saves that its log claims."""
    open: frozenset[str] = frozenset()
    """Paths it has open for writing."""


def hints(processes: Sequence[Process], cwd: str) -> Iterator[Hint]:
    """Folders that command lines, environments and files of settings name."""
    for process in processes:
        here = process.cwd or cwd
        for path in from_argv(process.argv, here):
            yield Hint(process.lasting(path), f"the command line names {path}", sure=True)
        for name, value in process.environ.items():
            if _is_option(name):
                folder = directory(value, here)
                if folder:
                    yield Hint(process.lasting(folder), f"${name} is {value}")
        for settings in _settings(process, here):
            for key, value in _values(settings):
                folder = directory(value, here)
                if folder:
                    why = f"{PurePosixPath(settings).name} says {key}: {value}"
                    yield Hint(process.lasting(folder), why)


def _is_option(name: str) -> bool:
    """Whether an environment variable is one of the options: ``OUTPUT_DIR``."""
    plain = name.lower()
    return name.isupper() and (plain in DIRECTORY_OPTIONS or plain in PATH_OPTIONS)


def _settings(process: Process, cwd: str) -> list[str]:
    """Files of settings that the process was given, has open, or has read in its folder."""
    named = [word.rpartition("=")[2] for word in process.argv[1:]]
    found = [process.outside(_joined(cwd, w)) for w in named if w.endswith(_SETTINGS)]
    found += [f.via for f in process.files[:MOST_FILES] if f.target.endswith(_SETTINGS)]
    began = process.started_at
    for entry in listed(process.outside(cwd or "/")):
        # Reading is noted once after every change of the file, unless the mount forbids it.
        if entry.name.endswith(_SETTINGS) and began:
            with contextlib.suppress(OSError):
                seen = entry.stat()
                if seen.st_atime >= began - 1 and seen.st_mtime < began:
                    found.append(entry.path)
    return list(dict.fromkeys(found))[:MOST_SETTINGS]


def _values(path: str) -> Iterator[tuple[str, str]]:
    """The settings in one file that name a folder to write to."""
    text = read_text(path)
    for match in _SETTING.finditer(text):
        key, value = match["key"].rpartition(".")[2], match["value"].strip()
        if key.replace("-", "_").lower() in DIRECTORY_OPTIONS and value:
            yield key, value


def read_text(path: str) -> str:
    """The text of a small file; empty for a large one, or one that cannot be read."""
    try:
        with open(places.open_file(path), "rb") as file:
            data = file.read(SETTINGS_BYTES + 1)
    except OSError:
        return ""
    return "" if len(data) > SETTINGS_BYTES else data.decode("utf-8", "replace")


def open_for_writing(processes: Iterable[Process], big: int) -> Iterator[tuple[Process, str, int]]:
    """(process, path as it sees it, size) of large files that are open for writing now."""
    for process in list(processes)[:MOST_PROCESSES]:
        for file in process.files[:MOST_FILES]:
            if not file.regular or not file.writable:
                continue
            with contextlib.suppress(OSError):
                size = os.stat(file.via).st_size
                if size >= big:
                    yield process, file.target.removesuffix(" (deleted)"), size


def claimed(path: str, processes: Sequence[Process], beside: Sequence[str]) -> list[str]:
    """Where a path that the log names may lie, as we see it.

    ``beside``: the working directory of the run, for when it has ended; or the folder of its log.
    """
    if "://" in path or "\0" in path:
        return []
    path = os.path.expanduser(path)
    found = [p.lasting(os.path.normpath(_joined(p.cwd, path))) for p in processes]
    if not path.startswith("/") or not processes:
        found += [os.path.normpath(_joined(folder, path)) for folder in beside]
    return list(dict.fromkeys(found))


def program_of(
    processes: Sequence[Process],
    claims: Iterable[str],
    started_at: float,
    ended: tuple[Sequence[str], str] = ((), ""),
) -> Program:
    """What is known of one program by its processes, the main one first.

    ``ended``: (command line, working directory) of a program that has no processes any more.
    """
    first = processes[:4]
    lines = [p.argv for p in first] or [tuple(ended[0])]
    words = frozenset(w.lower() for line in lines for arg in line for w in _WORDS.findall(arg))
    text = "\n".join(dict.fromkeys(_script(p) for p in first))
    if not first:
        text = _script_of(*ended, str)
    held = frozenset(p.lasting(path) for p, path, _ in open_for_writing(processes[:16], 1))
    pid = processes[0].pid if processes else 0
    return Program(pid, words, text, started_at, tuple(claims), held)


def _script(process: Process) -> str:
    return _script_of(process.argv, process.cwd, process.outside)


def _script_of(argv: Sequence[str], cwd: str, outside: Callable[[str], str]) -> str:
    for word in argv[1:]:
        if word.endswith((".py", ".sh")):
            return read_text(outside(_joined(cwd, word)))
    return ""


def rivals(box: Processes, family: Collection[int], homes: Collection[str]) -> list[Process]:
    """Programs with one of the same working directories that are no part of the run."""
    found = []
    for process in box.values():
        if process.pid in family or not process.cwd:
            continue
        what = program(process)
        if not what.python or not what.script or is_excluded(process):
            continue
        if process.lasting(process.cwd) in homes:
            found.append(process)
    return found


def speaks_for(who: Program, path: str, inside: str, against: Sequence[Program]) -> bool:
    """Whether a program can be told to be the writer of ``path``; ``inside``: the part of the path
    below the folder in which they all work.

    By what its log claims, what it has open (the save, or a log in the same folder), words of its
    command line that the others do not have, or the pieces of the name in its script, if they are
    in no other's script.
    """
    folder, _, name = path.rpartition("/")
    if name in who.claims or path in who.open:
        return True
    theirs = {os.path.dirname(held) for one in against for held in one.open}
    near = {folder, os.path.dirname(folder)} - theirs
    if any(os.path.dirname(held) in near for held in who.open):
        return True
    alone = who.words.difference(*(other.words for other in against))
    if alone & {word.lower() for word in _WORDS.findall(inside)}:
        return True
    return writes(who.text, name) and not any(writes(other.text, name) for other in against)


def writes(text: str, name: str) -> bool:
    """Whether all pieces of a name between its numbers stand in a program."""
    pieces = [p for p in _NUMBERS.split(name) if len(p) > 1]
    told = [p for p in pieces if p not in names.WEIGHTS]
    return bool(told) and all(piece in text for piece in pieces)


def _joined(folder: str, path: str) -> str:
    """``path`` from ``folder``, not resolved: links of a container lead elsewhere here."""
    return path if path.startswith("/") else f"{folder.rstrip('/')}/{path}"


def claims_of(told: Iterable[Mapping[str, object]]) -> list[str]:
    """The last parts of the paths in claims."""
    return [str(one["path"]).rstrip("/").rpartition("/")[2] for one in told if one.get("path")]
