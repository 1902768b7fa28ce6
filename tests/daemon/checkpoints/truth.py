"""Random checkpoints by the real torch, and what torch itself says of them.

The oracle loads a file and walks all tensors in it with ``isfinite``; the policy of what is a
fault is written down here a second time, in the simplest words.
"""

from __future__ import annotations

import importlib
import random
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file

dcp: Any = importlib.import_module("torch.distributed.checkpoint")

FLOATS = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.complex64,
    torch.complex128,
]
OTHERS = [torch.int64, torch.int32, torch.uint8, torch.int8, torch.bool, torch.int16]
WEIGHTS = ["model", "state_dict", "optimizer", "ema", "module", "0", "net"]
REMEMBERED = ["callbacks", "lr_scheduler", "loops", "best_score", "scaler", "rng_state", "history"]
WITHOUT = {
    "legacy": FLOATS[4:8],  # it has no classes of storage for these
    "safetensors": [torch.complex128],
}
"""Types that a form cannot save."""


class Verdict(NamedTuple):
    """What is to be found in a file."""

    bad: frozenset[str]
    """Names of the tensors that are not finite."""
    tensors: int
    """Floating tensors with something in them."""


class Maker(random.Random):
    """Chance, and what it may choose from."""

    floats = FLOATS

    @classmethod
    def of(cls, form: str, seed: int) -> Maker:
        """The same for the same arguments."""
        made = cls()
        made.seed(f"{form} {seed}")
        made.floats = [dtype for dtype in FLOATS if dtype not in WITHOUT.get(form, ())]
        return made


def plain(rng: Maker, most: int = 400) -> torch.Tensor:
    """A tensor of some type and shape, with ordinary numbers and some zeroes."""
    shape = [rng.choice([1, 1, 2, 3, 5, 8, 17]) for _ in range(rng.randrange(4))]
    if rng.random() < 0.05:
        shape = [*shape, 0]
    if rng.random() < 0.1:
        shape = [rng.randrange(1, most)]
    dtype = rng.choice(rng.floats if rng.random() < 0.8 else OTHERS)
    if rng.random() < 0.1:
        return torch.zeros(shape).to(dtype)
    return (torch.rand(shape) * 4 + 1 if dtype in FLOATS else torch.ones(shape)).to(dtype)


