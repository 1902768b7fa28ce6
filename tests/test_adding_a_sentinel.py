"""The page about adding a sentinel can be followed word by word.

Its pieces are written into a copy of the repository, and there its commands are run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "adding-a-sentinel.md").read_text(encoding="utf-8")
PIECES = dict(re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
"""What the page says to write, by file."""
(ROW,) = re.findall(r"^```text\n(TroubleClass\(.*\),)\n```", PAGE, re.MULTILINE)
(COMMANDS,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NAME = next(Path(file).stem for file in PIECES if file.startswith("sentinels/"))
ROWS = "sentinels/kit/classes.py"
DISCOVER = "from middlewatch.sentinels.kit import discover; print(*discover())"
COPIED = (
    *("daemon", "sentinels", "tui", "src", "docs", "tests", "scripts", "pyproject.toml"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "changelog.d"),
    "systemd",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the three files of the page, and without the row."""
    root = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, symlinks=True)
        else:
            shutil.copy2(ROOT / name, root / name)
    for file, text in PIECES.items():
        assert not (root / file).exists(), f"{file} is there already: the page needs a new example"
        (root / file).write_text(text, encoding="utf-8")
    return root


def run(root: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """A program in the copy, with the copy's own code."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHON"))}
    env = ours | {"PYTHONPATH": str(root / "src")}
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, timeout=300)


def passes(root: Path, *words: str) -> int:
    """How many tests pass in the copy; all must."""
    quiet = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist")
    own = (
        f"--basetemp={root.parent / 'own'}"  # the numbered folders are of the tests around this one
    )
    done = run(root, sys.executable, "-m", "pytest", *quiet, own, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    (count,) = re.findall(r"^(\d+) passed", done.stdout, re.MULTILINE)
    return int(count)


def test_the_page_is_the_whole_of_it() -> None:
    assert sorted(PIECES) == [
        f"sentinels/{NAME}.py",
        f"sentinels/handbook/{NAME}.txt",
        f"tests/sentinels/test_{NAME}.py",
    ]
    assert [shlex.split(line)[0] for line in COMMANDS.splitlines()] == [
        "scripts/test",
        "python",
        "scripts/check",
    ]


@pytest.mark.slow
def test_following_the_page(copy: Path) -> None:
    without = run(copy, sys.executable, "-c", DISCOVER)
    assert without.returncode != 0
    said = f"the class '{NAME}' of sentinels/{NAME}.py has no row in {ROWS}"
    assert without.stderr.rstrip().endswith(f"UnknownClass: {said}")

    text = (copy / ROWS).read_text(encoding="utf-8")
    group = ROW.split(", ")[1]
    first = re.search(rf"^    TroubleClass\(\"\w+\", {group}\b", text, re.MULTILINE)
    assert first
    text = f"{text[: first.start()]}    {ROW}\n{text[first.start() :]}"
    (copy / ROWS).write_text(text, encoding="utf-8")
    found = run(copy, sys.executable, "-c", DISCOVER)
    assert NAME in found.stdout.split(), found.stderr

    test, write, _ = (shlex.split(line) for line in COMMANDS.splitlines())
    own = PIECES[f"tests/sentinels/test_{NAME}.py"].count("\ndef test_")
    assert passes(copy, *test[1:]) > own, "the new test, and what holds for every sentinel"

    wrote = run(copy, sys.executable, *write[1:])
    assert wrote.returncode == 0, wrote.stderr
    assert set(re.findall(r"^wrote (\S+)", wrote.stdout, re.MULTILINE)) == {
        "README.md",
        "docs/architecture.md",
        "docs/configuration.md",
        f"docs/handbook/{NAME}.md",
        "docs/handbook/index.md",
        f"docs/handbook/rules/{NAME}.md",
    }
    # scripts/check begins by building its environment: here are its parts that see the new files
    assert passes(copy, "tests/house")
    ruff = Path(sys.executable).with_name("ruff")
    if ruff.exists():
        files = [file for file in (*PIECES, ROWS) if file.endswith(".py")]
        for words in (["check"], ["format", "--check"]):
            done = run(copy, str(ruff), *words, *files)
            assert done.returncode == 0, done.stdout + done.stderr
    lines = sum(piece.count("\n") for piece in PIECES.values())
    print(f"{len(PIECES)} files of {lines} lines, and 1 row")
