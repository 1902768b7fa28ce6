"""The push that the README shows is the one that is sent."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Change
from middlewatch.daemon.report.messages import compose
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import CheckpointSeen, Evidence

from .test_messages import incident

NOW = 1_795_074_874.0
"""07:54:34 on the 19th of November 2026, UTC."""
LINE = "/data/gpt/train.log:2417: iter 2403: loss nan, lr 5.0e+02, time 3.5ms"


def test_the_readme_shows_a_push_as_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = Path(__file__).parents[3] / "README.md"
    shown = re.search(r"The push:\n\n```text\n(.*?)```", readme.read_text(), re.DOTALL)
    assert shown
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        message = _push()
    time.tzset()
    assert shown[1] == f"{message.title}\n\n{message.body}\n"


def _push() -> Any:
    told = incident(
        id="8d516f",
        run="gpt-5db0",
        summary="the loss is NaN since step 2403",
        opened_at=NOW - 6.0,
        evidence=[Evidence("log", LINE, NOW - 6.0)],
        details={"step": 2403.0},
    )
    save = "/data/gpt/out/step-002200.safetensors"
    good = CheckpointSeen(
        NOW, save, NOW - 90, 1, 1, "safetensors", 2200, state="ok", level="structure"
    )
    spec = RunSpec("gpt", logs=("/data/gpt/train.log",), checkpoint_dirs=("/data/gpt/out",))
    return compose(Change("opened", told), "gpt", "box3", page("loss_nan"), [good], NOW, spec=spec)
