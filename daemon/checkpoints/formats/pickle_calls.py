"""The calls in a pickle whose result is known without making them.

They build the tensors of torch (torch/_utils.py), arrays and numbers of numpy, and dicts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from .dtypes import ITEM_BYTES, of_numpy
from .pickle_symbols import Blob, Global, Opaque, Runs, Storage, Tensor

Args = tuple[object, ...]
_RECONSTRUCT = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
_SCALARS = {
    "float64": "<d",
    "float32": "<f",
    "float16": "<e",
    "int64": "<q",
    "int32": "<i",
    "int16": "<h",
    "int8": "<b",
    "uint64": "<Q",
    "uint32": "<I",
    "uint16": "<H",
    "uint8": "<B",
    "bool": "<?",
}


def array_of(made: Opaque) -> Tensor | None:
    """The numpy array that an :class:`Opaque` stands for; ``None`` for anything else.

    A pickle creates an empty array, and then sets shape, type and bytes as its state.
    """
    state = made.state
    if made.made_by not in _RECONSTRUCT or not isinstance(state, tuple) or len(state) != 5:
        return None
    _, shape, dtype, _, raw = state
    return _array(raw, dtype, shape)


def number_at(dtype: str | None, raw: bytes) -> float | None:
    """The one number in ``raw``, little-endian; ``None`` where the type does not fit."""
    if dtype == "bfloat16" and len(raw) == 2:
        dtype, raw = "float32", b"\0\0" + raw
    form = _SCALARS.get(dtype or "")
    if form is None or struct.calcsize(form) != len(raw):
        return None
    return float(struct.unpack(form, raw)[0])


def _tensor(args: Args, data: bytes) -> object:
    """args: (storage, offset, size, stride, …); offset, size and stride count elements."""
    if len(args) < 4 or not isinstance(args[0], Storage):
        return None
    return _view(args[0], args[0].dtype, args[1], args[2], args[3])


def _typed_tensor(args: Args, data: bytes) -> object:
    """args as above for an untyped storage, with the type as the seventh: so float8 is saved."""
    if len(args) < 7 or not isinstance(args[0], Storage):
        return None
    return _view(args[0], _dtype(args[6]), args[1], args[2], args[3])


def _view(
    storage: Storage, dtype: str | None, offset: object, size: object, stride: object
) -> Tensor | None:
    item = ITEM_BYTES.get(dtype or "", 0)
    sizes, strides = _sizes(size), _sizes(stride)
    if sizes is None or strides is None or not isinstance(offset, int) or offset < 0:
        return None
    if len(sizes) != len(strides):
        return None
    count, last, in_order = 1, 0, True
    for length, step in zip(reversed(sizes), reversed(strides), strict=True):
        in_order &= step == count or length == 1
        count = min(count * length, 1 << 62)
        last += (length - 1) * step
    start = storage.shift + offset * item
    if not count:
        return Tensor(storage.key, dtype, start)
    if in_order:
        return Tensor(storage.key, dtype, start, count * item, count == 1)
    runs = _runs(sizes, strides, item)
    return Tensor(storage.key, dtype, start, (last + 1) * item, count == 1, runs, count * item)


def _runs(sizes: tuple[int, ...], strides: tuple[int, ...], item: int) -> Runs | None:
    """The contiguous parts of a view; ``None`` where it has no gaps."""
    length = 1
    outer: list[tuple[int, int]] = []
    for step, count in sorted(zip(strides, sizes, strict=True)):
        if count == 1 or step == 0:
            continue
        if step <= length and not outer:
            length += (count - 1) * step
        else:
            outer.append((count, step * item))
    return Runs(length * item, tuple(reversed(outer))) if outer else None


def _sizes(value: object) -> tuple[int, ...] | None:
    """A tuple of counts, or ``None`` for anything else."""
    if not isinstance(value, tuple | list):
        return None
    counts = tuple(n for n in value if isinstance(n, int) and n >= 0)
    return counts if len(counts) == len(value) else None


def _dtype(node: object) -> str | None:
    """The type that a global of torch, or a dtype of numpy, stands for."""
    if isinstance(node, Global):
        return node.name.removeprefix("torch.")
    if isinstance(node, Opaque) and node.made_by == "numpy.dtype" and isinstance(node.args, tuple):
        order = node.state[1] if isinstance(node.state, tuple) and len(node.state) > 1 else ""
        code = node.args[0] if node.args else None
        if isinstance(code, str) and isinstance(order, str):
            return of_numpy(order + code if order == ">" else code)
    return None


def _array(raw: object, dtype_node: object, shape: object) -> Tensor | None:
    dtype, sizes = _dtype(dtype_node), _sizes(shape)
    if not isinstance(raw, Blob) or dtype is None or sizes is None:
        return None
    scalar = all(n == 1 for n in sizes)
    return Tensor(raw, dtype, 0, raw.bytes, scalar and raw.bytes == ITEM_BYTES[dtype])


def _from_buffer(args: Args, data: bytes) -> object:
    return _array(args[0], args[1], args[2]) if len(args) >= 3 else None


def _scalar(args: Args, data: bytes) -> object:
    if len(args) != 2:
        return None
    raw = args[1]
    if isinstance(raw, Blob) and raw.bytes <= 16:
        return number_at(_dtype(args[0]), data[raw.start : raw.start + raw.bytes])
    if isinstance(raw, Opaque) and raw.made_by == "_codecs.encode" and isinstance(raw.args, tuple):
        text = raw.args[0] if raw.args else None
        if isinstance(text, str) and len(text) <= 16:
            return number_at(_dtype(args[0]), text.encode("latin-1", "replace"))
    return None


def _first(args: Args, data: bytes) -> object:
    """A parameter stands for its tensor, a torch.Size for its tuple, a set for its list."""
    return args[0] if args and isinstance(args[0], Tensor | tuple | list | Blob) else None


def _mapping(args: Args, data: bytes) -> object:
    """An OrderedDict, empty or from pairs."""
    made: dict[object, object] = {}
    pairs = args[0] if args and isinstance(args[0], list) else ()
    for pair in pairs:
        if isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str | int):
            made[pair[0]] = pair[1]
    return made


def _subclass(args: Args, data: bytes) -> object:
    """torch._tensor._rebuild_from_type_v2(function, class, args, state)."""
    if len(args) != 4 or not isinstance(args[0], Global) or not isinstance(args[2], tuple):
        return None
    known = CALLS.get(args[0].name)
    inner = known(args[2], data) if known is not None and known is not _subclass else None
    if isinstance(inner, Tensor) and not args[3]:
        return inner
    kind = args[1].name if isinstance(args[1], Global) else "something"
    return Opaque(kind, args[2] if inner is None else (inner,), args[3])


def _old_object(args: Args, data: bytes) -> object:
    """copyreg._reconstructor(class, base, state): objects of protocols 0 and 1."""
    if not args or not isinstance(args[0], Global):
        return None
    return Opaque(args[0].name, args[2:])


Known = Callable[[Args, bytes], object]
CALLS: dict[str, Known] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _typed_tensor,
    "torch._utils._rebuild_parameter": _first,
    "torch._utils._rebuild_parameter_with_state": _first,
    "torch._tensor._rebuild_from_type_v2": _subclass,
    "torch.Size": _first,
    "collections.OrderedDict": _mapping,
    "collections.defaultdict": lambda args, data: {},
    "builtins.set": _first,
    "builtins.frozenset": _first,
    "builtins.bytearray": _first,
    "__builtin__.set": _first,
    "__builtin__.bytearray": _first,
    "copyreg._reconstructor": _old_object,
    "copy_reg._reconstructor": _old_object,
    "numpy.core.numeric._frombuffer": _from_buffer,
    "numpy._core.numeric._frombuffer": _from_buffer,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy._core.multiarray.scalar": _scalar,
}
"""Name -> function of the arguments and the pickle's data; its result is ``None`` if not known."""
