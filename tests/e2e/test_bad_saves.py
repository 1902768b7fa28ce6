"""Saves that are no good, from the bytes on disk to the phone."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]


def saved(box: Any, run: str, count: int, level: str) -> list[dict[str, Any]]:
    """The saves of a run, once so many of them were checked to a level."""

    def checked() -> list[dict[str, Any]] | None:
        known: list[dict[str, Any]] = box.ask("checkpoints", run=run)["checkpoints"]
        return known if sum(c["verified"]["level"] == level for c in known) >= count else None

    found: list[dict[str, Any]] = box.until(checked, 60, f"{count} saves at {level}")
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
    push = box.push(lambda p: "CRITICAL" in p.title, 60)
    assert "step-999999.safetensors (step 999999), is not finite" in push.title + push.body
    assert "w (1 of 16384 NaN)" in push.body
    assert "the last finite one is out/step-000001.safetensors" in push.title + push.body
    assert "middlewatch resume" in push.body
    index = box.ask("checkpoints", run=run)
    verdict = next(c["verified"] for c in index["checkpoints"] if c["path"] == str(bad))
    assert (verdict["state"], verdict["level"]) == ("corrupt", "finite")
    assert index["resume_from"] == str(last)
    assert {i["class"] for i in box.ask("incidents", all=True)} & {"ckpt_corrupt"} == set()


@pytest.mark.slow
def test_saves_after_the_loss_was_nan_are_one_trouble_with_it(box: Any, program: Program) -> None:
    out = box.root / "out"
    words = ("--save-every", "80", "--size", "65536", "--out", str(out), "--at", "100")
    run = box.run(*program("trainer"), "nan", *words, "--steps", "3000", "--sleep", "0.1",
                  name="gpt", options=("--checkpoints", str(out)))  # fmt: skip
    box.push(lambda p: "loss is" in p.title and "CRITICAL" in p.title, 60)
    box.until(
        lambda: [c for c in box.ask("checkpoints", run=run)["checkpoints"]
                 if c["verified"]["state"] == "corrupt"],
        60, "a save of NaN",
    )  # fmt: skip
    (one,) = box.until(
        lambda: [
            i for i in box.ask("incidents")
            if any("is not finite" in s and "saved after the loss was" in s for s in i["symptoms"])
        ],
        30, "it is told with its cause",
    )  # fmt: skip
    assert one["class"] in ("loss_nan", "loss_inf")
    assert len([p for p in box.receiver.pushes if "CRITICAL" in p.title]) == 1
    resume = box.ask("checkpoints", run=run)["resume_from"]
    assert Path(resume).name == "step-000080.safetensors"
