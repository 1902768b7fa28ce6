"""requirements.lock: what is declared is in it, pinned, whole, for every box that is promised, and by hash."""

from __future__ import annotations

import importlib.metadata
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
BOXES = list(itertools.product(("3.10", "3.11", "3.12", "3.13"), ("x86_64", "aarch64")))


def entries() -> Iterator[tuple[Requirement, list[str]]]:
    """Each pinned release with its hashes."""
    for entry in LOCK.replace("\\\n", " ").splitlines():
        if entry.strip() and not entry.lstrip().startswith("#"):
            text, *hashes = re.split(r"\s+(?=--)", entry.strip())
            yield Requirement(text), hashes


def on(box: tuple[str, str]) -> dict[str, str]:
    """The environment of markers on a box."""
    python, machine = box
    return {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }


def applies(one: Requirement, box: tuple[str, str]) -> bool:
    return one.marker is None or one.marker.evaluate(on(box))


def pins(box: tuple[str, str]) -> dict[str, str]:
    """Name -> version of what is installed on a box."""
    found: dict[str, str] = {}
    for one, _ in entries():
        if applies(one, box):
            assert one.name not in found, f"{one.name} twice on {box}"
            (pin,) = one.specifier
            found[canonicalize_name(one.name)] = pin.version
    return found


@pytest.mark.parametrize("box", BOXES, ids=lambda box: "-".join(box))
def test_the_lock_satisfies_what_is_declared(box: tuple[str, str]) -> None:
    assert box[0] in SpecifierSet(PROJECT["requires-python"])
    locked = pins(box)
    lacking = []
    for text in PROJECT["dependencies"]:
        one = Requirement(text)
        if applies(one, box):
            version = locked.get(canonicalize_name(one.name))
            if version is None or version not in one.specifier:
                lacking.append(f"{text}: {version}")
    assert lacking == []


def test_every_release_is_held_by_its_hashes() -> None:
    found = list(entries())
    assert len(found) > len(PROJECT["dependencies"])
    for one, hashes in found:
        assert [pin.operator for pin in one.specifier] == ["=="], one
        assert "*" not in str(one.specifier)
        assert one.url is None
        assert hashes, one
        assert [text for text in hashes if not HASH.fullmatch(text)] == [], one


def test_it_names_no_index() -> None:
    """Whoever installs by it asks the index that they trust: the hashes decide."""
    assert re.search(r"://|--(?:extra-)?index-url|--find-links|--trusted-host", LOCK) is None


def test_what_the_releases_want_themselves_is_in_it() -> None:
    """As far as they are installed here in the same version: their own words."""
    python = f"3.{sys.version_info.minor}"
    if (box := (python, "x86_64")) not in BOXES:
        pytest.skip(f"no box with Python {python} is promised")
    locked = pins(box)
    looked_at, lacking = 0, []
    for name, version in locked.items():
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if installed.version != version:
            continue
        looked_at += 1
        for text in installed.requires or ():
            one = Requirement(text)
            if applies(one, box):
                there = locked.get(canonicalize_name(one.name))
                if there is None or there not in one.specifier:
                    lacking.append(f"{name} wants {text}: {there}")
    assert lacking == []
    if not looked_at:
        pytest.skip("none of them is installed here in the version of the lock")
