"""Find a Python that has torch: that of the training process, else the next best.

An interpreter of another user runs as that user, if its run belongs to the same one; as root only
what nobody but root can change (:mod:`.trust`). Root runs any other, such as one in a folder that
everybody may write to, as a user who owns nothing. Its environment consists of a few known variables.
Variables that could switch off the safety of ``torch.load``
(``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD``), preload libraries or import modules from a working directory
are not among them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...config.run_spec import RunSpec
from ...system import places, procfs
from ...system.errors import Refused, UsageError
from ...system.ownership import Untrusted
from ...system.users import NoAnswer, User, run_as, runner_of, unused_user, user_of
from . import trust

PROBE_S = 30.0
"""Seconds to start an interpreter and look for torch: 0.05 s here, more on a network disk."""
_PROBE = (
    "import sys; sys.path[:] = [entry for entry in sys.path if entry]\n"
    "from importlib.util import find_spec\n"
    "print(sys.version_info >= (3, 8) and find_spec('torch') is not None)"
)
_KEPT = (
    *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE"),
)
_KEPT_PATHS = ("LD_LIBRARY_PATH", "PYTHONPATH")
"""Lists of folders, of which only the absolute ones are kept."""
_SET = {
    "CUDA_VISIBLE_DEVICES": "",  # the GPUs belong to the training
    "HIP_VISIBLE_DEVICES": "",
    "ROCR_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",  # no third-party backends, which torch would import
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONSAFEPATH": "1",  # 3.11 and later: no imports from the working directory
}
_IS_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*$")
OWN = "our own"
"""How the interpreter that runs this was found."""
_TORCH_HOME = re.compile(rb"(/[^\n]*)/lib(?:64)?/python3\.\d+/site-packages/torch/")


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, with the user and the environment that it is started with."""

    path: str
    origin: str
    """How it was found, for a person."""
    environ: Mapping[str, str]
    uid: int | None = None
    """User that it runs as; ``None``: the user of this process."""
    gid: int | None = None
    """Group of a user without an account."""

    def user(self) -> User:
        """Whom it runs as. Raises Refused for a user that is not known on this box."""
        uid = os.geteuid() if self.uid is None else self.uid
        found = user_of(uid, os.getegid() if uid == os.geteuid() else self.gid)
        if found is None:
            raise Refused(f"user {uid}, whose it is, is not known on this box")
        return found

    def identity(self) -> dict[str, Any]:
        """Arguments for ``subprocess`` that start it as its user."""
        user = self.user()
        if user.is_us:
            return {}
        return {"user": user.uid, "group": user.gid, "extra_groups": list(user.groups)}


def find(
    given_path: str | None,
    runs: Sequence[RunSpec] = (),
    others: Sequence[RunSpec] = (),
    notes: list[str] | None = None,
    paths: Sequence[str] = (),
) -> Python:
    """The first interpreter with torch: the one given; else of the runs, our own, of the shell.

    ``others``: runs that have nothing to do with the checkpoints; theirs come last. ``notes`` gets
    a sentence for each that was found and may not be used.
    ``paths``: the checkpoints that it has to read.

    Raises UsageError when there is none, or when the one given has no torch or may not be used.
    """
    if given_path is not None:
        python = given(given_path, paths)
        if not has_torch(python):
            raise UsageError(f"{given_path} is not a python 3.8 or later with torch")
        return python
    told = [] if notes is None else notes
    tried = set()
    for found in _candidates(runs, others):
        if found.path in tried:
            continue
        tried.add(found.path)
        try:
            python = _allowed(found, paths)
        except (Untrusted, Refused, OSError) as error:
            told.append(f"{found.path} ({found.origin}) was not used: {error}.")
            continue
        if has_torch(python):
            return python
    if told:
        raise UsageError(f"no python with torch may be used: {' '.join(told)}", trust.HINT)
    raise UsageError(
        "no python with torch found", "pip install 'middlewatch[torch]', or --python PATH"
    )


