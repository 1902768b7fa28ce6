"""The version comes from the tag, and the changelog from its fragments."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
FRAGMENTS = sorted(p for p in (ROOT / "changelog.d").iterdir() if p.name != "README.md")


def tools() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]
    return table


def told(*command: str, where: Path) -> str:
    named = {
        f"GIT_{who}_{what}": "t@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env = (
        os.environ
        | named
        | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(where.parent)}
    )
    done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def version(where: Path) -> str:
    return told(sys.executable, "-m", "versioningit", where=where).strip()


def test_the_version_without_a_tag_is_the_newest_release_everywhere() -> None:
    default = tools()["versioningit"]["default-version"]
    tree = ast.parse((ROOT / "src" / "middlewatch" / "__init__.py").read_text(encoding="utf-8"))
    (bare,) = [
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__version__"
    ]
    newest = re.search(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)
    assert newest
    assert (default, ast.literal_eval(bare)) == (newest[1], newest[1])


def test_a_folder_without_git_has_that_version(tmp_path: Path) -> None:
    shutil.copy(PYPROJECT, tmp_path)
    assert version(tmp_path) == tools()["versioningit"]["default-version"]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_version_is_that_of_the_tag(tmp_path: Path) -> None:
    shutil.copy(PYPROJECT, tmp_path)

    def git(*words: str) -> None:
        told("git", *words, where=tmp_path)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    assert version(tmp_path) == tools()["versioningit"]["default-version"]
    git("tag", "v1.2.3")
    git("tag", "night-before")  # other tags are no versions
    assert version(tmp_path) == "1.2.3"
    git("commit", "--quiet", "--allow-empty", "--message", "second")
    assert re.fullmatch(r"1\.2\.3\.post1\+[0-9a-f]{7,}", version(tmp_path))


def test_every_fragment_gets_into_the_changelog() -> None:
    kinds = "|".join(kind["directory"] for kind in tools()["towncrier"]["type"])
    form = re.compile(rf"(?:\+[a-z-]+|\d+)\.(?:{kinds})\.md")
    assert [p.name for p in FRAGMENTS if not form.fullmatch(p.name)] == []
    assert tools()["towncrier"]["start_string"] in CHANGELOG
    draft = told(
        sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", where=ROOT
    )
    assert re.search(r"^## \[9\.9\.9\] - \d{4}-\d\d-\d\d$", draft, re.MULTILINE)
    shown = " ".join(draft.split())
    assert [
        p.name for p in FRAGMENTS if " ".join(p.read_text(encoding="utf-8").split()) not in shown
    ] == []
