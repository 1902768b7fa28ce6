"""Eight formats times the ways to damage one: found at the level that is promised, not before.

The table is here, and its page is made from it: ``python -m tests.daemon.checkpoints.test_matrix
--write`` from the root of the project.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify import bitrot
from middlewatch.daemon.checkpoints.verify import levels as verify
from middlewatch.daemon.system.clock import iso

from .damages import DAMAGES, FORMS, Case, Form
from .goods import MAKERS, made

PAGE = Path(__file__).resolve().parents[3] / "docs" / "checkpoints.md"
WRITE = "python -m tests.daemon.checkpoints.test_matrix --write"
TRIES = {
    "one bit in a header": 8,
    "one bit in a pickle": 8,
    "tail of zeroes": 6,
    "one bit in data": 4,
}
"""Random places in each cell; two where the place matters little."""
SAVED_AT = 1_700_000_000.0

ZIP, OLD, SAFE, SHARDS, HF, DCP, DEEP, LIT = (form.name for form in FORMS)
LONE = "one file"
NO_INDEX = "nothing beside it describes it"
NO_PICKLE = "no pickle in it"
NO_WORDS = "its checksums cover names"
NO_PADDING = "no byte without a meaning"

# A cell: the level at which it is found, by the part of the checkpoint that is damaged; levels
# with a bar between them depend on the place. "rot": by nothing in the file, only by the digest
# that was kept when it was good. A text that begins with a dash: why there is nothing to find.
STRUCTURE = {
    ZIP: "structure",
    OLD: "structure",
    SAFE: "structure",
    DEEP: "structure",
    LIT: "structure",
}
EXPECTED: dict[str, dict[str, str | dict[str, str]]] = {
    "truncated by one byte": STRUCTURE
    | {
        SHARDS: {"shards": "structure", "index": "- the last byte is the end of a line"},
        HF: {
            "model": "structure",
            "torch files": "structure",
            "trainer_state": "- the last byte is the end of a line",
        },
        DCP: {"data": "structure", "metadata": "structure"},
    },
    "cut to half": STRUCTURE
    | {
        SHARDS: {"shards": "structure", "index": "structure"},
        HF: {"model": "structure", "torch files": "structure", "trainer_state": "structure"},
        DCP: {"data": "structure", "metadata": "structure"},
    },
    "empty": STRUCTURE
    | {
        SHARDS: {"shards": "structure", "index": "structure"},
        HF: {"model": "structure", "torch files": "structure", "trainer_state": "structure"},
        DCP: {"data": "structure", "metadata": "structure"},
    },
    "tail of zeroes": STRUCTURE
    | {
        SHARDS: {"shards": "structure", "index": "structure"},
        HF: {"model": "structure", "torch files": "structure", "trainer_state": "structure"},
        DCP: {"data": "structure", "metadata": "structure"},
    },
    "one bit in data": {
        ZIP: "checksum",
        OLD: "rot",
        SAFE: "rot",
        SHARDS: {"shards": "rot"},
        HF: {"model": "rot", "torch files": "checksum"},
        DCP: {"data": "checksum"},
        DEEP: "checksum",
        LIT: "checksum",
    },
    "one bit in a header": {
        ZIP: "structure|checksum",
        OLD: "structure",
        SAFE: "structure",
        SHARDS: {"shards": "structure", "index": "structure"},
        HF: {
            "model": "structure",
            "torch files": "structure|checksum",
            "trainer_state": "structure",
        },
        DCP: {"data": "structure|checksum"},
        DEEP: "structure|checksum",
        LIT: "structure|checksum",
    },
    "one bit in a name": {
        ZIP: f"- {NO_WORDS}",
        OLD: "- see: in a pickle",
        SAFE: "structure|rot",
        SHARDS: {"shards": "structure"},
        HF: {"model": "structure|rot"},
        DCP: f"- {NO_WORDS}",
        DEEP: f"- {NO_WORDS}",
        LIT: f"- {NO_WORDS}",
    },
    "one bit in a pickle": {
        ZIP: "structure",
        OLD: "structure|finite|rot",
        SAFE: f"- {NO_PICKLE}",
        SHARDS: f"- {NO_PICKLE}",
        HF: {"torch files": "structure"},
        DCP: {"data": "structure", "metadata": "structure|rot"},
        DEEP: "structure",
        LIT: "structure",
    },
    "one bit in padding": {
        ZIP: "rot",
        OLD: "structure|rot",
        SAFE: f"- {NO_PADDING}",
        SHARDS: f"- {NO_PADDING}",
        HF: {"torch files": "rot"},
        DCP: {"data": "rot"},
        DEEP: "rot",
        LIT: "rot",
    },
    "missing shard": {
        ZIP: f"- {LONE}",
        OLD: f"- {LONE}",
        SAFE: f"- {LONE}",
        SHARDS: {"shards": "structure", "index": "structure"},
        HF: {
            "model": "structure",
            "torch files": "- save_only_model leaves them out: told as shrunk",
            "trainer_state": "structure",
        },
        DCP: {"data": "structure", "metadata": "structure"},
        DEEP: "structure",
        LIT: f"- {LONE}",
    },
    "NaN in a tensor": {
        ZIP: "finite",
        OLD: "finite",
        SAFE: "finite",
        SHARDS: {"shards": "finite"},
        HF: {"model": "finite", "torch files": "finite"},
        DCP: {"data": "finite"},
        DEEP: "finite",
        LIT: "finite",
    },
    "wrong dtype size": {
        ZIP: "structure",
        OLD: "structure",
        SAFE: "structure",
        SHARDS: {"shards": "structure"},
        HF: {"model": "structure", "torch files": "structure"},
        DCP: {"data": "structure"},
        DEEP: "structure",
        LIT: "structure",
    },
    "stale index": {
        ZIP: f"- {NO_INDEX}",
        OLD: f"- {NO_INDEX}",
        SAFE: f"- {NO_INDEX}",
        SHARDS: {"index": "structure"},
        HF: {"trainer_state": "structure"},
        DCP: {"metadata": "structure"},
        DEEP: "structure",
        LIT: f"- {NO_INDEX}",
    },
}

# What the library itself says when it loads it. "by place": some bits it notices, some it does
# not. Written down as measured with torch 2.13.0, safetensors 0.8, transformers 5.23.
SAYS: dict[str, str | dict[str, str]] = {
    "truncated by one byte": {"": "error", "index": "silent", "trainer_state": "silent"},
    "cut to half": "error",
    "empty": "error",
    "tail of zeroes": {"": "error", SAFE: "by place", "shards": "by place", "model": "by place"},
    "one bit in data": "silent",
    "one bit in a header": {"": "by place", SAFE: "error", "shards": "error", "model": "error"},
    "one bit in a name": "by place",
    "one bit in a pickle": {"": "by place", "metadata": "error"},
    "one bit in padding": "by place",
    "missing shard": "error",
    "NaN in a tensor": "silent",
    "wrong dtype size": "error",
    "stale index": {"": "error", "index": "silent", "trainer_state": "silent"},
}
"""By damage; where it differs, by part or format."""

Key = tuple[str, str, str]
"""Damage, format, part."""


def cells() -> Iterator[tuple[Key, str]]:
    for damage, row in EXPECTED.items():
        for form in FORMS:
            cell = row[form.name]
            for part, levels in ({"": cell} if isinstance(cell, str) else cell).items():
                yield (damage, form.name, part), levels


FOUND = [(key, levels) for key, levels in cells() if not levels.startswith("-")]


def says(key: Key) -> str:
    """What the library says to one cell."""
    damage, form, part = key
    row = SAYS[damage]
    if isinstance(row, str):
        return row
    return row.get(form) or row.get(part) or row[""]


class Loader:
    """The libraries themselves, in a process of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(MAKERS / "loaders.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"},
        )

    def says(self, form: str, path: Path) -> str:
        """``silent``, or an error in one line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{form}\t{path}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip() or "it died"

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def loader() -> Iterator[Loader]:
    process = Loader()
    yield process
    process.close()


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


def damaged(form: Form, base: Path, target: Path, seed: str) -> Case:
    """A fresh copy."""
    siblings = made(form.maker, base)
    source = siblings / form.copied
    root = target / source.name
    if source.is_dir():
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(source, root)
    else:
        shutil.copy(source, root)
    path = root / Path(form.path).relative_to(form.copied)
    return Case(form, root, path, siblings, random.Random(seed))


def checked(case: Case, level: str) -> dict[str, Any]:
    """What is said about it; of a DeepSpeed folder, about its ``latest`` file too."""
    if case.form.name == DEEP:
        entries = verify.verify([str(case.root)], level)
        return next((e for e in entries if e["state"] != "ok"), entries[0])
    return verify.describe(str(case.path), level)


def level_of(case: Case, before: dict[str, Any]) -> tuple[str, str]:
    """The level at which the damage is found, and what is said; ``missed`` where it is not."""
    found = checked(case, "finite")
    if found["state"] == "ok":
        known = {key: before[key] for key in ("digest", "bytes")} | {"saved_at": iso(SAVED_AT)}
        why = bitrot.why_corrupt(known, found["digest"], found["bytes"], SAVED_AT)
        return ("rot" if why else "missed"), why
    if found["level"] != "structure":
        alone = checked(case, "structure")
        assert alone["state"] == "ok", f"found before: {alone['detail']}"
    return found["level"], f"{found['state']}: {found['detail']}"


@pytest.mark.parametrize(("key", "levels"), FOUND, ids=["-".join(key) for key, _ in FOUND])
def test_it_is_found_at_its_level(key: Key, levels: str, base: Path, tmp_path: Path) -> None:
    damage, name, part = key
    form = next(f for f in FORMS if f.name == name)
    before: dict[str, Any] = {}
    seen: dict[str, str] = {}
    for number in range(TRIES.get(damage, 2)):
        case = damaged(form, base, tmp_path, f"{key} {number}")
        before = before or checked(case, "finite")
        assert before["state"] == "ok", "a good one"
        DAMAGES[damage](case, part)
        level, said = level_of(case, before)
        seen.setdefault(level, f"try {number}: {said}")
    assert seen.keys() <= set(levels.split("|")), seen


@pytest.mark.long
def test_what_the_libraries_say(base: Path, tmp_path: Path, loader: Loader) -> None:
    """All in one test: a second process that imports every library takes as long as the rest."""
    for form in FORMS:
        good = damaged(form, base, tmp_path, "").path
        assert loader.says(form.name, good) == "silent", f"a good one: {form.name}"
    wrong = {}
    for key, _ in FOUND:
        damage, name, part = key
        if says(key) == "by place":
            continue
        form = next(f for f in FORMS if f.name == name)
        case = damaged(form, base, tmp_path, f"{key} 0")
        DAMAGES[damage](case, part)
        said = loader.says(name, case.path)
        if (said == "silent") is not (says(key) == "silent"):
            wrong[key] = said
    assert not wrong


def test_every_cell_has_an_answer() -> None:
    assert EXPECTED.keys() == DAMAGES.keys() == SAYS.keys()
    for row in EXPECTED.values():
        assert row.keys() == {form.name for form in FORMS}


# ------------------------------------------------------------------------------------- the page


def in_words(levels: str) -> str:
    return levels[2:] if levels.startswith("-") else " or ".join(levels.split("|"))


def cell(damage: str, form: str) -> str:
    """One cell of the table of levels."""
    expected = EXPECTED[damage][form]
    if isinstance(expected, str):
        return f"({in_words(expected)})" if expected.startswith("-") else in_words(expected)
    if len(set(expected.values())) == 1 and len(expected) == len(_parts(form)):
        return in_words(next(iter(expected.values())))
    told = {part: in_words(levels) for part, levels in expected.items()}
    return "; ".join(
        f"{part}: ({word})" if expected[part].startswith("-") else f"{part}: {word}"
        for part, word in told.items()
    )


def _parts(form: str) -> dict[str, str]:
    return next(f for f in FORMS if f.name == form).parts


def library(damage: str, form: str) -> str:
    """One cell of the table of what loading says."""
    expected = EXPECTED[damage][form]
    if isinstance(expected, str):
        return "" if expected.startswith("-") else says((damage, form, ""))
    told = {
        part: says((damage, form, part))
        for part, levels in expected.items()
        if not levels.startswith("-")
    }
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "; ".join(f"{part}: {word}" for part, word in told.items())


def table(of: Callable[[str, str], str]) -> str:
    head = ["damage", *(form.name for form in FORMS)]
    lines = [head, ["---"] * len(head)]
    lines += [[damage, *(of(damage, form.name) for form in FORMS)] for damage in DAMAGES]
    return "\n".join("| " + " | ".join(text or " " for text in line) + " |" for line in lines)


TABLES = {"levels": cell, "libraries": library}


def filled(text: str) -> str:
    """The page with the tables as they are here."""
    for name, of in TABLES.items():
        begin, end = f"<!-- matrix: {name} -->", "<!-- end of matrix -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"{PAGE.name} has no place for the table of {name}"
        text = f"{before}{begin}\n\n{table(of)}\n\n{end}{after}"
    return text


def test_the_page_shows_this_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == filled(text), f"run {WRITE}"


def main() -> int:
    if sys.argv[1:] != ["--write"]:
        print(f"usage: {WRITE}", file=sys.stderr)
        return 2
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
