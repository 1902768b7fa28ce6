"""What ``systemd-analyze`` says of a unit, where it can be asked."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def analyze(*words: str) -> tuple[int, str]:
    """Its exit status, and what it said. Skips where it is not installed, or cannot work."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze (Debian package systemd)")
    if not os.path.isdir("/run/systemd") and not os.access("/run", os.W_OK):
        pytest.skip("systemd-analyze wants /run/systemd, which only root can make here")
    done = subprocess.run(
        ["systemd-analyze", *words], capture_output=True, text=True, check=False, timeout=300
    )
    said = done.stdout + done.stderr
    if "unrecognized option" in said:
        pytest.skip(f"an old systemd: {said.strip()}")
    return done.returncode, said
