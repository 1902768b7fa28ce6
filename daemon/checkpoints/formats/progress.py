"""Progress of a training at a save, from counters inside its checkpoint.

The names are those that trainers use at the top of what they save: nanoGPT ``iter_num`` and
``best_val_loss``, LitGPT ``step_count``, Lightning ``global_step``, Megatron ``iteration``,
DeepSpeed ``global_steps``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import names
from .pickle_symbols import Opaque, Tensor
from .pickle_walk import number
from .recognise import UNTOLD, Progress

STEPS = ("global_step", "global_steps", "step_count", "iter_num", "iteration", "step", "steps")
"""Names of steps, best first: optimizer steps come before batches, as LitGPT has both."""
EPOCHS = ("epoch", "current_epoch", "epochs_run", "epoch_num")
_INSIDE = ("trainer_state", "train_state", "training_state", "trainer", "progress", "client_state")
"""Names of dicts at the top level that may hold the counters."""

Value = Callable[[Tensor], "float | None"]
"""Reads the number of a tensor with one element."""


def told_by(root: object, value: Value) -> Progress:
    """Step, epoch and metrics of one file; :data:`UNTOLD` where it has none."""
    if not isinstance(root, dict):
        return UNTOLD
    step, epoch = _first(root, STEPS, value), _first(root, EPOCHS, value)
    for name in _INSIDE:
        inside = root.get(name)
        if step is None and isinstance(inside, dict):
            step = _first(inside, STEPS, value)
            epoch = _first(inside, EPOCHS, value) if epoch is None else epoch
    metrics = {**_callbacks(root.get("callbacks"), value), **_metrics(root, value)}
    nested = root.get("metrics")
    if isinstance(nested, dict):
        metrics = {**_metrics(nested, value), **metrics}
    if step is None and epoch is None and not metrics:
        return UNTOLD
    return Progress(step, epoch, metrics, "" if step is None else "checkpoint")


def is_told_by(name: str) -> bool:
    """Whether a number of this name is a step, an epoch or a metric."""
    return name in STEPS or name in EPOCHS or canonical(name) is not None


def _first(things: Mapping[object, object], wanted: tuple[str, ...], value: Value) -> float | None:
    found = (_number(things[name], value) for name in wanted if name in things)
    return next((n for n in found if n is not None and 0 <= n < 1e15), None)


def _number(node: object, value: Value) -> float | None:
    """A number, or the only element of a tensor."""
    if isinstance(node, Tensor):
        return value(node) if node.scalar else None
    return number(node)


def _metrics(things: Mapping[object, object], value: Value) -> dict[str, float]:
    found = {}
    for key, node in things.items():
        name = canonical(key) if isinstance(key, str) else None
        n = None if name is None else _number(node, value)
        if name is not None and n is not None:
            found[name] = n
    if "iter_num" in things and "best_eval_loss" in found:
        # Here nanoGPT stores the loss of the evaluation right before the save.
        found.setdefault("eval_loss", found["best_eval_loss"])
    return found


def canonical(key: str) -> str | None:
    """``eval_loss`` for ``val_loss`` and ``valid/loss``; ``None`` for what is no metric."""
    if key.lower().startswith(("best_", "best-", "best/")):
        plain = names.metric_name(key[len("best_") :])
        return None if plain is None else f"best_{plain}"
    return names.metric_name(key)


def _callbacks(node: object, value: Value) -> dict[str, float]:
    """The metrics of ModelCheckpoint callbacks of Lightning: current score and best score."""
    found: dict[str, float] = {}
    for state in node.values() if isinstance(node, dict) else ():
        if isinstance(state, Opaque):
            state = state.state
        monitor = state.get("monitor") if isinstance(state, dict) else None
        if not isinstance(state, dict) or not isinstance(monitor, str) or len(monitor) > 100:
            continue
        name = canonical(monitor) or monitor
        now = _number(state.get("current_score"), value)
        best = _number(state.get("best_model_score"), value)
        if now is not None:
            found.setdefault(name, now)
        if best is not None:
            found.setdefault(f"best_{name.removeprefix('best_')}", best)
    return found
