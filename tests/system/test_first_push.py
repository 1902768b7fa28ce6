"""A newcomer's first own push on a box that has Python and git only: as scripts/bare-box plays it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "debian-12"
TYPED = 3
"""Commands that a newcomer types to the first own push, at most."""


def test_the_first_own_push_on_a_bare_box() -> None:
    script = str(ROOT / "scripts" / "bare-box")
    done = subprocess.run(
        [sys.executable, script, SYSTEM, "--as", "user", "--do", "first-push", "--json"],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if not done.stdout and "skipped: " in done.stderr:
        pytest.skip(done.stderr.partition("skipped: ")[2].strip())
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = map(json.loads, done.stdout.splitlines())
    told = re.match(r"typed \d+ lines? with (\d+) commands; ", row["told"])
    assert told, row
    assert int(told[1]) <= TYPED
