"""The environment of a cell: every cell writes to a folder of its own, trackers too. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from .cells import Cell

CELL_VARIABLE, FOLDER_VARIABLE = "MIDDLEWATCH_CELL", "MIDDLEWATCH_CELL_DIR"


def environment(
    cell: Cell, queue: str, base: Mapping[str, str], gpus: Sequence[str] | None
) -> dict[str, str]:
    """The whole environment of a cell.

    ``base``: that of whoever started the queue. What the file says (``@env``) counts most. A name or
    folder of a tracker that stands in ``base`` is for one run, and does not hold for a cell; where a
    tracker's server is, does. ``gpus``: which of them it may use; None: nothing is said of them.
    """
    own = {
        CELL_VARIABLE: cell.name,
        FOLDER_VARIABLE: cell.dir,
        # https://docs.wandb.ai/guides/track/environment-variables
        "WANDB_NAME": cell.name,
        "WANDB_DIR": cell.trackers,
        # https://mlflow.org/docs/latest/python_api/mlflow.environment_variables.html
        "MLFLOW_RUN_NAME": cell.name,
        # Read by the Trainer of transformers for its TensorBoard files.
        "TENSORBOARD_LOGGING_DIR": f"{cell.trackers}/tensorboard",
    }
    shared = {
        "WANDB_RUN_GROUP": queue,
        # Without a server MLflow writes into the working folder, which all cells have.
        "MLFLOW_TRACKING_URI": f"file://{quote(cell.trackers)}/mlruns",
    }
    made = {**shared, **base, **own}
    # Several writers of one run of a tracker spoil it.
    for name in ("WANDB_RUN_ID", "WANDB_RESUME", "MLFLOW_RUN_ID"):
        made.pop(name, None)
    if gpus is not None:
        made["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        # Numbers of the driver, which are those of nvidia-smi; CUDA counts the fastest first by itself.
        made.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return {**made, **cell.settings.env}