def given(path: str, paths: Sequence[str] = ()) -> Python:
    """The interpreter that a person has named. Raises UsageError when it may not be used.

    When root names the interpreter of a user, it runs as that user.
    """
    python = Python(str(Path(path).absolute()), "given", environment(os.environ))
    if not os.access(python.path, os.X_OK) or os.path.isdir(python.path):
        raise UsageError(f"{path} is not a program", "name a Python: --python $(which python)")
    if os.geteuid() != 0:
        return python
    try:
        uid = trust.user_of_way(python.path)
        if uid:
            user = replace(python, uid=uid).user()
            python = replace(python, uid=uid, environ=environment(user.environment()))
        return _allowed(python, paths)
    except (Untrusted, Refused, OSError) as error:
        raise UsageError(f"{path} is not used: {error}", trust.HINT) from None


def _allowed(python: Python, paths: Sequence[str]) -> Python:
    """The interpreter as it may be run. Raises Untrusted or Refused when it may not be."""
    us = os.geteuid()
    uid = us if python.uid is None else python.uid
    if us != 0:
        if uid != us:
            raise Refused(
                f"its run belongs to another user, and only root can run it as user {uid}"
            )
        return python
    try:
        if uid != 0:
            python.user()
            trust.check_user(python.path, uid)
            return python
        if python.origin != OWN:  # root runs it already: that is this program
            trust.check_roots_alone(python.path)
    except Untrusted as why:
        return _as_nobody(python, why, paths)
    return replace(python, environ=trust.roots_environment(python.environ))


def _as_nobody(python: Python, why: Untrusted, paths: Sequence[str]) -> Python:
    """The interpreter as a user who owns nothing: whoever changed it gains nothing by that.

    Raises ``why`` with more words when that user may not read it, or one of ``paths``.
    """
    user = unused_user()
    for path in (python.path, *paths):
        if hidden := places.unreadable_for(user.uid, path):
            raise Untrusted(f"{why}, and a user who owns nothing may not read {hidden}")
    return replace(
        python,
        origin=f"{python.origin}; as a user who owns nothing, because {why}",
        environ=environment(user.environment()),
        uid=user.uid,
        gid=user.gid,
    )


def has_torch(python: Python) -> bool:
    """Whether it can find torch; torch is not imported."""
    if python.path == sys.executable and python.origin == OWN:
        return importlib.util.find_spec("torch") is not None
    try:
        probe = [python.path, "-c", _PROBE]
        said = run_as(python.user(), probe, deadline_s=PROBE_S, most=4096, environ=python.environ)
    except (OSError, subprocess.SubprocessError, NoAnswer, Refused):
        return False
    return said.out.strip() == b"True"


def environment(source: Mapping[str, str]) -> dict[str, str]:
    """The few variables that an interpreter gets of ``source``, its environment otherwise."""
    kept = {name: source[name] for name in _KEPT if name in source}
    for name in _KEPT_PATHS:
        folders = [f for f in source.get(name, "").split(":") if f.startswith("/")]
        if folders:
            kept[name] = ":".join(folders)
    return kept | _SET


def _candidates(runs: Sequence[RunSpec], others: Sequence[RunSpec]) -> Iterator[Python]:
    yield from _living(runs)
    for run in runs:
        path = of_command(run.command, run.cwd)
        if path:
            yield _of_run(path, run)
    yield Python(sys.executable, OWN, environment(os.environ))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            yield Python(f"{os.environ[variable]}/bin/python", variable, environment(os.environ))
    for name in ("python3", "python"):
        path = shutil.which(name) or ""
        if path:
            yield Python(path, "the search path", environment(os.environ))
    yield from _living(others)


def _living(runs: Sequence[RunSpec]) -> Iterator[Python]:
    for run in runs:
        for pid, ticks in _processes(run):
            python = of_process(pid, ticks)
            if python is not None:
                yield python


