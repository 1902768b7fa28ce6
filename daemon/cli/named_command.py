"""Whether the command that ``run`` is to start can be started: else it would die at once, unseen."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..system.errors import UsageError
from ..text.similar import meant

_PYTHON = re.compile(r"python[\d.]*")
_INTERPRETER = re.compile(r"python[\d.]*|bash|sh|zsh|torchrun")
_PLAIN_OPTIONS = frozenset(("-u", "-O", "-B", "-x", "-e", "-I", "-s", "-E", "-P"))
"""Options of interpreters without a value: what follows them is the script."""
_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_OF_THE_SHELL = frozenset(
    [
        ".",
        ":",
        "[[",
        "alias",
        "bg",
        "break",
        "builtin",
        "case",
        "cd",
        "command",
        "conda",
        "declare",
        "eval",
        "exec",
        "exit",
        "export",
        "fg",
        "for",
        "function",
        "if",
        "let",
        "local",
        "module",
        "pushd",
        "popd",
        "read",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "time",
        "trap",
        "type",
        "ulimit",
        "umask",
        "unset",
        "until",
        "wait",
        "while",
        "{",
    ]
)
"""Words that only a shell knows: no program has these names, or it does something else."""
_STARTERS = (
    *("python", "python3", "torchrun", "accelerate", "deepspeed", "bash", "sh", "env", "uv"),
    *("srun", "mpirun", "make", "litgpt", "tune", "axolotl", "llamafactory-cli", "docker", "conda"),
)
"""Programs that start trainings: what was probably meant by a mistyped one."""
FIND_S = 10.0
"""Seconds that Python may take to say whether it has a module: it starts in 20 ms, from a slow network
disk in some seconds. Our choice."""


def check_command(command: Sequence[str]) -> None:
    """Raises UsageError for a program, script or module that is not there or may not be executed."""
    _program(command)
    name = Path(command[0]).name
    if not _INTERPRETER.fullmatch(name):
        return
    words = list(command[1:])
    while words and words[0] in _PLAIN_OPTIONS:
        del words[0]
    if len(words) > 1 and words[0] == "-m" and _PYTHON.fullmatch(name):
        _module(command[0], words[1])
        return
    script = words[0] if words else ""
    if script.endswith((".py", ".sh")) and not script.startswith("-") and not Path(script).exists():
        near = meant(script, (str(path) for path in Path().glob(f"*{Path(script).suffix}")))
        raise UsageError(f"there is no {script} in {_here()}", near or "name it with its folder")


def _program(command: Sequence[str]) -> None:
    word = command[0]
    whole = shlex.join(command)
    if _VARIABLE.fullmatch(word) and not Path(word).exists():
        raise UsageError(f"{word} is no program", f"middlewatch run -- env {whole}")
    if shutil.which(word) is not None:
        return
    if word in _OF_THE_SHELL:
        line = shlex.quote(" ".join(command))
        raise UsageError(
            f"{word} is a word of the shell, no program", f"middlewatch run -- bash -c {line}"
        )
    path, there = Path(word), os.path.lexists(word)
    if "/" in word and path.is_dir():
        raise UsageError(f"{word} is a folder", "name a program, or a script with its interpreter")
    if "/" in word and path.is_file():
        raise UsageError(f"{word} may not be executed", f"middlewatch run -- {_by(path)} {whole}")
    if there and path.is_file():
        raise UsageError(f"there is no program {word}", f"middlewatch run -- {_by(path)} {whole}")
    shown = word if word.isprintable() and " " not in word else repr(word)
    if " " in word.strip():
        hint = f"leave the quotes out: middlewatch run -- {word}"
    elif "/" in word:
        hint = f"looked for it in {_here()}"
    else:
        hint = meant(word, (one for one in _STARTERS if shutil.which(one)))
        hint = (
            hint
            or meant(word, _programs())
            or "name it with its folder, or activate its environment"
        )
    raise UsageError(f"there is no program {shown}", hint)


def _by(script: Path) -> str:
    """What executes a script, by its first line or its name."""
    try:
        with script.open("rb") as file:
            first = file.readline(200)
    except OSError:
        first = b""
    if b"python" in first or (script.suffix == ".py" and not first.startswith(b"#!")):
        return "python" if shutil.which("python") else "python3"
    return "bash"


def _programs() -> Iterator[str]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        try:
            yield from os.listdir(folder or ".")
        except OSError:
            continue


def _module(python: str, name: str) -> None:
    """Raises UsageError when this Python says that it has no such module. The module is not imported:
    of a dotted name only the first part is looked for."""
    first = name.partition(".")[0]
    ask = "import importlib.util as u, sys; sys.exit(3 if u.find_spec(sys.argv[1]) is None else 0)"
    try:
        done = subprocess.run(
            [python, "-c", ask, first],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FIND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if done.returncode == 3:
        here = (
            p.stem if p.is_file() else p.name for p in Path().iterdir() if p.suffix in ("", ".py")
        )
        raise UsageError(
            f"there is no module {first} for {python}",
            meant(first, here) or "is another environment active, or another folder meant?",
        )


def _here() -> str:
    return str(Path.cwd())
