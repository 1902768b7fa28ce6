"""Saves that are never left alone, and verdicts that a command hands over."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify import levels
from middlewatch.daemon.cli.selection import mark_now
from middlewatch.daemon.sources.restless import AFTER_S, EVERY_S, Restless
from middlewatch.daemon.sources.told_verdicts import ToldVerdict, told_verdict
from middlewatch.sentinels.kit import CheckpointSeen

from .test_checkpoint_dir import Watch, tensors


def written(path: Path, count: int = 1000) -> None:
    """Written again in place, of the same size; the time of the test's clock does not matter."""
    path.write_bytes(tensors(count))
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def only(watch: Watch) -> CheckpointSeen:
    (seen,) = watch.source.checkpoints()
    return seen


def test_a_save_that_is_overwritten_every_two_seconds(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    watch = Watch(out)
    try:
        watch.look()
        details, states = [], []
        for _ in range(round(2.5 * AFTER_S / 2)):
            written(out / "last.safetensors")
            watch.look(2.0)
            details.append(only(watch).detail)
            states.append(only(watch).state)
        assert states.count("ok") == 2, "once a minute it is whole between two writings"
        assert details[0] == "being saved"
        assert "the bytes of now are not verified" in details[-1]
        for _ in range(3):  # now it is left alone
            watch.look(4.0)
        assert (only(watch).state, only(watch).level) == ("ok", "finite")
        watch.now += 600.0
        written(out / "last.safetensors")
        watch.look(2.0)
        assert only(watch).detail == "being saved", "one save after a rest is a save like any other"
    finally:
        watch.source.close()


def test_what_is_said_of_one_that_was_never_whole() -> None:
    restless = Restless()
    assert restless.changed("a", 100, 0.0) == "being saved"
    assert not restless.due("a", AFTER_S - 1)
    assert restless.due("a", AFTER_S)
    assert restless.changed("a", 100, AFTER_S).startswith("written again and again for ")
    restless.tried("a", AFTER_S)
    assert not restless.due("a", AFTER_S + EVERY_S - 1)
    assert restless.due("a", AFTER_S + EVERY_S)


def test_one_that_grows_for_minutes_is_being_saved(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    watch = Watch(out)
    try:
        watch.look()
        for count in range(1, round((AFTER_S + EVERY_S) / 2)):
            whole = tensors(1000)
            (out / "step_1.safetensors").write_bytes(whole[: 40 * count])
            watch.look(2.0)
            assert (only(watch).state, only(watch).detail) == ("pending", "being saved")
    finally:
        watch.source.close()


def told_of(path: Path, **more: Any) -> ToldVerdict:
    mark, found = mark_now(str(path)), levels.describe(str(path))
    said = {name: found[name] for name in ("state", "level", "detail", "digest")}
    place = {"paths": [str(path)], "bytes": mark.bytes, "saved_at": mark.newest_ns / 1e9}
    told = told_verdict({**place, **said, **more})
    assert told is not None
    return told


@pytest.fixture
def known(tmp_path: Path) -> Any:
    """A save that the daemon has read, and called ok."""
    out = tmp_path / "out"
    out.mkdir()
    watch = Watch(out)
    watch.look()
    written(out / "step_1.safetensors")
    for _ in range(4):
        watch.look(4.0)
    assert (only(watch).state, only(watch).level) == ("ok", "finite")
    yield watch, out / "step_1.safetensors"
    watch.source.close()


def test_what_a_command_found_is_not_forgotten(known: Any) -> None:
    watch, path = known
    digest = only(watch).digest
    rot = {
        "state": "corrupt",
        "level": "checksum",
        "detail": "its bytes changed",
        "digest": "xxh3:1",
    }
    seen = watch.source.told(told_of(path, **rot), watch.now)
    assert (seen.state, seen.detail, seen.digest) == ("corrupt", "its bytes changed", digest)
    for _ in range(4):
        watch.look(40.0)
    assert (only(watch).state, only(watch).level) == ("corrupt", "checksum")
    assert watch.source.told(told_of(path, **rot), watch.now) is None, "it is known already"
    assert watch.source.told(told_of(path), watch.now) is None, "ok does not undo it"
    written(path)  # it is saved anew
    for _ in range(4):
        watch.look(4.0)
    assert only(watch).state == "ok"


def test_a_verdict_about_other_bytes_counts_for_nothing(known: Any) -> None:
    watch, path = known
    old = told_of(path, state="corrupt", level="checksum", detail="rot")
    for change in ({"bytes": old.bytes + 1}, {"saved_at": old.saved_at + 1}, {"paths": ["/x"]}):
        assert watch.source.told(told_of(path, state="corrupt", **change), watch.now) is None
    assert only(watch).state == "ok"


def test_one_that_torch_has_loaded_says_so(known: Any) -> None:
    watch, path = known
    assert watch.source.told(told_of(path, level="load", detail="by torch"), watch.now) is not None
    assert (only(watch).state, only(watch).level, only(watch).detail) == ("ok", "load", "by torch")
    other = told_of(path, level="load", digest="xxh3:other")
    assert watch.source.told(other, watch.now) is None


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"paths": "x"},
        {"paths": [], "state": "corrupt", "level": "finite", "bytes": 1, "saved_at": 1.0},
        {"paths": ["x"], "state": "fine", "level": "finite", "bytes": 1, "saved_at": 1.0},
        {"paths": ["x"], "state": "corrupt", "level": "best", "bytes": 1, "saved_at": 1.0},
        {"paths": ["x"], "state": "corrupt", "level": "finite", "bytes": "1", "saved_at": 1.0},
    ],
)
def test_what_is_no_verdict(said: Any) -> None:
    assert told_verdict(said) is None
