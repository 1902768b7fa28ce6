"""What a pickle contains, found without unpickling it.

From the symbols of :mod:`.pickle_machine` this module takes the storages that torch expects and
their lengths, the tensors with their names, and the counters at the top level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from . import pickle_machine
from .pickle_calls import array_of
from .pickle_symbols import Opaque, Tensor, TooLong

WALK_LIMIT = pickle_machine.LONGEST
"""Bytes of the longest pickle that is walked; of a longer one only the end is checked."""

_PARALLEL = ("tensor_model_parallel_size", "pipeline_model_parallel_size")
COUNTERS = frozenset(
    {
        "global_step",
        "global_steps",
        "iter_num",
        "iteration",
        "step",
        "step_count",
        "epoch",
        "dp_world_size",
        *_PARALLEL,
    }
)
_LONGEST_PATH = 300
_DEEPEST = 1000
_MOST_TENSORS = 150_000
_REBUILDS = "torch._utils._rebuild_tensor"
_HOLDERS = (Tensor, Opaque, dict, list, tuple)
_SILENT = frozenset({"_modules", "_parameters", "_buffers"})
"""Attributes of torch.nn.Module that are no part of the names of its weights."""


@dataclass(slots=True)
class Walk:
    """What one pickle contains."""

    end: int
    """Offset after its STOP."""
    root: object = None
    """The object that it builds, as :mod:`.pickle_symbols`."""
    storages: dict[str, int | None] = field(default_factory=dict)
    """Key -> bytes of each torch storage; ``None`` for a class that is not known."""
    counters: dict[str, float] = field(default_factory=dict)
    """Numbers of the outermost dict under the names of progress counters."""
    globals: tuple[str, ...] = ()
    """The names that unpickling would import."""


def walk(data: bytes, start: int = 0) -> Walk:
    """Walk the pickle at ``start``. Raises ValueError where it is cut off or none, TooLong."""
    found = pickle_machine.read(data, start)
    return Walk(found.end, found.root, found.storages, _counters(found.root), found.globals)


def _counters(root: object) -> dict[str, float]:
    if not isinstance(root, dict):
        return {}
    told = [root]
    args = root.get("args")  # Megatron: a Namespace of its command line
    if isinstance(args, Opaque) and isinstance(args.state, dict):
        told.append({key: args.state[key] for key in _PARALLEL if key in args.state})
    numbers = ((key, number(node[key])) for node in told for key in COUNTERS if key in node)
    return {key: value for key, value in numbers if value is not None}


def number(node: object) -> float | None:
    """A number that is not a boolean; ``None`` for anything else."""
    if isinstance(node, bool) or not isinstance(node, int | float):
        return None
    try:
        return float(node)
    except OverflowError:
        return None


def tensors(root: object) -> Iterator[tuple[str, Tensor | None]]:
    """(path, tensor) of all tensors and numpy arrays; ``None`` for one with an unknown place.

    Raises TooLong.
    """
    if isinstance(root, Tensor):
        yield "tensor", root
        return
    seen: set[int] = set()
    count = 0
    stack = [_children("", root)]
    while stack:
        for path, node in stack[-1]:
            if isinstance(node, Tensor):
                count += 1  # two bytes are enough to name a tensor once more
                if count > _MOST_TENSORS:
                    raise TooLong(f"more than {_MOST_TENSORS} tensors are not followed")
                yield path, node
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, Opaque):
                array = array_of(node)
                if array is not None:
                    yield path, array
                    continue
                if node.made_by.startswith(_REBUILDS):
                    yield path, None
            if len(stack) == _DEEPEST:
                raise TooLong(f"a pickle nested deeper than {_DEEPEST} is not followed")
            stack.append(_children(path, node))
            break
        else:
            stack.pop()


def _children(path: str, node: object) -> Iterator[tuple[str, object]]:
    """(path, child) of the direct children of a node that may hold tensors."""
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, _HOLDERS) and value:
                yield _joined(path, key), value
    elif isinstance(node, list | tuple):
        for place, value in enumerate(node):
            if isinstance(value, _HOLDERS) and value:
                yield _joined(path, place), value
    elif isinstance(node, Opaque):
        for inside in (node.args, node.state, node.items):
            if isinstance(inside, _HOLDERS) and inside:
                yield path, inside


def _joined(path: str, key: object) -> str:
    if key in _SILENT:
        return path
    name = str(key)[:_LONGEST_PATH] if isinstance(key, str | int) else "?"
    return f"{path}.{name}"[:_LONGEST_PATH] if path else name
