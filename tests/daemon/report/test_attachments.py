"""The files of a push, where there is no room for them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from middlewatch.daemon.config.paths import MEMORY as PLACE
from middlewatch.daemon.report import attachments

MEMORY = Path(PLACE)


def sent(facts: Path) -> list[Sequence[str]]:
    """The files of each try."""
    tries: list[Sequence[str]] = []

    def told(files: Sequence[str]) -> bool:
        tries.append(files)
        return True

    job = {"url": "json://localhost/", "facts": str(facts)}
    assert attachments.told_with(job, SimpleNamespace(attachment_support=True), "words", told)
    return tries


def test_without_room_for_the_files_the_words_go_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under the unit of systemd, before: every critical push failed there."""

    def full(**_: object) -> None:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    assert sent(tmp_path / "x.json") == [()]


def test_the_next_place_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MEMORY", str(tmp_path / "gone"))
    room = attachments._room(str(tmp_path / "x.json"))
    assert room is not None
    room.cleanup()


@pytest.mark.skipif(not MEMORY.is_dir(), reason="there is no /dev/shm")
def test_memory_comes_first(tmp_path: Path) -> None:
    room = attachments._room(str(tmp_path / "x.json"))
    assert room is not None
    assert Path(room.name).parent == MEMORY
    room.cleanup()
