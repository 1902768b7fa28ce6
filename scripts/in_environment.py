"""Run a script with the Python of `.venv`, whatever it was started with: ``import in_environment`` before the rest."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

_PYTHON = Path(__file__).resolve().parent.parent / ".venv" / "bin" / "python"

if find_spec("middlewatch") is None:
    if not _PYTHON.exists():
        sys.exit(f"{sys.argv[0]}: {_PYTHON} is not there: scripts/setup makes it")
    os.execv(_PYTHON, [str(_PYTHON), *sys.argv])
