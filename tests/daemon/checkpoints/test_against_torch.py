"""What reading finds, against what torch finds after loading, on random files."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify.levels import describe

ROUNDS = int(os.environ.get("MIDDLEWATCH_TRUTH_ROUNDS", "60"))
"""Files of each form."""


@pytest.fixture(scope="module")
def truth() -> ModuleType:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from . import truth

    return truth


def told(found: dict[str, Any]) -> tuple[int, int]:
    """Tensors that are not finite, and tensors, as the sentence has them; (0, 0) if none are."""
    count = re.search(r"(\d+) of (\d+) tensors (?:is|are) not finite", found["detail"])
    return (int(count[1]), int(count[2])) if count else (0, 0)


def compare(truth: ModuleType, form: str, seed: int, folder: Path) -> str:
    """What happened in one round; AssertionError where the two disagree."""
    rng = truth.Maker.of(form, seed)
    truth.torch.manual_seed(seed)
    saved = truth.state(rng, form)
    what = rng.choice(["good", "poisoned", "poisoned", "flipped"])
    if what == "poisoned":
        truth.poison(rng, saved)
    path = truth.save(saved, form, folder)
    loaded = truth.load(path, form, saved)
    want = truth.judge(loaded, form)
    found = describe(str(path))
    assert (found["state"], found["level"]) == ("corrupt" if want.bad else "ok", "finite"), (
        found,
        want,
    )
    assert told(found) == ((len(want.bad), want.tensors) if want.bad else (0, 0)), (found, want)
    if want.bad and form != "dcp":  # there a list has other names
        faults = found["detail"].partition("; not finite, but")[0]
        named = re.findall(r"(?:finite: |NaN\), |infinite\), )(.+?) \(\d+ of", faults)
        assert set(named) <= want.bad, (named, want)
    if what == "flipped" and form != "dcp":
        return flipped(truth, form, rng, path, loaded)
    return "bad" if want.bad else what


def flipped(truth: ModuleType, form: str, rng: Any, path: Path, loaded: Any) -> str:
    """One bit of the data turned over: a checksum tells, else the numbers do."""
    ranges = [r for r in truth.data_ranges(path, form, loaded) if r[0] < r[1]]
    if not ranges:
        return "empty"
    begin, end = rng.choice(ranges)
    data = bytearray(path.read_bytes())
    data[rng.randrange(begin, end)] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    found = describe(str(path))
    if form == "zip":
        assert found["state"] == "corrupt", found
        return "flipped"
    try:
        want = truth.judge(truth.load(path, form, loaded), form)
    except Exception:  # noqa: BLE001 (whatever it is; what torch cannot load must not pass)
        assert found["state"] != "ok", found
        return "flipped, not loaded"
    if found["level"] == "structure":
        return "flipped, not whole"  # the count in front of a storage, which torch does not read
    assert found["state"] == ("corrupt" if want.bad else "ok"), (found, want)
    return "flipped, not finite" if want.bad else "flipped, finite"


@pytest.mark.parametrize("form", ["zip", "legacy", "safetensors", "dcp"])
def test_reading_finds_what_loading_finds(truth: ModuleType, form: str, tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    for seed in range(ROUNDS // (3 if form == "dcp" else 1)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            what = compare(truth, form, seed, folder)
        except AssertionError as error:
            raise AssertionError(f"{form}, seed {seed}: {error}") from None
        counts[what] = counts.get(what, 0) + 1
        shutil.rmtree(folder)
    print(form, counts)
    assert len(counts) > 1


def test_the_end_of_an_archive_as_torch_reads_it(tmp_path: Path) -> None:
    """Whatever torch refuses after one flipped bit in the last 98 bytes (the two end records and the locator
    between them), nobody calls whole."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "m.pt"
    torch.save({"w": torch.ones(50), "step": 3}, path)
    data = path.read_bytes()
    assert data[-98:-94] == b"PK\x06\x06"
    refused = 0
    for place in range(len(data) - 98, len(data)):
        for bit in (0, 3, 7):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            try:
                torch.load(path, weights_only=True)
            except Exception:  # noqa: BLE001 (of whatever kind)
                refused += 1
                assert describe(str(path))["state"] != "ok", (place - len(data), bit)
    assert refused > 100
