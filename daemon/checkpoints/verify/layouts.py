"""Which files belong to a checkpoint folder of a known trainer, and which is written last."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence

from ..formats import dcp as dcp
from ..formats import distcp, names, pickle_walk, recognise, torch_zip
from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.pickle_symbols import TooLong
from ..formats.recognise import MOST_FILES, Part
from . import roster, unsafe_globals
from .verdicts import (
    CheckFile,
    FolderVerdict,
    check_named_file,
    combined_progress,
    first_gap,
    worst,
)

_ZERO = re.compile(
    r"^(?P<head>.*?)zero_pp_rank_(?P<dp>\d+)_mp_rank_(?P<mp>\d+)_(?P<what>optim|model)_states\.pt$"
)
TRACKER = "latest_checkpointed_iteration.txt"
"""Megatron: the iteration of the newest whole checkpoint, or ``release``."""
MP_RANK = re.compile(r"^mp_rank_(\d{2}(?:_\d{3}){0,2})/")
_GRID = ("tensor_model_parallel_size", "pipeline_model_parallel_size")
_DISTCP = re.compile(r"^__(?P<rank>\d+)_(?P<n>\d+)\.distcp$")
_HOLDS_MODEL = (".distcp", "model_states.pt", ".bin")


def _holds_model(part: Part) -> bool:
    """Whether a part of a trainer's folder can be the model: it holds tensors, and its name is not that of
    another part."""
    if names.COMPANIONS.match(part.base) or part.base.endswith((".pdopt", "optim_states.pt")):
        return False
    return names.is_weights(part.base) or part.base.endswith(_HOLDS_MODEL)


def trainer(path: str, files: Sequence[Part], around: roster.Beside) -> FolderVerdict:
    """A folder of transformers.Trainer, which writes ``trainer_state.json`` last.

    The Trainer names the folder by the step in that file. A script that saves a model alone may use such names
    too: then no save beside this one has that file either.
    """
    state = next((p for p in files if p.name == "trainer_state.json"), None)
    if not any(map(_holds_model, files)):
        # The model is written before the state: with neither, what is cut off is so by the same end.
        return FolderVerdict("incomplete", "no model weights in it", ended=state is not None)
    if state is None:
        others = (*around.before, *([around.after] if around.after else ()))
        if others and not any(
            _of_trainer(save.files) for save in (*others, roster.Save(path, tuple(files)))
        ):
            return FolderVerdict("ok", "no optimizer state in it")
        return _never_ended("trainer_state.json is missing")
    if not state.bytes:
        return _never_ended("trainer_state.json is empty")
    try:
        progress = recognise.trainer_state(state.path)
    except (torch_zip.Malformed, FileTooShort) as error:
        return FolderVerdict("corrupt", str(error))
    except OSError as error:
        return FolderVerdict("unverifiable", f"trainer_state.json: {error.strerror}")
    named = names.step_of(os.path.basename(path.rstrip("/")))
    if named is not None and progress.step is not None and progress.step != named:
        return FolderVerdict("corrupt", f"trainer_state.json is of step {progress.step:g}: stale")
    optimizer = any(p.base.startswith(("optimizer", "zero_pp_rank", "bf16_zero")) for p in files)
    inside = any("/" in p.name for p in files)
    detail = "" if optimizer or inside else "no optimizer state in it"
    return FolderVerdict("ok", detail, progress)


def _of_trainer(files: Sequence[Part]) -> bool:
    return any(part.name in names.OF_TRAINER for part in files)


def _never_ended(missing: str) -> FolderVerdict:
    return FolderVerdict("incomplete", f"{missing}: the save never ended", ended=False)


def distributed(path: str, files: Sequence[Part]) -> FolderVerdict:
    """A folder of torch.distributed.checkpoint: ``.metadata`` is written last and names all files.

    Two trainers write one more file after it: Lightning ``meta.pt`` in a folder named ``*.ckpt``,
    and Megatron ``metadata.json`` where it has written ``common.pt``.
    """
    found = []
    there = {p.base for p in files}
    last = "meta.pt" if path.rstrip("/").endswith(".ckpt") else ""
    last = "metadata.json" if "common.pt" in there else last
    if last and last not in there:
        found.append(_never_ended(f"{last} is missing"))
    for metadata in (p for p in files if p.base == ".metadata"):
        prefix = metadata.name[: -len(".metadata")]
        inside = {
            p.name[len(prefix) :]: p.bytes
            for p in files
            if p.name.startswith(prefix) and p.base.endswith(".distcp")
        }
        found.append(_against_metadata(metadata, inside))
    if ".metadata" not in there:
        ranks = {int(m["rank"]) for p in files if (m := _DISTCP.match(p.base))}
        return _never_ended(f".metadata is missing, {len(ranks)} ranks have written")
    return worst(found)


def _against_metadata(metadata: Part, inside: dict[str, int]) -> FolderVerdict:
    try:
        with BoundedFile(metadata.path) as peek:
            data = peek.read_up_to(0, pickle_walk.WALK_LIMIT)
            whole = len(data) == peek.size
            ends = peek.size > 0 and peek.read_at(peek.size - 1, 1) == b"."
    except (OSError, FileTooShort) as error:
        return FolderVerdict("unverifiable", f".metadata cannot be read: {error}")
    if not any(data):
        return FolderVerdict(
            "corrupt", ".metadata is empty" if not data else ".metadata is all zeroes"
        )
    if not ends:
        return FolderVerdict("corrupt", ".metadata is cut off: no STOP at its end")
    root = None
    try:
        if whole:
            walk = pickle_walk.walk(data)
            if danger := unsafe_globals.remark(walk.globals):
                return FolderVerdict("unverifiable", f".metadata: {danger}")
            root = walk.root
    except ValueError as error:
        return FolderVerdict("corrupt", f".metadata: {error}")
    except TooLong as error:
        return FolderVerdict("unverifiable", f".metadata: {error}")
    if whole and not dcp.is_metadata(root):
        return FolderVerdict("unverifiable", ".metadata is not what torch.distributed writes")
    named: dict[str, list[dcp.Piece]] = {}
    for piece in dcp.pieces(root):
        named.setdefault(piece.file, []).append(piece)
    wanted = {file: max(p.offset + p.bytes for p in found) for file, found in named.items()}
    sizes = _sizes(metadata, inside, wanted)
    if sizes.state != "ok":
        return sizes
    said = dcp.contradiction(root)
    if said:
        return FolderVerdict("corrupt", said)
    return _rows(os.path.dirname(metadata.path), named, sizes)


def _sizes(metadata: Part, inside: dict[str, int], wanted: dict[str, int]) -> FolderVerdict:
    """Every file that ``.metadata`` names is there and long enough."""
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
    if not wanted and (gap := first_gap(ranks)) is not None:
        return FolderVerdict("incomplete", f"rank {gap} has no file, but higher ranks have one")
    return FolderVerdict("ok", "" if wanted else ".metadata is too long: sizes not compared")


def _rows(folder: str, named: dict[str, list[dcp.Piece]], so_far: FolderVerdict) -> FolderVerdict:
    """Check that every item begins where it should, and read the counters among them."""
    told = []
    for file, found in sorted(named.items()):
        try:
            with BoundedFile(f"{folder}/{file}") as peek:
                distcp.check_beginnings(peek, found)
                told.append(distcp.progress_of(peek, found))
        except (torch_zip.Malformed, FileTooShort) as error:
            return FolderVerdict("corrupt", f"{file}: {error}")
        except OSError as error:
            return FolderVerdict("unverifiable", f"{file} cannot be read: {error.strerror}")
        except TooLong:
            continue
    return FolderVerdict("ok", so_far.detail, combined_progress(told))


def _lost_tail(path: str) -> int:
    """Bytes of zeroes at the end, where a .distcp file never has any: it consists of archives."""
    try:
        with BoundedFile(path) as peek:
            return peek.lost_tail()
    except (OSError, FileTooShort):
        return 0


def deepspeed(path: str, files: Sequence[Part], check_file: CheckFile) -> FolderVerdict:
    """A tag folder of DeepSpeed: a model state per model rank, a ZeRO state per data rank of it."""
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
    inside = check_named_file(model.path, model.name, check_file)
    counters = inside.counters or {}
    expected = int(counters.get("dp_world_size", 0))
    for what, by_model in ranks.items():
        most = max([expected, *(max(seen) + 1 for seen in by_model.values())])
        for rank, seen in sorted(by_model.items()):
            if len(seen) < most:
                absent = next(n for n in range(len(seen) + 1) if n not in seen)
                detail = f"{what} states of rank {absent} of {most} missing (model rank {rank})"
                return FolderVerdict("incomplete", detail)
    if set(ranks.get("optim", ())) and (gap := first_gap(set(ranks["optim"]))) is not None:
        return FolderVerdict("incomplete", f"no optimizer states of model rank {gap}")
    folder = os.path.dirname(path.rstrip("/"))
    return FolderVerdict("ok", dangling_latest(folder), inside.progress)


def megatron(path: str, files: Sequence[Part], check_file: CheckFile) -> FolderVerdict:
    """Folders of Megatron, one per model rank: ``mp_rank_<tensor>[_<pipeline>[_<expert>]]``.

    The tracker file beside the checkpoint is written last, when all ranks have finished.
    """
    ranks: dict[tuple[int, ...], Part | None] = {}
    for part in files:
        found = MP_RANK.match(part.name)
        if found:
            rank = tuple(int(n) for n in found[1].split("_"))
            model = part if part.base == "model_optim_rng.pt" else None
            ranks[rank] = ranks.get(rank) or model
    models = [model for model in ranks.values() if model is not None]
    if not ranks:
        return FolderVerdict("ok")
    counters: dict[str, float] = {}
    if models:
        counters = check_named_file(models[0].path, models[0].name, check_file).counters or {}
    least = [counters.get(name, 1) for name in _GRID]
    counts = [
        max([least[n] if n < 2 else 1, *(r[n] + 1 for r in ranks if n < len(r))])
        for n in range(max(map(len, ranks)))
    ]
    for wanted in itertools.product(*(range(min(int(n), MOST_FILES)) for n in counts)):
        if ranks.get(wanted) is None:
            missing = "_".join(f"{n:0{2 if at == 0 else 3}}" for at, n in enumerate(wanted))
            what = "/model_optim_rng.pt" if wanted in ranks else ""
            return FolderVerdict("incomplete", f"mp_rank_{missing}{what} is missing")
    return FolderVerdict("ok", _behind(path))


def _behind(path: str) -> str:
    """A remark on a checkpoint of Megatron that its tracker file does not name yet."""
    folder, name = os.path.split(path.rstrip("/"))
    at, step = _tracked(folder), names.step_of(name)
    if at is None or step is None or not at.isdigit() or float(at) >= step:
        return ""
    return f"{TRACKER} still names {at}: the save may not have finished"


def _tracked(folder: str) -> str | None:
    try:
        with BoundedFile(f"{folder}/{TRACKER}") as peek:
            return peek.read_up_to(0, 64).decode("utf-8", "replace").strip()
    except (OSError, FileTooShort):
        return None


def dangling_latest(folder: str) -> str:
    """What is wrong with the file that names the newest checkpoint of a folder; empty: nothing.

    That is ``latest`` of DeepSpeed, and the tracker file of Megatron.
    """
    try:
        with BoundedFile(f"{folder}/latest") as peek:
            tag = peek.read_up_to(0, 256).decode("utf-8", "replace").strip()
    except (OSError, FileTooShort):
        return _dangling_tracker(folder)
    if not tag.strip("\0"):
        return "latest is empty: it names no checkpoint"
    if "/" in tag or "\0" in tag or not os.path.isdir(f"{folder}/{tag}"):
        return f"latest names {tag[:80]}, which is not there"
    return ""


def _dangling_tracker(folder: str) -> str:
    at = _tracked(folder)
    if at is None:
        return ""
    if not at.strip("\0"):
        return f"{TRACKER} is empty: it names no checkpoint"
    name = f"iter_{int(at):07}" if at.isdigit() and len(at) < 16 else at
    if "/" in name or "\0" in name or not os.path.isdir(f"{folder}/{name}"):
        return f"{TRACKER} names {name[:80]}, which is not there"
    return ""
