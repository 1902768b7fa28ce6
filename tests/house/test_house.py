"""The rules of the house: where code may live, what it may import, what it must say.

One case a rule: a failure lists every offender.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.sentinels.kit import discover, handbook
from middlewatch.sentinels.kit.handbook import LABELS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("daemon", "sentinels", "tui")
LONGEST_MODULE = 400

MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
BOOK = handbook()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pyproject() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    return table


# ------------------------------------------------------------------------ modules


def imports(path: Path) -> Iterator[tuple[int, int, str]]:
    """Line, level (dots) and module of every import of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, node.level, node.module or ""
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, 0, alias.name


def misplaced_imports(path: Path) -> Iterator[str]:
    room, *folders = path.relative_to(ROOT).parts[:-1]
    own = f"middlewatch.{room}"
    for line, level, module in imports(path):
        place = f"{name_of(path)}:{line}"
        if level > len(folders) + 1:
            yield f"{place}: a relative import leaves {room}/"
        elif level == 0 and (module == own or module.startswith(f"{own}.")):
            yield f"{place}: {module} is at home: import it with dots"
        elif level == 0 and module.split(".")[0] in ROOMS:
            yield f"{place}: {module} is installed as middlewatch.{module}"


def test_imports_are_relative_inside_a_room_and_absolute_between_rooms() -> None:
    assert [wrong for path in MODULES for wrong in misplaced_imports(path)] == []


def test_modules_are_short() -> None:
    lines = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES}
    long = {name: count for name, count in lines.items() if count > LONGEST_MODULE}
    assert long == {}, "a module this long is asking to be two"


