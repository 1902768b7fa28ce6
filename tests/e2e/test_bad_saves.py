"""Saves that are no good, from the bytes on disk to the phone. After a NaN: see test_story."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any

import pytest

Program = Callable[[str], list[str]]


def saved(box: Any, run: str, count: int, level: str) -> list[dict[str, Any]]:
    """The saves of a run, once so many of them were checked to a level."""

    def checked() -> list[dict[str, Any]] | None:
        known: list[dict[str, Any]] = box.ask("checkpoints", run=run)["checkpoints"]
        return known if sum(c["verified"]["level"] == level for c in known) >= count else None

    found: list[dict[str, Any]] = box.until(checked, f"{count} saves at {level}")
    return found


@pytest.mark.slow
def test_a_save_that_holds_nan_under_a_healthy_loss(box: Any, program: Program) -> None:
    out = box.root / "out"
    words = ("--save-every", "1", "--size", "65536", "--out", str(out), "--steps", "1")
    box.spawn(*program("trainer"), "none", *words).wait()
    run = box.run(*program("trainer"), "none", "--steps", "3000", name="gpt",
                  options=("--checkpoints", str(out)))  # fmt: skip
    saved(box, run, 1, "finite")
    (last,) = out.glob("*.safetensors")
    bad = out / "step-999999.safetensors"
    data = bytearray(last.read_bytes())
    data[-4:] = struct.pack("<f", float("nan"))
    (out / "step-999999.safetensors.tmp").write_bytes(data)
    os.rename(out / "step-999999.safetensors.tmp", bad)
    push = box.push(lambda p: "CRITICAL" in p.title)
    assert "step-999999.safetensors (step 999999), is not finite" in push.title + push.body
    assert "w (1 of 16384 NaN)" in push.body
    assert "the last finite one is out/step-000001.safetensors" in push.title + push.body
    assert "middlewatch resume" in push.body
    index = box.ask("checkpoints", run=run)
    verdict = next(c["verified"] for c in index["checkpoints"] if c["path"] == str(bad))
    assert (verdict["state"], verdict["level"]) == ("corrupt", "finite")
    assert index["resume_from"] == str(last)
    assert {i["class"] for i in box.ask("incidents", all=True)} & {"ckpt_corrupt"} == set()