def _room(base: torch.Tensor) -> int:
    """Elements of its storage from its first one on."""
    return int(base.untyped_storage().nbytes() // base.element_size() - base.storage_offset())


def view(rng: Maker, base: torch.Tensor) -> torch.Tensor:
    """Some way to look at the same numbers."""
    if base.dim() == 0 or base.numel() == 0:
        return base
    axis = rng.randrange(base.dim())
    length = base.shape[axis]
    start = rng.randrange(length)
    ways = [
        lambda: base.narrow(axis, start, rng.randrange(1, length - start + 1)),
        lambda: base.transpose(0, axis),
        lambda: base.flatten()[:: rng.randrange(1, 4)],
        lambda: base[(slice(None),) * axis + (slice(start, None, rng.randrange(1, 4)),)],
        lambda: base.select(axis, start),
        lambda: base.unsqueeze(0).expand(3, *base.shape),
        lambda: base.flatten().unfold(0, min(3, base.numel()), rng.randrange(1, 4)),
        lambda: base,
        lambda: base.as_strided((2, 2), (length, 0)) if _room(base) > length else base,
        lambda: base.view(-1) if base.is_contiguous() else base,
    ]
    return rng.choice(ways)()


def tensor(rng: Maker, seen: list[torch.Tensor]) -> torch.Tensor:
    """A new tensor, one seen before, or a view of either."""
    found = rng.choice(seen) if seen and rng.random() < 0.25 else plain(rng)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        found = view(rng, found)
    seen.append(found)
    if rng.random() < 0.2 and found.dtype in FLOATS[:4]:
        return torch.nn.Parameter(found.detach(), requires_grad=rng.random() < 0.5)
    return found


def name(rng: Maker) -> str:
    """Of a module, as models have them."""
    words = ["w", "bias", "layers.3.q", "mask", "attn.causal_mask", "exp_avg", "ü", "x" * 90]
    return rng.choice(words) + str(rng.randrange(1000))


def nested(rng: Maker, seen: list[torch.Tensor], depth: int) -> Any:
    """Containers in containers, numbers and texts among them."""
    kind = rng.randrange(8) if depth else rng.randrange(2, 4)
    if kind in (0, 1):
        return tensor(rng, seen)
    count = rng.randrange(1, 5)
    if kind in (2, 3):
        made: dict[Any, Any] = OrderedDict() if kind == 2 else {}
        for _ in range(count):
            made[name(rng) if rng.random() < 0.8 else rng.randrange(50)] = (
                nested(rng, seen, depth - 1) if depth else tensor(rng, seen)
            )
        return made
    if kind == 4:
        return [nested(rng, seen, depth - 1) for _ in range(count)]
    if kind == 5:
        return tuple(nested(rng, seen, depth - 1) for _ in range(count))
    return rng.choice([3, -1.5, float("nan"), float("inf"), "text", None, True, torch.Size([2])])


def network(rng: Maker) -> dict[str, Any]:
    """A model that has learnt for one step, and its optimizer."""
    inside = rng.randrange(2, 9)
    model = torch.nn.Sequential(
        torch.nn.Linear(inside, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 2)
    )
    kind = rng.choice([torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
    optimizer = kind(model.parameters(), lr=0.1)
    model(torch.randn(4, inside)).sum().backward()
    optimizer.step()
    found = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 7}
    if rng.random() < 0.3:
        found["module"] = model
    return found


def state(rng: Maker, form: str) -> dict[str, Any]:
    """What a trainer might save in that form."""
    seen: list[torch.Tensor] = []
    if form == "safetensors":
        return {name(rng): plain(rng).contiguous() for _ in range(rng.randrange(1, 9))}
    found: dict[str, Any] = network(rng) if rng.random() < 0.3 else {"step": 3}
    if form == "dcp":
        found.pop("module", None)
    found["args"] = {"lr": 0.1}
    for _ in range(rng.randrange(1, 4)):
        found[rng.choice(WEIGHTS)] = nested(rng, seen, 2)
    if rng.random() < 0.4:
        found[rng.choice(REMEMBERED)] = nested(rng, seen, 1)
    return found


def poison(rng: Maker, found: Any) -> None:
    """Put NaN or infinity into some numbers of some tensors."""
    there = [t for _, t in tensors_in("", found, set()) if t.dtype in FLOATS and t.numel()]
    for target in rng.sample(there, min(len(there), rng.choice([1, 1, 1, 2, 3]))):
        value = rng.choice([float("nan"), float("inf"), float("-inf")])
        if target.dtype in FLOATS[4:8]:  # most of them have no infinity
            value = float("nan")
        with torch.no_grad():
            flat = target.detach()
            at = tuple(rng.randrange(n) for n in flat.shape)
            if flat.is_complex() and rng.random() < 0.5:
                flat = torch.view_as_real(flat)
                at = (*at, rng.randrange(2))
            if rng.random() < 0.1 and all(
                s or n < 2 for s, n in zip(flat.stride(), flat.shape, strict=True)
            ):
                flat.copy_(torch.full_like(flat, value))
            else:
                flat[at] = value


def save(found: dict[str, Any], form: str, folder: Path) -> Path:
    """Write it with the real library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form == "safetensors":
            save_file(found, folder / "model.safetensors")
            return folder / "model.safetensors"
        if form == "dcp":
            path = folder / "step_3"
            files = random.Random(len(found)).random() < 0.5
            writer = dcp.FileSystemWriter(path, single_file_per_rank=files)
            dcp.save(found, storage_writer=writer)
            return path
        torch.save(found, folder / "a.pt", _use_new_zipfile_serialization=form == "zip")
        return folder / "a.pt"


def load(path: Path, form: str, saved: dict[str, Any]) -> dict[str, Any]:
    """Read it with the real library; of a distributed one what was saved."""
    if form == "safetensors":
        return dict(load_file(path))
    if form == "dcp":
        return saved
    loaded: dict[str, Any] = torch.load(path, weights_only=False, mmap=False)
    return loaded


def tensors_in(path: str, node: Any, seen: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """All tensors in whatever was loaded, with the path to each."""
    if isinstance(node, torch.Tensor):
        yield path, node
        return
    if id(node) in seen:
        return
    seen.add(id(node))
    inside: Any = ()
    if isinstance(node, dict):
        inside = node.items()
    elif isinstance(node, list | tuple):
        inside = enumerate(node)
    elif isinstance(node, torch.nn.Module):
        inside = node.state_dict().items()
    for key, value in inside:
        yield from tensors_in(f"{path}.{key}" if path else str(key), value, seen)


def judge(loaded: dict[str, Any], form: str) -> Verdict:
    """The policy: any NaN is a fault; infinity in a tensor of more than one element, but for masks."""
    bad, count = set(), 0
    nests = any(isinstance(value, dict) for value in loaded.values())
    for path, found in tensors_in("", loaded, set()):
        if found.dtype not in FLOATS or not found.numel():
            continue
        count += 1
        numbers = torch.view_as_real(found.detach()) if found.is_complex() else found.detach()
        numbers = numbers.to(torch.float64)
        nan, inf = bool(numbers.isnan().any()), numbers.isinf()
        top = path.partition(".")[0]
        memory = top in REMEMBERED and form != "safetensors"
        lone = top == path and found.numel() == 1 and nests and form in ("zip", "legacy")
        if memory or lone or not (nan or inf.any()):
            continue
        only = bool(((numbers == 0) | (numbers == float("-inf"))).all())
        mask = "mask" in path.lower() or only
        if nan or (found.numel() > 1 and not mask):
            bad.add(path)
    return Verdict(frozenset(bad), count)


def data_ranges(path: Path, form: str, loaded: dict[str, Any]) -> list[tuple[int, int]]:
    """(begin, end) of the bytes of tensors, told without any code of ours."""
    size = path.stat().st_size
    if form == "safetensors":
        begin = 8 + int.from_bytes(path.read_bytes()[:8], "little")
        return [(begin, size)]
    if form == "legacy":
        storages = {
            t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
            for _, t in tensors_in("", loaded, set())
        }
        return [(size - sum(n for n in storages.values() if n), size)] if storages else []
    found = []
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            at = info.header_offset
            names = int.from_bytes(data[at + 26 : at + 28], "little")
            extra = int.from_bytes(data[at + 28 : at + 30], "little")
            begin = at + 30 + names + extra
            if info.file_size:
                found.append((begin, begin + info.file_size))
    return found
