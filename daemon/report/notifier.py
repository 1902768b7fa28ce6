"""How the notifier is started: the child that pushes and pings (:mod:`.notifier_worker`)."""

from __future__ import annotations

import os

from ..config.paths import MEMORY
from ..system.descriptors import Spare
from ..system.worker import JsonWorker, module_argv

NOTIFIER_ARGV = module_argv("middlewatch.daemon.report.notifier_worker")

DEADLINE_S = 90.0
"""Seconds for one message to one URL: the notifier gives up after 30 s by itself."""


def notifier() -> JsonWorker:
    """The child that pushes. It may change files only where temporary ones belong, and is started even if
    no descriptor is left."""
    folders = (MEMORY, os.environ.get("TMPDIR", "/tmp"))
    return JsonWorker(NOTIFIER_ARGV, DEADLINE_S, walls="notifier", folders=folders, spare=Spare())