def test_every_folder_with_code_is_a_package_of_the_wheel() -> None:
    declared = set(pyproject()["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(ROOT) for path in MODULES}
    units = "middlewatch.systemd"  # no code: what `middlewatch setup` installs
    assert declared == {"middlewatch", units} | {
        f"middlewatch.{'.'.join(f.parts)}" for f in folders
    }
    assert [f for f in folders if not (ROOT / f / "__init__.py").exists()] == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "shared", "misc"}
    files = [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    assert [name_of(p) for p in files if drawers & {p.stem, p.parent.name}] == []


def test_tests_have_unique_names_and_no_packages() -> None:
    scenes = ROOT / "tests/scenes/sets"  # as their authors wrote them
    files = [p.name for p in (ROOT / "tests").rglob("*.py") if scenes not in p.parents]
    assert "__init__.py" not in files
    tests = sorted(n for n in files if n.startswith("test_"))
    assert [n for n in set(tests) if tests.count(n) > 1] == []


# ------------------------------------------------------------------------ the terminal


def terminal_writes(path: Path) -> Iterator[str]:
    """Places at which a module writes to the terminal by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("print", "sys.stdout.write", "sys.stderr.write", "traceback.print_exc"):
                yield f"{name_of(path)}:{node.lineno}: {name}"


def test_commands_print_through_the_console_only() -> None:
    """It takes escape sequences out of what others have written. Completion is a program of ours,
        the trainer of the drill prints
    like a training; replay writes records that the console has made."""
    passed = {"console.py", "drill_trainer.py", "completion.py"}
    commands = [p for p in (ROOT / "daemon" / "cli").glob("*.py") if p.name not in passed]
    written = [place for path in commands for place in terminal_writes(path)]
    assert [p for p in written if not re.match(r"daemon/cli/replay\.py:\d+: sys\.stdout", p)] == []


# ------------------------------------------------------------------------ sentinels


def test_every_sentinel_says_how_it_decides() -> None:
    unfinished = [n for n, entry in BOOK.items() if not entry.title.endswith(".")]
    assert unfinished == [], "the first paragraph is a sentence"
    said = {n: {label for label, text in e.sections.items() if text} for n, e in BOOK.items()}
    assert {name: labels for name, labels in said.items() if labels != set(LABELS)} == {}


def test_no_class_of_trouble_has_two_owners() -> None:
    owners: dict[str, list[str]] = {}
    for name, entry in BOOK.items():
        for trouble in entry.classes:
            owners.setdefault(trouble, []).append(name)
    assert {t: names for t, names in owners.items() if len(names) > 1} == {}


def test_every_limit_has_a_sentence() -> None:
    bare = []
    for name in discover():
        tree = ast.parse((ROOT / "sentinels" / f"{name}.py").read_text(encoding="utf-8"))
        (limits,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Limits")
        for field, after in zip(limits.body, [*limits.body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                told = after.value if isinstance(after, ast.Expr) else None
                text = told.value if isinstance(told, ast.Constant) else ""
                if not (isinstance(text, str) and text.rstrip().endswith((".", "`"))):
                    bare.append(f"{name}: {field.target.id}")
        if f"[sentinels.{name}]" not in (ast.get_docstring(limits) or ""):
            bare.append(f"{name}: its section of the configuration")
    assert bare == []


# ------------------------------------------------------------------------ what is kept in git


def tracked() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files are the project's cannot be told")
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(asked, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in names.decode().split("\0") if name]
    return [p for p in paths if p.is_file() and not p.is_symlink()]


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    # Spelled in two halves, so that this file does not find itself.
    places = re.compile(rb"(?<![\w~.-])/" + rb"(?:work/|tmp/mw\b)|(?:/home/|/Users/)\w+/main\b")
    found = [
        f"{name_of(path)}:{number}"
        for path in tracked()
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if places.search(line)
    ]
    assert found == []


def test_no_unfinished_business() -> None:
    words = re.compile(rb"\b(?:TO" + rb"DO|FIX" + rb"ME|XX" + rb"X|HA" + rb"CK)\b")
    found = [
        f"{name_of(path)}:{number}"
        for path in tracked()
        if path.suffix == ".py" and "data" not in path.parts
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if words.search(line)
    ]
    assert found == []


# ------------------------------------------------------------------------ what gets loaded

HEAVY = ("asyncio", "torch", "textual", "apprise", "sqlite_utils", "numpy", "requests", "click")


def loaded_by(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after ``code``."""
    tail = "\nimport sys\nprint(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_resident_process_stays_small() -> None:
    assert (
        loaded_by("import middlewatch.daemon.service.app") & {*HEAVY, "ssl", "psutil", "pynvml"}
        == set()
    )


def test_version_loads_next_to_nothing() -> None:
    code = (
        "import sys\nfrom middlewatch.daemon.cli import main\n"
        "sys.argv = ['middlewatch', '--version']\n"
        "try:\n    code = main()\nexcept SystemExit as stop:\n    code = stop.code\n"
        "assert not code, code"
    )
    assert loaded_by(code) & {*HEAVY, "psutil", "pynvml"} == set()


# ------------------------------------------------------------------------ commands

COMMANDS = (
    *("daemon", "start", "stop", "run", "watch", "runs", "status", "incidents", "ack", "silence"),
    *("checkpoints", "verify", "replay", "audit", "explain", "alert test", "tui"),
    *("config check", "config show", "prune", "mirror", "doctor", "setup", "size"),
)


def helpless(command: str) -> Iterator[str]:
    """What the help of a command lacks."""
    middlewatch = Path(sys.executable).with_name("middlewatch")
    asked = [str(middlewatch), *command.split(), "--help"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        yield f"{command}: exit status {done.returncode}: {done.stderr}"
    if "example" not in done.stdout.lower():
        yield f"{command}: no example"
    first, *rest = command.split()
    if not re.search(rf"\b(?:middlewatch|mw) {first}\b", done.stdout):
        yield f"{command}: it does not name itself"
    yield from (f"{command}: no word of {word}" for word in rest if word not in done.stdout)


def test_every_command_helps_with_an_example() -> None:
    assert [lack for command in COMMANDS for lack in helpless(command)] == []
