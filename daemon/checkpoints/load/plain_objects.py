"""What is plain data for us beyond torch's own list: numbers of numpy, and the settings of trainers.

Trainers save the state of their random generators (an array of numpy) and their arguments (a dataclass with
enumerations) beside the weights. torch's documentation allows numpy's own functions for this. We do not: called with
other arguments, ``numpy.ndarray`` takes bytes for pointers and crashes, or worse (seen with numpy 2). In their
place stand classes of ours that take what a pickle of numbers says, compare sizes, and refuse the rest. A
class of settings is replaced by one that ignores what it is called with: the library is not imported and none of its
code runs.

Part of the child, so of Python 3.8 and later.
"""

from __future__ import annotations

import contextlib
import enum
import pickle
import re
from collections.abc import Iterable, Iterator
from typing import Any

_KIND = re.compile(r"[<>|=]?(?:([?bB])|([biufc])(1|2|4|8|16))")
"""Kinds of numbers of numpy, as a pickle names them. Objects, texts, times and records are not plain."""
_KIND_STATE = (3, None, None, None, -1, -1, 0)
"""What a pickle says of such a kind, without its order of bytes."""
_LONGEST_SIDE = 1 << 40
_SETTINGS = re.compile(
    r"(?:transformers|accelerate|trl|peft|sentence_transformers)(?:\.\w+)+\."
    r"(?:\w*TrainingArguments|\w+Config|\w+Strategy|\w+Type|OptimizerNames|PartialState|ParallelMode"
    r"|DebugOption|FSDPOption|ShardedDDPOption|BatchSamplers|MultiDatasetBatchSamplers)"
)
"""Classes of settings: dataclasses and enumerations of trainers."""


class StandIn:
    """In the place of an object of settings. Takes everything and does nothing."""

    def __new__(cls, *_given: Any, **_named: Any) -> StandIn:
        """A new one, whatever it is called with."""
        return object.__new__(cls)

    def __init__(self, *_given: Any, **_named: Any) -> None:
        pass

    def __setstate__(self, _state: Any) -> None:
        pass

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class Kind:
    """In the place of ``numpy.dtype``: a kind of numbers."""

    def __init__(self, name: Any, *_align_and_copy: Any) -> None:
        found = _KIND.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            raise pickle.UnpicklingError(f"an array of {str(name)[:20]!r} is not plain")
        self.bytes = int(found.group(3) or 1)

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or (*state[:1], *state[2:]) != _KIND_STATE:
            raise pickle.UnpicklingError("a kind of numbers with fields is not plain")


class Array:
    """In the place of ``numpy.ndarray``: as many bytes as its shape says."""

    def __init__(self, *_given: Any, **_named: Any) -> None:
        raise pickle.UnpicklingError("an array that is made of other than its bytes is not plain")

    def __setstate__(self, state: Any) -> None:
        _version, shape, kind, _order, data = state
        if (
            not isinstance(kind, Kind)
            or not isinstance(data, bytes)
            or not isinstance(shape, tuple)
        ):
            raise pickle.UnpicklingError(
                "an array that is made of other than its bytes is not plain"
            )
        count = 1
        for side in shape:
            if not isinstance(side, int) or not 0 <= side <= _LONGEST_SIDE:
                raise ValueError("an array with an impossible shape")
            count *= side
        if count * kind.bytes != len(data):
            raise ValueError(f"an array of shape {shape} with {len(data)} bytes")


def _reconstruct(of: Any, _shape: Any, _kind: Any) -> Array:
    """In the place of numpy's: an array before its state is set."""
    if of is not Array:
        raise pickle.UnpicklingError("an array of another class is not plain")
    return Array.__new__(Array)


def _scalar(kind: Any, data: Any) -> float:
    """In the place of numpy's: one number."""
    if not isinstance(kind, Kind) or not isinstance(data, bytes) or len(data) != kind.bytes:
        raise pickle.UnpicklingError("a number that is made of other than its bytes is not plain")
    return 0.0


def member(of: Any, name: Any) -> Any:
    """In the place of ``getattr``, with which Python 3.11.0 to 3.11.3 (that of Debian 12) writes the members of
    enumerations: nothing else is got."""
    if isinstance(of, type) and isinstance(name, str):
        if issubclass(of, StandIn):
            return of()
        if issubclass(of, enum.Enum) and name in of.__members__:
            return of[name]
    raise pickle.UnpicklingError("an attribute of other than an enumeration is not plain")


MEMBER = "builtins.getattr"
_OURS: dict[str, Any] = {
    MEMBER: member,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy._core.multiarray.scalar": _scalar,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.ndarray": Array,
    "numpy.dtype": Kind,
}


def plain(names: Iterable[str]) -> set[str]:
    """Those of the names that :func:`accepted` lets torch load."""
    return {name for name in names if name in _OURS or _SETTINGS.fullmatch(name)}


@contextlib.contextmanager
def accepted(torch: Any, names: Iterable[str]) -> Iterator[None]:
    """While the block runs, torch's ``weights_only`` takes these names, of :func:`plain`.

    Raises LookupError where this torch, or its numpy, cannot be told so.
    """
    wanted = sorted(names)
    if not wanted:
        yield
        return
    allow = getattr(torch.serialization, "safe_globals", None)
    if allow is None:
        raise LookupError("torch before 2.5 takes no more names")
    given = [one for name in wanted for one in _objects(name)]
    try:
        context = allow(given)
        context.__enter__()
    except (TypeError, AttributeError) as error:
        raise LookupError(str(error)) from None
    try:
        from torch import _weights_only_unpickler as unpickler

        try:
            unpickler._get_user_allowed_globals()  # noqa: SLF001 (before 2.6 it takes no pairs)
        except (TypeError, AttributeError) as error:
            raise LookupError(str(error)) from None
        yield
    finally:
        context.__exit__(None, None, None)


def _objects(name: str) -> list[Any]:
    if name in _OURS:
        if name.startswith("numpy._core"):
            _check_numpy()
        return [(_OURS[name], name)]
    return [(type(name.rpartition(".")[2], (StandIn,), {}), name)]


def _check_numpy() -> None:
    """Raise LookupError where this numpy does not have the names of numpy 2."""
    try:
        import numpy as np
    except ImportError as error:
        raise LookupError(f"numpy: {error}") from None
    if not hasattr(np, "_core"):
        raise LookupError(f"it was saved with numpy 2, and here is numpy {np.__version__}")
