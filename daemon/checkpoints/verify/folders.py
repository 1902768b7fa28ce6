"""Is a checkpoint of many files whole: shards, ranks, and the parts that belong together?"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence

from ..formats import names, recognise, safetensors, torch_zip
from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.recognise import Format, Part
from . import described, layouts, roster, stale
from .layouts import dangling_latest as dangling_latest
from .verdicts import CheckFile, FileVerdict, FolderVerdict, check_named_file, first_gap, worst
from .verdicts import State as State

_NUMBERED = re.compile(r"^(?P<head>.*?(?:rank|rng_state|random_states)[-_]?)(?P<n>\d+)(?P<end>.*)$")
_LISTED = ("dcp", "deepspeed", "hf")
_WORLD = re.compile(r"world_size_(\d+)")


def check_folder(
    path: str, kind: Format, files: Sequence[Part], check_file: CheckFile
) -> FolderVerdict:
    """Check a checkpoint folder. OSError only where the folder itself cannot be read."""
    if not files:
        return FolderVerdict("incomplete", "a folder without files")
    around, mine = roster.beside(path), roster.by_pattern(files)
    found = [_leftovers(files), _numbering(files), roster.missing(mine, around)]
    if kind == "dcp":
        found.append(layouts.distributed(path, files))
    elif kind == "deepspeed":
        found.append(layouts.deepspeed(path, files, check_file))
    elif kind == "hf":
        found.append(layouts.trainer(path, files, around))
    else:
        found.append(layouts.megatron(path, files, check_file))
    if kind not in _LISTED:
        several = described.check(path, files)
        if several is not None:
            found.append(several)
        elif not any(names.is_weights(p.base) for p in files):
            found.append(FolderVerdict("unverifiable", "it has no file of a known format"))
    indexed: set[str] = set()
    for part in files:
        if part.base.endswith(names.INDEXES):
            folder = os.path.dirname(part.path)
            found.append(check_index(folder, part.base, check_file))
            indexed |= {f"{folder}/{s}" for s in _shards_of(part.path)}
    told = _each(files, indexed, check_file)
    found += [_of_part(name, verdict) for name, verdict in told.items()]
    found.append(stale.check(mine, told, around, check_file))
    return worst(found)


def _of_part(name: str, verdict: FileVerdict) -> FolderVerdict:
    """The verdict on one part. Only what is more than a companion tells the step: the random states of
    Accelerate have a count of their own."""
    if names.COMPANIONS.match(name.rpartition("/")[2]):
        return FolderVerdict(verdict.state, "" if verdict.state == "ok" else verdict.detail)
    return FolderVerdict(verdict.state, verdict.detail, verdict.progress)


def check_index(folder: str, index: str, check_file: CheckFile) -> FolderVerdict:
    """Check a sharded model: the index, and every shard that it names."""
    path = f"{folder}/{index}"
    kind = recognise.format_by_name(index)
    try:
        with BoundedFile(path) as peek:
            size = peek.size
            wanted = safetensors.shard_map(peek)
    except (torch_zip.Malformed, FileTooShort) as error:
        return FolderVerdict("corrupt", f"{index}: {error}", format=kind)
    except safetensors.TooLong as error:
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
    whole = worst(found)
    return FolderVerdict(whole.state, whole.detail, format=kind, bytes=size, files=files)


def _shard(path: str, promised: set[str], check_file: CheckFile) -> FolderVerdict:
    verdict = check_named_file(path, os.path.basename(path), check_file)
    if verdict.state == "ok" and verdict.tensors is not None:
        absent, more = promised - verdict.tensors, verdict.tensors - promised
        if absent:
            detail = f"does not hold {min(absent)}, which the index promises: a stale index"
            return FolderVerdict("corrupt", f"{os.path.basename(path)} {detail}")
        if more:
            detail = f"holds {min(more)}, which the index does not name: a stale index"
            return FolderVerdict("corrupt", f"{os.path.basename(path)} {detail}")
    return FolderVerdict(verdict.state, verdict.detail)


def _shards_of(index: str) -> Iterable[str]:
    try:
        with BoundedFile(index) as peek:
            return safetensors.shard_map(peek)
    except (OSError, torch_zip.Malformed, FileTooShort, safetensors.TooLong):
        return ()


def _each(
    files: Sequence[Part], indexed: set[str], check_file: CheckFile
) -> dict[str, FileVerdict]:
    """By name, the verdict on every file that holds state, except on the shards that were checked with
    their index. What it holds its first bytes say, not its name."""
    found = {}
    for part in files:
        if names.is_leftover(part.base) or part.path in indexed or part.base.endswith(".distcp"):
            continue
        if not roster.is_state(part.base) or part.base.endswith(names.INDEXES):
            continue
        if names.TENSORFLOW_DATA.match(part.base):
            continue  # its index says how long it is
        if part.base.endswith(".json"):
            verdict = _json(part)
        else:
            verdict = check_named_file(part.path, part.name, check_file)
        plain = verdict.state == "unverifiable" and verdict.format != "torch"
        if plain and not names.is_weights(part.base):
            continue  # some other .bin beside the model
        found[part.name] = verdict
    return found


_LONGEST_JSON = 1 << 20


def _json(part: Part) -> FileVerdict:
    """A JSON file that is empty, zeroes, or ends in the middle."""
    if part.base == "trainer_state.json":
        return FileVerdict("ok")  # it has a check of its own
    try:
        with BoundedFile(part.path) as peek:
            size = peek.size
            tail = peek.read_up_to(max(0, size - 64), 64).rstrip()
            if size <= _LONGEST_JSON:
                json.loads(peek.read_at(0, size))
    except (OSError, FileTooShort) as error:
        return FileVerdict("unverifiable", f"{part.name} cannot be read: {error}")
    except (ValueError, RecursionError):
        return FileVerdict("corrupt", f"{part.name} is no whole JSON: damaged or cut off")
    if not tail:
        return FileVerdict("corrupt", f"{part.name} is empty")
    return FileVerdict("ok")


def _leftovers(files: Sequence[Part]) -> FolderVerdict:
    """A temporary file counts only where the file that it was to be renamed to is missing."""
    there = {p.name for p in files}
    for part in files:
        if not names.is_leftover(part.base):
            continue
        stem = re.sub(r"\.(?:tmp|temp|partial|part|incomplete)\b.*$", "", part.name)
        if stem not in {part.name, *there}:
            return FolderVerdict("incomplete", f"{part.name} was never renamed: half-written")
    return FolderVerdict("ok")


def _numbering(files: Sequence[Part]) -> FolderVerdict:
    """Ranks and shards with numbers in their names must be complete."""
    ranks: dict[tuple[str, str], set[int]] = {}
    shards: dict[tuple[str, str, int], set[int]] = {}
    for part in files:
        piece = names.shard(part.name)
        counted = "zero_pp_rank" in part.name or layouts.MP_RANK.match(part.name)
        numbered = None if counted else _NUMBERED.match(part.name)
        if piece is not None:
            shards.setdefault((piece.stem, piece.end, piece.of), set()).add(piece.part)
        elif numbered is not None and not names.is_leftover(part.base):
            key = (numbered["head"], numbered["end"])
            ranks.setdefault(key, set()).add(int(numbered["n"]))
    for (stem, end, of), seen in shards.items():
        gaps = of - len(seen & set(range(1, of + 1))) if of <= recognise.MOST_FILES else of
        if gaps and not any(p.name == f"{stem}{end}.index.json" for p in files):
            return FolderVerdict("incomplete", f"{gaps} of {of} shards of {stem}{end} missing")
    for (head, end), seen in ranks.items():
        world = _WORLD.search(head)
        gap = first_gap(seen, int(world[1]) if world else 0)
        if gap is not None:
            return FolderVerdict("incomplete", f"{head}{gap}{end} is missing")
    return FolderVerdict("ok")
