"""How a program tells the laboratory when its trouble began, and when it will have been too late.

Times are monotonic: a row may change the clock of its processes.
"""

import os
import time
from pathlib import Path


def injected() -> None:
    """The trouble begins now; only the first call counts."""
    _write(Path(os.environ["FAULTLAB_INJECTED"]))


def too_late() -> None:
    """What a watcher should have told before has happened now; only the first call counts."""
    _write(Path(os.environ["FAULTLAB_INJECTED"] + ".late"))


def _write(stamp: Path) -> None:
    if not stamp.exists():
        fresh = stamp.with_suffix(".fresh")
        fresh.write_text(repr(time.monotonic()))
        fresh.rename(stamp)
