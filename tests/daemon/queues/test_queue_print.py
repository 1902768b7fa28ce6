"""``queue --print``: what would be started, to the letter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from middlewatch.daemon.cli import main

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize(("name", "words"), [("print.txt", ()), ("print.json", ("--json",))])
def test_what_would_be_started(
    name: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(GOLDEN / "sweep.txt", tmp_path)
    status = main(
        [
            "queue",
            str(tmp_path / "sweep.txt"),
            "--print",
            "--state-dir",
            str(tmp_path / "s"),
            *words,
        ]
    )
    out, err = capsys.readouterr()
    assert status == 0
    assert not (tmp_path / "s").exists(), "nothing is started or kept"
    if words:
        out = json.dumps(json.loads(out), indent=2, ensure_ascii=False) + "\n"
    shown = (out + err).replace(str(tmp_path), "/box")
    assert shown == (GOLDEN / name).read_text(encoding="utf-8")