def _processes(run: RunSpec) -> list[tuple[int, int | None]]:
    """(pid, start ticks). Ranks first: a launcher may be another python, or no python at all."""
    found: list[tuple[int, int | None]] = [(rank.pid, rank.start_ticks) for rank in run.ranks[:4]]
    return [*found, (run.pid, run.start_ticks)] if run.pid is not None else found


def _of_run(path: str, run: RunSpec) -> Python:
    """The interpreter of a recorded command: it runs as the user of the run."""
    python = Python(path, f"the command of {run.name}", environment(os.environ), run.uid, run.gid)
    if run.uid is None or run.uid == os.geteuid():
        return python
    user = user_of(run.uid, run.gid)
    own = user.environment() if user is not None else {}
    return replace(python, environ=environment(own))


# ------------------------------------------------------------------------ of a process


def of_process(pid: int, start_ticks: int | None = None, proc: str = "/proc") -> Python | None:
    """The interpreter of a running process, in its virtual environment.

    ``None``: the process has ended, another one has its pid, it is no python, or it runs in
    another container, whose programs must not be started from here.
    """
    exe, cwd, runner = procfs.exe(pid, proc), procfs.cwd(pid, proc), runner_of(pid, proc)
    if not exe or not cwd or runner is None or not procfs.shares_root(pid, proc):
        return None
    if exe.endswith(" (deleted)"):
        return None
    if start_ticks is not None and procfs.start_ticks(pid, proc) != start_ticks:
        return None
    env = procfs.environ(pid, proc)
    word = next(iter(procfs.cmdline(pid, proc)), "")
    for path in _names_of(exe, word, cwd, env, procfs.maps(pid, proc)):
        if os.path.realpath(path) == exe and os.access(path, os.X_OK):
            return Python(path, f"process {pid}", environment(env), *runner)
    return None


def _names_of(exe: str, word: str, cwd: str, env: Mapping[str, str], maps: bytes) -> Iterator[str]:
    """Possible paths of the interpreter: those in a virtual environment before the file itself."""
    if _IS_PYTHON.match(os.path.basename(word)):
        if "/" in word:
            yield os.path.normpath(f"{cwd}/{word}" if word[0] != "/" else word)
        elif found := shutil.which(word, path=env.get("PATH", "")):
            yield found
    torch = _TORCH_HOME.search(maps)
    if torch:
        yield f"{os.fsdecode(torch[1])}/bin/python"
    if env.get("VIRTUAL_ENV"):
        yield f"{env['VIRTUAL_ENV']}/bin/python"
    if _IS_PYTHON.match(os.path.basename(exe)):
        yield exe


# ------------------------------------------------------------------------ of a command


def of_command(command: Sequence[str], cwd: str) -> str:
    """The interpreter of a recorded command, or of the script that it starts; ``""`` for none."""
    for word in command[:6]:
        if "=" in word.partition("/")[0] or os.path.basename(word) in ("env", "nohup", "exec"):
            continue
        path = shutil.which(word) or ""
        if "/" in word:
            path = word if word.startswith("/") else f"{cwd}/{word}"
        if _IS_PYTHON.match(os.path.basename(word)):
            return os.path.normpath(path) if path and os.access(path, os.X_OK) else ""
        return _first_line(path) if path else ""
    return ""


def _first_line(path: str) -> str:
    """The interpreter in the first line of a script such as torchrun: ``#!/venv/bin/python``."""
    line = _read_line(path)
    if not line.startswith(b"#!"):
        return ""
    try:
        words = shlex.split(os.fsdecode(line[2:]))
    except ValueError:
        return ""
    python = words[0] if words and _IS_PYTHON.match(os.path.basename(words[0])) else ""
    return python if os.access(python, os.X_OK) else ""


def _read_line(path: str) -> bytes:
    try:
        with open(places.open_file(path), "rb") as file:
            return file.readline(4096).strip()
    except OSError:
        return b""
