"""The step that a torch file tells of itself, whatever part of a checkpoint it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from . import torch_tensors
from .pickle_symbols import Tensor
from .pickle_walk import number

What = Literal["counter", "optimizer", "scheduler"]
_COUNTERS = ("global_step", "global_steps", "iteration", "iter_num", "step_count", "step")
_MOST = 32
_SAMPLES = 8


class OwnStep(NamedTuple):
    """A number that grows with the training."""

    what: What
    at: float


def own_step_of(found: torch_tensors.Torch) -> OwnStep | None:
    """The step of one file: that of its optimizer, else its counter, else that of a scheduler."""
    root = found.root
    if not isinstance(root, dict):
        return None
    steps = [_value(found, state.get("step")) for state in _optimizers(root)]
    turned = [at for at in steps if at is not None]
    if turned:
        return OwnStep("optimizer", max(turned))
    for name in _COUNTERS:
        at = _value(found, root.get(name))
        if at is not None:
            return OwnStep("counter", at)
    at = number(root.get("last_epoch"))
    return None if at is None else OwnStep("scheduler", at)


def _optimizers(root: dict[object, object]) -> Iterator[dict[object, object]]:
    """The states of some parameters of every optimizer in a file: one of them may be frozen."""
    inside = [
        v for k, v in root.items() if isinstance(k, str) and "optim" in k and isinstance(v, dict)
    ]
    for one in (root, *inside[:_MOST]):
        states = one.get("state")
        if isinstance(states, dict):
            every = list(states.values())
            for number in {len(every) * n // _SAMPLES for n in range(_SAMPLES)}:
                state = every[number] if every else None
                if isinstance(state, dict):
                    yield state


def _value(found: torch_tensors.Torch, node: object) -> float | None:
    if isinstance(node, Tensor):
        return torch_tensors.value_of(found, node) if node.scalar and not found.big else None
    return number(node)
