"""The training script in a command line: where it is, and which options its text declares.

Its text is only read; nothing is imported or run. A script is taken to have an option when its own
text, or that of a module beside it that it imports, declares one of that name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..launch.programs import LAUNCHERS, TRAINERS
from ..system import places

Takes = Literal["value", "flag"]

MOST_FILES = 40
"""Files read: a script and what it imports."""
MOST_BYTES = 1 << 20
"""Bytes of text read in all; the largest training script of a public framework with all
that it imports from its own folder has some 300 KiB."""
SAYS = re.compile(r"^\s*# middlewatch: resumes by itself\b", re.MULTILINE)
"""A script may say so in a line of its own; those of ``middlewatch new`` do."""
_SHELL_ENDINGS = (".sh", ".bash", ".slurm", ".sbatch")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_CALL = 600
"""Characters of one ``add_argument(…)`` that are read."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+\.*([\w.]+)[ \t]+import|import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*))"
    r"|open\(\s*[\"']([\w./-]+\.py)[\"']",
    re.MULTILINE,
)
_MODULE = re.compile(r"\w+(?:\.\w+)*")
_PYTHON_FILE = re.compile(r"(?:^|(?<=[\s\"']))[\w./-]+\.py(?=[\s\"']|$)")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_FLAG = re.compile(r"store_(?:true|false|const)|BooleanOptionalAction|is_flag\s*=\s*True")
_CONFIGURATOR = re.compile(r"open\(\s*[\"']configurator\.py[\"']")
_BY_ANNOTATION = re.compile(
    r"\b(?:HfArgumentParser|simple_parsing|tyro|jsonargparse|typer|CLI|TrlParser)\b"
)
_FIRE = re.compile(r"\bfire\.Fire\b")
_HYDRA = re.compile(r"\bhydra\.main\b")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a script: ``before`` + value, or ``before`` and the value as the next word."""

    name: str
    before: str
    """``--resume``, ``--init_from=``, ``ckpt_path=``."""
    takes: Takes = "value"


@dataclass(frozen=True, slots=True)
class Script:
    """What a command line runs."""

    words: tuple[str, ...]
    at: int | None
    """Index of the script, module or program in ``words``; ``None`` where none is found."""
    text: str
    """Of the script and of what it imports from its own folder; empty when it cannot be read."""
    passes_on: bool = True
    """Options added to the command reach the script; not so in a shell script without ``"$@"``."""

    gone: str = ""
    """A Python file that the command names and that does not exist, where no script is found."""

    says_itself: bool = False
    """A line of its own says that it loads its newest checkpoint (:data:`SAYS`)."""

    @property
    def program(self) -> str:
        """Its name without a folder."""
        return "" if self.at is None else self.words[self.at].rpartition("/")[2]

    @property
    def own(self) -> tuple[str, ...]:
        """The arguments of the script itself."""
        return () if self.at is None else self.words[self.at + 1 :]

    def option(self, *names: str) -> Option | None:
        """The first of these options that it has; names are written with underscores."""
        if not self.passes_on:
            return None
        found = (self._option(name) for name in names)
        return next((one for one in found if one), None)

    def _option(self, name: str) -> Option | None:
        spelling = name.replace("_", "[-_]")
        call = re.search(rf"[\"'](--?{spelling})[\"']", self.text)
        if call:
            flag = _FLAG.search(_call_from(self.text, call.end()))
            return Option(name, call[1], "flag" if flag else "value")
        kind = re.search(rf"DEFINE_(\w+)\(\s*[\"']({spelling})[\"']", self.text)
        if kind and kind[1] != "bool":
            return Option(name, f"--{kind[2]}=")
        if _CONFIGURATOR.search(self.text) and re.search(rf"^{name}\s*=", self.text, re.MULTILINE):
            return Option(name, f"--{name}=")
        if _BY_ANNOTATION.search(self.text):
            declared = re.search(
                rf"(?:^\s+|[(,]\s*){name}\s*:\s*([^\n=]+)", self.text, re.MULTILINE
            )
            if declared and declared[1].strip(" ,)") != "bool":
                return Option(name, f"--{name}")
        if _FIRE.search(self.text) and re.search(rf"def \w+\([^)]*\b{name}\b", self.text):
            return Option(name, f"--{name}")
        if _HYDRA.search(self.text) and re.search(
            rf"\b(?:cfg|conf|config)\b(?:\.{name}\b|\.get\(\s*[\"']{name}[\"'])", self.text
        ):
            return Option(name, f"{name}=")
        return None

    def value(self, name: str) -> str | None:
        """The value of an option in the command; "" for one without a value, ``None`` for none."""
        place = _place(self.words, name, self.at)
        if place is None:
            return None
        word = self.words[place]
        if "=" in word:
            return word.partition("=")[2]
        after = self.words[place + 1 : place + 2]
        return after[0] if after and not after[0].startswith("-") else ""

    def given(self, option: Option, value: str) -> tuple[str, ...]:
        """The command with the option set; if it is there already, its value is replaced."""
        words = list(self.words)
        place = _place(self.words, option.name, self.at)
        if option.takes == "flag":
            return self.words if place is not None else (*words, option.before)
        if place is None:
            new = [option.before + value] if option.before.endswith("=") else [option.before, value]
            return (*words, *new)
        if "=" in words[place]:
            words[place] = f"{words[place].partition('=')[0]}={value}"
        elif place + 1 < len(words) and not words[place + 1].startswith("-"):
            words[place + 1] = value
        else:
            words.insert(place + 1, value)
        return tuple(words)


def find(command: Sequence[str], cwd: str) -> Script:
    """The script of a command, after its launchers. Raises nothing for what it cannot read."""
    words = tuple(command)
    for place, word in enumerate(words):
        before = words[place - 1].rpartition("/")[2] if place else ""
        if word in ("-c", "-lc") and (before in _SHELLS or before.startswith("python")):
            return Script(words, None, "", passes_on=False)
        path = Path(cwd, word)
        if before in ("-m", "--module") and word not in LAUNCHERS and _MODULE.fullmatch(word):
            return Script(words, place, _text(_module(word, cwd), Path(cwd)))
        if word.endswith(".py") and path.is_file():
            says = SAYS.search(_read(path, MOST_BYTES)) is not None
            return Script(words, place, _text(path, Path(cwd)), says_itself=says)
        if word.endswith(_SHELL_ENDINGS) and path.is_file():
            return _shell(words, place, _read(path, MOST_BYTES), Path(cwd))
        if word.rpartition("/")[2] in TRAINERS:
            return Script(words, place, "")
    gone = next((word for word in words if word.endswith(".py")), "")
    return Script(words, None, "", passes_on=False, gone=gone)


def _shell(words: tuple[str, ...], place: int, text: str, cwd: Path) -> Script:
    """A shell script; the text is that of the one Python script that it gives ``"$@"`` to."""
    lines = _COMMENT.sub("", text).replace("\\\n", " ").split("\n")
    handed = [line for line in lines if '"$@"' in line or "$*" in line]
    inside = {name for line in handed for name in _PYTHON_FILE.findall(line)}
    files = [path for name in inside if (path := cwd / name).is_file()]
    within = _text(files[0], cwd) if len(files) == 1 and len(handed) == 1 else ""
    says = SAYS.search(text) is not None
    return Script(words, place, within, passes_on=bool(handed), says_itself=says)


def _place(words: Sequence[str], name: str, at: int | None) -> int | None:
    """Index of an option of the script in ``words``, if it is there."""
    for place in range(0 if at is None else at + 1, len(words)):
        word, equals, _ = words[place].partition("=")
        if word.lstrip("-+").replace("-", "_") == name and (equals or word.startswith("-")):
            return place
    return None


def _call_from(text: str, start: int) -> str:
    """The rest of a call, up to its closing bracket."""
    depth = 1
    for place in range(start, min(len(text), start + _CALL)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start : start + _CALL]


def _module(name: str, cwd: str) -> Path:
    base = Path(cwd, *name.split("."))
    inside = base / "__main__.py"
    return inside if inside.is_file() else base.with_name(f"{base.name}.py")


def _text(script: Path, cwd: Path) -> str:
    """The script, then the modules beside it that it names, without lines that are comments."""
    found: list[str] = []
    left = MOST_BYTES
    todo, seen = [script], {script}
    while todo and left > 0 and len(seen) <= MOST_FILES:
        path = todo.pop(0)
        text = _read(path, left)
        left -= len(text)
        found.append(text)
        for beside in _named(text, (path.parent, script.parent, cwd)):
            if beside not in seen:
                seen.add(beside)
                todo.append(beside)
    return _COMMENT.sub("", "\n".join(found))


def _named(text: str, folders: Sequence[Path]) -> Iterator[Path]:
    for match in _IMPORT.finditer(text):
        for name in re.split(r"[\s,]+", match[1] or match[2] or ""):
            base = os.path.join(*name.split(".")) if name.strip(".") else ""  # noqa: PTH118
            for tail in (f"{base}.py", f"{base}/__init__.py") if base else ():
                yield from _first(folders, tail)
        if match[3]:
            yield from _first(folders, match[3])


def _first(folders: Sequence[Path], tail: str) -> Iterator[Path]:
    for folder in folders:
        path = folder / tail
        if path.is_file():
            yield path
            return


def _read(path: Path, most: int) -> str:
    try:
        if not path.is_file():  # reading a pipe would block
            return ""
        with open(places.open_file(str(path)), "rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
