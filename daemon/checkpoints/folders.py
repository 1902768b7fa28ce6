"""Is a checkpoint of many files whole: shards, ranks, and the parts that belong together?"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from . import archives, formats, names, pickles, tensors
from .formats import UNTOLD, Format, Part, Progress
from .peek import Cut, Peek

State = Literal["ok", "corrupt", "incomplete", "unverifiable"]


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What is known about one file."""

    state: State
    detail: str = ""
    format: Format = "unknown"
    progress: Progress = UNTOLD
    tensors: frozenset[str] | None = None
    """Names of the tensors, where the format lists them in clear."""
    counters: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class FolderVerdict:
    """What is known about the files of a checkpoint together."""

    state: State
    detail: str = ""
    progress: Progress = UNTOLD
    format: Format = "unknown"
    bytes: int = 0
    files: int = 0


CheckFile = Callable[[str], FileVerdict]
_WORST: tuple[State, ...] = ("corrupt", "incomplete", "unverifiable", "ok")

_NUMBERED = re.compile(r"^(?P<head>.*?(?:rank|rng_state|random_states)[-_]?)(?P<n>\d+)(?P<end>.*)$")
_WORLD = re.compile(r"world_size_(\d+)")
_ZERO = re.compile(
    r"^(?P<head>.*?)zero_pp_rank_(?P<dp>\d+)_mp_rank_(?P<mp>\d+)_(?P<what>optim|model)_states\.pt$"
)
_DISTCP = re.compile(r"^__(?P<rank>\d+)_(?P<n>\d+)\.distcp$")
_HOLDS_MODEL = re.compile(
    r"^(?:model|adapter_model|pytorch_model).*\.(?:safetensors|bin|pt)$"
    r"|\.distcp$|model_states\.pt$"
)


def check_folder(
    path: str, kind: Format, files: Sequence[Part], check_file: CheckFile
) -> FolderVerdict:
    """Check a checkpoint folder. OSError only where the folder itself cannot be read."""
    if not files:
        return FolderVerdict("incomplete", "a folder without files")
    found = [_leftovers(files), _numbering(files)]
    if kind == "dcp":
        found.append(_distributed(files))
    elif kind == "deepspeed":
        found.append(_deepspeed(path, files, check_file))
    elif kind == "hf":
        found.append(_trainer(files))
    elif not any(names.is_weights(p.base) for p in files):
        found.append(FolderVerdict("unverifiable", "no file of a format we know in this folder"))
    indexed: set[str] = set()
    for part in files:
        if part.base.endswith(names.INDEXES):
            folder = os.path.dirname(part.path)
            found.append(check_index(folder, part.base, check_file))
            indexed |= {f"{folder}/{s}" for s in _shards_of(part.path)}
    found += _each(files, indexed, check_file)
    return _worst(found)


def check_index(folder: str, index: str, check_file: CheckFile) -> FolderVerdict:
    """Check a sharded model: the index, and every shard that it names."""
    path = f"{folder}/{index}"
    kind = formats.format_by_name(index)
    try:
        with Peek(path) as peek:
            size = peek.size
            wanted = tensors.shard_map(peek)
    except (archives.Broken, Cut) as error:
        return FolderVerdict("corrupt", f"{index}: {error}", format=kind)
    except tensors.TooLong as error:
        return FolderVerdict("unverifiable", f"{index}: {error}", format=kind)
    found: list[FolderVerdict] = []
    missing = []
    files = 1
    for shard, promised in sorted(wanted.items()):
        try:
            size += os.stat(f"{folder}/{shard}").st_size
            files += 1
        except OSError:
            missing.append(shard)
            continue
        found.append(_shard(f"{folder}/{shard}", promised, check_file))
    if missing:
        listed = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
        detail = f"{index}: {len(missing)} of {len(wanted)} shards missing: {listed}"
        found.append(FolderVerdict("incomplete", detail))
    worst = _worst(found)
    return FolderVerdict(worst.state, worst.detail, format=kind, bytes=size, files=files)


def _shard(path: str, promised: set[str], check_file: CheckFile) -> FolderVerdict:
    verdict = _file(path, os.path.basename(path), check_file)
    if verdict.state == "ok" and verdict.tensors is not None:
        absent = promised - verdict.tensors
        if absent:
            detail = f"does not hold {min(absent)}, which the index promises: a stale index"
            return FolderVerdict("corrupt", f"{os.path.basename(path)} {detail}")
    return FolderVerdict(verdict.state, verdict.detail)


def _shards_of(index: str) -> Iterable[str]:
    try:
        with Peek(index) as peek:
            return tensors.shard_map(peek)
    except (OSError, archives.Broken, Cut, tensors.TooLong):
        return ()


