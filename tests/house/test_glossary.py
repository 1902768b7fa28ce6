"""The glossary is short, and the classes that several packages share use its words."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
LONGEST = 60
"""Lines: a glossary that nobody reads through explains nothing."""
SHARED = 2
"""A class that at least so many packages besides its own import is a concept of the project."""


def _rows() -> list[str]:
    """The first cell of every row."""
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")][2:]


def _shared_classes() -> dict[str, Path]:
    """Public classes of ``daemon`` and ``sentinels/kit`` that several other packages import."""
    homes: dict[str, Path] = {}
    users: defaultdict[str, set[Path]] = defaultdict(set)
    for top in ("daemon", "sentinels", "tui"):
        for path in sorted((ROOT / top).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        users[alias.name].add(path.parent)
            if top == "daemon" or path.is_relative_to(ROOT / "sentinels" / "kit"):
                for node in tree.body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        homes[node.name] = path
    return {
        name: path for name, path in homes.items() if len(users[name] - {path.parent}) >= SHARED
    }


def _words(name: str) -> set[str]:
    """``LogTroubles``: log, troubles, trouble."""
    parts = {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", name)}
    endings = (("s", ""), ("es", ""), ("ies", "y"), ("ed", ""))
    return parts | {p.removesuffix(end) + one for p in parts for end, one in endings}


def test_it_is_short_and_in_order() -> None:
    assert len(GLOSSARY.read_text(encoding="utf-8").splitlines()) <= LONGEST
    assert _rows() == sorted(_rows(), key=str.lower)


def test_no_word_stands_in_two_rows() -> None:
    words = [word.strip() for row in _rows() for word in row.split(",")]
    assert len(words) == len(set(words))


def test_shared_classes_use_its_words() -> None:
    explained = {word for row in _rows() for word in re.findall(r"[a-z]+", row.lower())}
    shared = _shared_classes()
    assert len(shared) > 40  # the search found the classes
    missing = {
        name: str(path.relative_to(ROOT))
        for name, path in shared.items()
        if not _words(name) & explained
    }
    assert not missing, "no word of these names is in docs/glossary.md"
