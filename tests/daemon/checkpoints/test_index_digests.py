"""Bytes that change under a save that nobody wrote again."""

from __future__ import annotations

from dataclasses import replace

from middlewatch.daemon.checkpoints.index import build
from middlewatch.sentinels.kit import CheckpointSeen

FIRST, OTHER = "xxh3:" + "0a" * 16, "xxh3:" + "0b" * 16
SAVED = CheckpointSeen(
    at=2000.0, path="/out/a.pt", saved_at=1000.0, bytes=10, files=1, format="torch",
    state="ok", level="finite", digest=FIRST,
)  # fmt: skip


def test_the_digest_outlives_a_restart() -> None:
    before = build("r", [SAVED], 2000.0)
    assert before["checkpoints"][0]["digest"] == FIRST
    unread = replace(SAVED, digest=None, level="structure")
    assert build("r", [unread], 2100.0, before=before)["checkpoints"][0]["digest"] == FIRST


def test_another_digest_of_the_same_save_is_rot() -> None:
    before = build("r", [SAVED], 2000.0)
    for _ in range(3):  # it stays rotten however often it is read
        before = build("r", [replace(SAVED, digest=OTHER)], 2100.0, before=before)
        (entry,) = before["checkpoints"]
        assert (entry["verified"]["state"], entry["verified"]["level"]) == ("corrupt", "checksum")
        assert entry["verified"]["detail"].startswith("its bytes changed since 1970-01-01 00:33:20")
        assert entry["digest"] == FIRST
        assert before["resume_from"] is None


def test_one_that_was_restored_is_sound_again() -> None:
    before = build("r", [SAVED], 2000.0)
    rotten = build("r", [replace(SAVED, digest=OTHER)], 2100.0, before=before)
    assert build("r", [SAVED], 2200.0, before=rotten)["resume_from"] == SAVED.path


def test_one_that_was_written_anew_has_a_digest_of_its_own() -> None:
    before = build("r", [SAVED], 2000.0)
    for other in (replace(SAVED, saved_at=1001.0), replace(SAVED, bytes=11)):
        again = build("r", [replace(other, digest=OTHER)], 2100.0, before=before)
        assert again["checkpoints"][0]["digest"] == OTHER
        assert again["resume_from"] == SAVED.path


def test_an_index_of_an_earlier_version_is_no_measure() -> None:
    old = build("r", [SAVED], 2000.0)
    for name in ("digest", "step_origin", "parts", "durability"):
        del old["checkpoints"][0][name]
    assert build("r", [SAVED], 2100.0, before=old)["resume_from"] == SAVED.path
