"""``kill -9`` of the daemon at any moment: the index is whole, and true when it is up again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.system.clock import epoch

from ..fakes.box import is_alive

Program = Callable[[str], list[str]]
Index = dict[str, Any]
SAVES = 200
KILLS = 20
SEED = 7
SEEN_WITHIN_S = 6.0
"""A look every two seconds, a judgement every second, a file that is written and synced, and two
busy cores."""
LEVELS = {"cut": "structure", "zeroes": "structure", "bit": "checksum", "nan": "finite"}


class Journal:
    """What the program itself says it did: the truth."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        text = self.path.read_text() if self.path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    @property
    def over(self) -> bool:
        return any(line["op"] == "all saved" for line in self.lines())

    def saved(self) -> dict[str, dict[str, Any]]:
        """The last word about every path that was ever saved."""
        return {line["path"]: line for line in self.lines() if line["op"] == "saved"}

    def deleted(self) -> dict[str, float]:
        return {line["path"]: line["at"] for line in self.lines() if line["op"] == "deleted"}


class Reader(threading.Thread):
    """Reads the index again and again, as a program on the box would."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.reads = 0
        self.broken: list[str] = []
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.01):
            try:
                text = self.path.read_text()
            except FileNotFoundError:
                if self.reads:
                    self.broken.append("it was gone")
                continue
            try:
                index = json.loads(text)
                known = {entry["path"] for entry in index["checkpoints"]}
                told = {index["latest"], index["best"], index["resume_from"]} - {None}
                assert told <= known
                self.reads += 1
            except (ValueError, KeyError, AssertionError) as error:
                self.broken.append(f"{error!r}: {text[:200]!r}")

    def end(self) -> None:
        self._over.set()
        self.join()


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Reader]:
    reader = Reader(path)
    reader.start()
    try:
        yield reader
    finally:
        reader.end()


def files_of(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def loads(path: Path) -> bool:
    """By readers that are not ours: every CRC of a zip, every tensor of a safetensors file."""
    safetensors = pytest.importorskip("safetensors")
    for file in files_of(path):
        if file.suffix == ".safetensors":
            with safetensors.safe_open(file, "np") as opened:
                for name in opened.keys():  # noqa: SIM118 (no dict)
                    opened.get_tensor(name)
        elif file.suffix in (".pt", ".ckpt"):
            with zipfile.ZipFile(file) as archive:
                if archive.testzip() is not None:
                    return False
        else:
            json.loads(file.read_text())
    return True


def stands(entry: dict[str, Any]) -> bool:
    """The files are those that the index speaks of."""
    try:
        stats = [file.stat() for file in files_of(Path(entry["path"]))]
    except OSError:
        return False
    newest = max((stat.st_mtime for stat in stats), default=0.0)
    same = abs(newest - epoch(entry["saved_at"])) < 0.002
    return same and sum(stat.st_size for stat in stats) == entry["bytes"]


def gone_when(path: str, journal: Journal) -> float | None:
    """A deletion is written down a moment after it was done."""
    deadline = time.monotonic() + 120
    while (found := journal.deleted().get(path)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def is_true(index: Index, journal: Journal) -> None:
    """Nothing that is listed is made up, and nothing damaged is called good."""
    saved, deleted = journal.saved(), journal.deleted()
    written_at = epoch(index["updated_at"])
    for entry in index["checkpoints"]:
        path = entry["path"]
        if not os.path.exists(path):
            gone_at = deleted.get(path) or gone_when(path, journal)
            assert gone_at is not None, f"{path} was never there"
            assert gone_at > written_at - SEEN_WITHIN_S, f"{path} was long gone"
            continue
        if entry["verified"]["state"] != "ok" or not stands(entry):
            continue
        line = saved.get(path)
        if line is None or not stands(entry):
            continue  # it is being written just now
        harm = line["harm"]
        reached = entry["verified"]["level"]
        if reached == "finite":
            with contextlib.suppress(FileNotFoundError):  # deleted while we read
                assert loads(Path(path)), f"{path} is called ok"
        if not stands(entry):
            continue
        assert not harm or (LEVELS[harm] != "structure" and reached == "structure"), entry


@pytest.mark.slow
def test_the_index_is_true_after_every_kill(box: Any, program: Program, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    out, journal = tmp_path / "out", Journal(tmp_path / "journal")
    out.mkdir()
    words = (str(out), str(journal.path), "--saves", str(SAVES), "--seed", str(SEED))
    run = box.run(*program("many_saves"), *words, name="saver", options=("--checkpoints", str(out)))
    path = box.state / "runs" / run / "checkpoints_index.json"
    box.until(lambda: len(journal.saved()) > 3, "the first saves")
    chance = random.Random(SEED)
    kills = 0
    with reading(path) as reader:
        while kills < KILLS:
            time.sleep(chance.uniform(0.2, 2.0))
            pid = box.ask("ping")["pid"]
            os.kill(pid, signal.SIGKILL)
            box.until(lambda pid=pid: not is_alive(pid), "the daemon is gone")
            kills += 1
            is_true(json.loads(path.read_text()), journal)
            box.command("start")
            assert box.ask("ping")["pid"] != pid
            is_true(box.ask("checkpoints", run=run), journal)
        box.until(lambda: journal.over, "all is saved")
        box.until(lambda: settled(box.ask("checkpoints", run=run)), "every verdict")
        box.until(lambda: settled(json.loads(path.read_text())), "every verdict is written")
    assert reader.broken == []
    assert reader.reads > 200
    final = json.loads(path.read_text())
    is_true(final, journal)
    is_whole(final, journal)


def settled(index: Index) -> bool:
    """Nothing is pending any more, and the data of everything was read."""
    return all(
        entry["verified"]["state"] in ("corrupt", "incomplete")
        or (entry["verified"]["state"], entry["verified"]["level"]) == ("ok", "finite")
        for entry in index["checkpoints"]
    )


def is_whole(index: Index, journal: Journal) -> None:
    """It is all that is there, with the right verdict on each."""
    import xxhash

    gone = journal.deleted()
    saved = {p: line for p, line in journal.saved().items() if line["at"] > gone.get(p, 0.0)}
    entries = {entry["path"]: entry for entry in index["checkpoints"]}
    assert entries.keys() == saved.keys() == {p for p in saved if os.path.exists(p)}
    for path, line in saved.items():
        verified = entries[path]["verified"]
        if line["harm"]:
            assert verified["state"] == "corrupt", (line, verified)
            assert verified["level"] == LEVELS[line["harm"]], (line, verified)
            continue
        assert (verified["state"], verified["level"]) == ("ok", "finite"), (line, verified)
        assert loads(Path(path))
        assert entries[path]["step"] == line["step"]
        if os.path.isfile(path):
            digest = xxhash.xxh3_128(Path(path).read_bytes()).hexdigest()
            assert entries[path]["digest"] == f"xxh3:{digest}"
    newest = max(saved.values(), key=lambda line: line["step"])
    good = [line for line in saved.values() if not line["harm"]]
    # The folders hold the optimizer too: what is resumed from is one of them, if one is good.
    full = [line for line in good if Path(line["path"]).is_dir()]
    sound = max(full or good, key=lambda line: line["step"])
    assert (index["latest"], index["resume_from"]) == (newest["path"], sound["path"])
