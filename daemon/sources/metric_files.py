"""Files in which a program that prints no reports writes them: event files and tables of metrics.

TensorBoard's own writer and Lightning's ``CSVLogger`` open their file anew for each piece, and Weights & Biases
has a process of its own for it; MLflow opens a file for each value. No open file of the program leads to them. They are searched below the working directory, within narrow bounds.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator

from middlewatch.sentinels.kit.metric_keys import fold, is_loss

from ..launch.log_files import is_metrics_file
from ..parsers.event_files import is_event_file
from ..parsers.mlflow_files import is_mlflow_metric
from ..parsers.wandb_files import is_wandb_file
from .save_walk import Walk, listed

FOLDERS, ENTRIES = 80, 3000
"""Listed in one search: 15 ms on a local disk."""
LOSSES = 4
"""Files of MLflow that are read of one run: each holds one metric."""
_WRITER = re.compile(r"\.tfevents\.\d+\.[^/]*?\.(\d+)\.\d+(?:\.|$)")
"""The pid in the name (torch and tensorboardX: time, host, pid, number of the file)."""


def written_files(folder: str, since: float, pids: Collection[int]) -> Iterator[str]:
    """Paths of the files of metrics below ``folder`` that were written since then (epoch seconds): event
    files of these processes, and a table of metrics or a file of Weights & Biases if there is only one, or
    the losses of MLflow if there is only one run of it.

    Touches them: not for a folder that may hang.
    """
    tables = []
    losses: dict[str, list[str]] = {}
    for path in Walk(since, FOLDERS, ENTRIES).fresh(folder):
        if is_event_file(path):
            writer = _WRITER.search(path)
            if writer is None or int(writer[1]) in pids:
                yield path
        elif is_mlflow_metric(path):
            of_run, _, key = path.partition("/metrics/")
            if is_loss(fold(key)):
                losses.setdefault(of_run, []).append(path)
        elif is_metrics_file(path):
            tables.append(path)
    wandb = list(_of_wandb(folder, since))
    for several in (tables, wandb):
        if len(several) == 1:
            yield several[0]
    if len(losses) == 1:
        yield from next(iter(losses.values()))[:LOSSES]


def _of_wandb(folder: str, since: float) -> Iterator[str]:
    """The files of Weights & Biases below its own folder."""
    for entry in listed(f"{folder}/wandb"):
        with contextlib.suppress(OSError):
            if not entry.name.startswith(("run-", "offline-run-")) or not entry.is_dir():
                continue
            for file in listed(entry.path):
                if is_wandb_file(file.name) and file.stat().st_mtime >= since:
                    yield file.path
