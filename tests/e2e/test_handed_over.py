"""``verify`` finds rot: the index, ``checkpoints`` and a push say it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .test_rescan import rotten, tensors

Program = Callable[[str], list[str]]


@pytest.mark.slow
def test_what_verify_finds_the_daemon_says(box: Any, program: Program) -> None:
    out = box.root / "out"
    out.mkdir()
    for step in (1, 2):
        tensors(out / f"step_{step}.safetensors")
    run = box.run(*program("trainer"), "none", name="gpt", options=("--checkpoints", str(out)))

    def newest() -> dict[str, Any]:
        known: dict[str, Any] = box.ask("checkpoints", run=run)["checkpoints"][-1]["verified"]
        return known

    index_file = box.state / "runs" / run / "checkpoints_index.json"
    box.until(lambda: newest()["level"] == "finite", "the newest is read")
    box.until(lambda: "xxh3:" in index_file.read_text(), "its digest is written down")
    rotten(out / "step_2.safetensors")
    done = box.command("verify", str(out), check=False)
    assert done.returncode == 1
    box.until(lambda: newest()["state"] == "corrupt", "the index says what verify has found")
    assert "although nobody wrote it" in newest()["detail"]
    index = box.ask("checkpoints", run=run)
    assert index["resume_from"] == str(out / "step_1.safetensors")
    box.until(
        lambda: any(i["class"] == "ckpt_corrupt" for i in box.ask("incidents", run=run)),
        "and it is an incident",
    )