def _file(path: str, shown: str, check_file: CheckFile) -> FileVerdict:
    """Check one file; its name is put in front of what is wrong."""
    try:
        verdict = check_file(path)
    except OSError as error:
        return FileVerdict("unverifiable", f"{shown} cannot be read: {error.strerror}")
    if verdict.state == "ok":
        return verdict
    return FileVerdict(verdict.state, f"{shown}: {verdict.detail}", verdict.format)


def _each(files: Sequence[Part], indexed: set[str], check_file: CheckFile) -> list[FolderVerdict]:
    """Every file with tensors, apart from the shards that their index has covered."""
    found = []
    for part in files:
        if names.is_leftover(part.base) or part.path in indexed or part.base.endswith(".distcp"):
            continue
        if not names.is_weights(part.base) and not part.base.endswith(".bin"):
            continue
        verdict = _file(part.path, part.name, check_file)
        plain = verdict.state == "unverifiable" and verdict.format != "torch"
        if plain and not names.is_weights(part.base):
            continue  # some other .bin beside the model
        found.append(FolderVerdict(verdict.state, verdict.detail, verdict.progress))
    return found


def _leftovers(files: Sequence[Part]) -> FolderVerdict:
    """A temporary file inside matters only where the file it was to become is missing."""
    there = {p.name for p in files}
    for part in files:
        stem = re.sub(r"\.(?:tmp|temp|partial|part|incomplete)\b.*$", "", part.name)
        if names.is_leftover(part.base) and stem != part.name and stem not in there:
            return FolderVerdict("incomplete", f"{part.name} was never renamed: half-written")
    return FolderVerdict("ok")


def _numbering(files: Sequence[Part]) -> FolderVerdict:
    """Ranks and shards that are counted in names must be there without a gap."""
    ranks: dict[tuple[str, str], set[int]] = {}
    shards: dict[tuple[str, str, int], set[int]] = {}
    for part in files:
        piece = names.shard(part.name)
        numbered = None if "zero_pp_rank" in part.name else _NUMBERED.match(part.name)
        if piece is not None:
            shards.setdefault((piece.stem, piece.end, piece.of), set()).add(piece.part)
        elif numbered is not None and not names.is_leftover(part.base):
            key = (numbered["head"], numbered["end"])
            ranks.setdefault(key, set()).add(int(numbered["n"]))
    for (stem, end, of), seen in shards.items():
        gaps = of - len(seen & set(range(1, of + 1))) if of <= formats.MOST_FILES else of
        if gaps and not any(p.name == f"{stem}{end}.index.json" for p in files):
            return FolderVerdict("incomplete", f"{gaps} of {of} shards of {stem}{end} missing")
    for (head, end), seen in ranks.items():
        world = _WORLD.search(head)
        gap = _first_gap(seen, int(world[1]) if world else 0)
        if gap is not None:
            return FolderVerdict("incomplete", f"{head}{gap}{end} is missing")
    return FolderVerdict("ok")


def _first_gap(numbers: set[int], of: int = 0) -> int | None:
    """The smallest rank missing below the largest one, or of ``of``; ranks count from 0."""
    count = max(len(numbers), min(of, formats.MOST_FILES))
    return next((n for n in range(count) if n not in numbers), None)


def _trainer(files: Sequence[Part]) -> FolderVerdict:
    """What transformers.Trainer writes; ``trainer_state.json`` comes last."""
    state = next((p for p in files if p.name == "trainer_state.json"), None)
    if not any(_HOLDS_MODEL.search(p.base) for p in files):
        return FolderVerdict("incomplete", "no model weights in it")
    if state is None:
        return FolderVerdict("incomplete", "trainer_state.json is missing: the save never ended")
    try:
        progress = formats.trainer_state(state.path)
    except (archives.Broken, Cut) as error:
        return FolderVerdict("corrupt", str(error))
    except OSError as error:
        return FolderVerdict("unverifiable", f"trainer_state.json: {error.strerror}")
    optimizer = any(p.base.startswith(("optimizer", "zero_pp_rank", "bf16_zero")) for p in files)
    inside = any("/" in p.name for p in files)
    detail = "" if optimizer or inside else "no optimizer state in it"
    return FolderVerdict("ok", detail, progress)


def _distributed(files: Sequence[Part]) -> FolderVerdict:
    """torch.distributed.checkpoint: ``.metadata`` is written last and names all the others."""
    found = []
    for metadata in (p for p in files if p.base == ".metadata"):
        prefix = metadata.name[: -len(".metadata")]
        inside = {
            p.name[len(prefix) :]: p.bytes
            for p in files
            if p.name.startswith(prefix) and p.base.endswith(".distcp")
        }
        found.append(_against_metadata(metadata, inside))
    if not found:
        ranks = {int(m["rank"]) for p in files if (m := _DISTCP.match(p.base))}
        detail = f".metadata is missing: the save never ended ({len(ranks)} ranks have written)"
        return FolderVerdict("incomplete", detail)
    return _worst(found)


