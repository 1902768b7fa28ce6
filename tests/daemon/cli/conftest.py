"""What tests of commands share: an empty world, and one command in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from middlewatch.daemon.cli import main


@pytest.fixture(autouse=True)
def nothing_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDDLEWATCH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MIDDLEWATCH_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.delenv("MIDDLEWATCH_ALERT_URLS", raising=False)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """One command in this process: exit code, stdout, stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        try:
            status = main(words)
        except SystemExit as left:  # argparse
            status = int(left.code or 0)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run
