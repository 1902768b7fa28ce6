"""Imported by Python at its start: the training stops after the line of one step, until it may go on.

``$GATE_STEP`` is that step; it goes on when the file ``$GATE_OPEN`` is there. So a test can end it in the
middle, however fast or slow the machine is.
"""

from __future__ import annotations

import builtins
import os
import re
import time
from pathlib import Path
from typing import Any

_LINE = re.compile(r'(?:"step": |^iter )(\d+)[,:] "?loss')
_say = builtins.print


def _print(*words: Any, **more: Any) -> None:
    _say(*words, **more)
    found = _LINE.search(str(words[0])) if words else None
    if found and found[1] == os.environ.get("GATE_STEP"):
        while not Path(os.environ["GATE_OPEN"]).exists():
            time.sleep(0.01)


builtins.print = _print