def _against_metadata(metadata: Part, inside: dict[str, int]) -> FolderVerdict:
    try:
        with Peek(metadata.path) as peek:
            data = peek.upto(0, pickles.WALK_LIMIT)
            whole = len(data) == peek.size
            ends = peek.size > 0 and peek.at(peek.size - 1, 1) == b"."
    except (OSError, Cut) as error:
        return FolderVerdict("unverifiable", f".metadata cannot be read: {error}")
    if not any(data):
        return FolderVerdict(
            "corrupt", ".metadata is empty" if not data else ".metadata is all zeroes"
        )
    if not ends:
        return FolderVerdict("corrupt", ".metadata is cut off: no STOP at its end")
    wanted: dict[str, int] = {}
    if whole:
        try:
            wanted = pickles.walk(data).spans
        except ValueError as error:
            return FolderVerdict("corrupt", f".metadata: {error}")
    missing = sorted(wanted.keys() - inside.keys())
    if missing:
        detail = f"{len(missing)} of {len(wanted)} files missing: {', '.join(missing[:3])}"
        return FolderVerdict("incomplete", detail)
    folder = os.path.dirname(metadata.path)
    for name, size in sorted(inside.items()):
        if size >= wanted.get(name, 1) and (lost := _lost_tail(f"{folder}/{name}")):
            return FolderVerdict("corrupt", f"{name}: the last {lost} bytes are zeroes")
        if size < wanted.get(name, 1):
            detail = f"{name} is cut off: {size} of {wanted.get(name, 1)} bytes"
            return FolderVerdict("corrupt", detail)
    if not inside:
        return FolderVerdict("incomplete", "no .distcp file beside .metadata")
    ranks = {int(m["rank"]) for name in inside if (m := _DISTCP.match(name))}
    if not wanted and (gap := _first_gap(ranks)) is not None:
        return FolderVerdict("incomplete", f"no file of rank {gap}, later ranks are there")
    return FolderVerdict("ok", "" if wanted else ".metadata too long to compare sizes")


def _lost_tail(path: str) -> int:
    """A .distcp file is a row of archives: it never ends with zeroes."""
    try:
        with Peek(path) as peek:
            return peek.lost_tail()
    except (OSError, Cut):
        return 0


def _deepspeed(path: str, files: Sequence[Part], check_file: CheckFile) -> FolderVerdict:
    """A tag folder: one model state per model rank, one ZeRO state per data rank of each."""
    ranks: dict[str, dict[int, set[int]]] = {}
    model = None
    for part in files:
        zero = _ZERO.match(part.base)
        if zero:
            ranks.setdefault(zero["what"], {}).setdefault(int(zero["mp"]), set()).add(
                int(zero["dp"])
            )
        if part.base.endswith("model_states.pt"):
            model = model or part
    if model is None:
        return FolderVerdict("incomplete", "no model states in it")
    counters = _file(model.path, model.name, check_file).counters or {}
    expected = int(counters.get("dp_world_size", 0))
    for what, by_model in ranks.items():
        most = max([expected, *(max(seen) + 1 for seen in by_model.values())])
        for rank, seen in sorted(by_model.items()):
            if len(seen) < most:
                absent = next(n for n in range(len(seen) + 1) if n not in seen)
                detail = f"{what} states of rank {absent} of {most} missing (model rank {rank})"
                return FolderVerdict("incomplete", detail)
    if set(ranks.get("optim", ())) and (gap := _first_gap(set(ranks["optim"]))) is not None:
        return FolderVerdict("incomplete", f"no optimizer states of model rank {gap}")
    step = counters.get("global_steps", counters.get("global_step"))
    return FolderVerdict("ok", dangling_latest(os.path.dirname(path.rstrip("/"))), Progress(step))


def dangling_latest(folder: str) -> str:
    """What is wrong with the ``latest`` file of DeepSpeed in a folder; empty when nothing."""
    try:
        with Peek(f"{folder}/latest") as peek:
            tag = peek.upto(0, 256).decode("utf-8", "replace").strip()
    except (OSError, Cut):
        return ""
    if not tag.strip("\0"):
        return "latest is empty: it names no checkpoint"
    if "/" in tag or "\0" in tag or not os.path.isdir(f"{folder}/{tag}"):
        return f"latest names {tag[:80]}, which is not there"
    return ""


def _worst(found: Sequence[FolderVerdict]) -> FolderVerdict:
    """The worst state, its detail, and the progress that any part knows."""
    if not found:
        return FolderVerdict("ok")
    worst = min(found, key=lambda v: _WORST.index(v.state))
    detail = worst.detail or next(
        (v.detail for v in found if v.state == worst.state and v.detail), ""
    )
    told = next((v.progress for v in found if v.progress != UNTOLD), UNTOLD)
    return FolderVerdict(worst.state, detail, told)
