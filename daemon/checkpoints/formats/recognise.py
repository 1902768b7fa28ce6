"""What a path really is, judged by the first bytes of a file and by the files of a folder."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from . import names, safetensors, torch_zip
from .bounded_file import BoundedFile, FileTooShort

Format = Literal["torch", "safetensors", "dcp", "deepspeed", "hf", "lightning", "unknown"]
"""The format names of ``checkpoints_index.json``."""
FORMATS: tuple[str, ...] = get_args(Format)

Origin = Literal["checkpoint", "state", "name", ""]
"""Where a step comes from: the file itself, a state file beside it, its name; empty: unknown."""

FileKind = Literal[
    "zip", "legacy", "pickle", "safetensors", "hdf5", "index", "empty", "zeroes", "other"
]
"""The kind of a file by its first bytes."""

MOST_FILES = 20_000
"""Limit on the files of one checkpoint; the largest sharded saves have some thousands."""
DEEPEST = 3
"""Levels of folders below a checkpoint folder that belong to it."""

# torch/serialization.py: MAGIC_NUMBER = 0x1950A86A20F9469CFC6C, pickled with protocol 2.
LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"

_STATE_LIMIT = 4 << 20
"""Bytes of a ``trainer_state.json`` that is parsed; of a longer one both ends are searched."""
_STATE_ENDS = 64 << 10
_STATE_NUMBER = re.compile(
    rb'"(\w+)": (NaN|-?Infinity|-?\d{1,18}(?:\.\d+)?(?:[eE][-+]?\d+)?)\b',
)


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a checkpoint folder; ``name`` is relative, with slashes."""

    name: str
    path: str
    stat: os.stat_result
    base: str
    """The name without its folders."""

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.stat.st_size


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the training at a save. ``None`` where it is not known."""

    step: float | None = None
    epoch: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    origin: Origin = ""
    """Where the step comes from; empty when it is not known."""


UNTOLD = Progress()
"""Nothing is known about the progress."""


def file_kind(peek: BoundedFile, path: str) -> FileKind:
    """The kind of a file by its first bytes; only an index is recognised by its name."""
    if peek.size == 0:
        return "empty"
    head = peek.read_up_to(0, 16)
    if head.startswith(torch_zip.LOCAL_MAGIC):
        return "zip"
    if head.startswith(LEGACY_MAGIC):
        return "legacy"
    if head.startswith(HDF5_MAGIC):
        return "hdf5"
    if path.endswith(names.INDEXES):
        return "index"
    if safetensors.looks_like(head):
        return "safetensors"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "pickle"
    if not any(head) and peek.all_zero():
        return "zeroes"
    return "other"


def format_by_name(name: str) -> Format:
    """The format as the name suggests it, for files that are not read yet or are damaged."""
    if name.endswith((".safetensors", ".safetensors.index.json")):
        return "safetensors"
    if name.endswith((*names.WEIGHTS, ".bin", ".bin.index.json")):
        return "torch"
    return "unknown"


def recognise(path: str) -> Format:
    """The format of a file or folder, without checking it. OSError where it cannot be read."""
    name = os.path.basename(path.rstrip("/"))
    if os.path.isdir(path):
        return folder_format(names.folder_kind(name, *listing(path)), list(parts(path)))
    with BoundedFile(path) as peek:
        kind = file_kind(peek, path)
        if kind == "zip":
            try:
                archive = torch_zip.read(peek)
            except (torch_zip.Malformed, FileTooShort):
                return format_by_name(name)
            if archive.pickle is None:
                return "unknown"
            return "lightning" if archive.lightning else "torch"
        if kind == "legacy" or (kind == "pickle" and format_by_name(name) == "torch"):
            return "torch"
        if kind == "safetensors":
            return "safetensors"
    return "unknown" if kind in ("other", "pickle") else format_by_name(name)


def folder_format(kind: names.Kind | None, files: list[Part]) -> Format:
    """The format of a checkpoint folder from its kind and its files."""
    if kind in ("dcp", "deepspeed", "hf"):
        return kind
    if any(p.base == ".metadata" or p.base.endswith(".distcp") for p in files):
        return "dcp"
    if any(p.base.endswith("_model_states.pt") for p in files) and any(
        "mp_rank_" in p.base for p in files
    ):
        return "deepspeed"
    if any(p.base.endswith(".safetensors") for p in files):
        return "safetensors"
    return "torch" if any(names.is_weights(p.base) for p in files) else "unknown"


def listing(folder: str) -> tuple[set[str], set[str]]:
    """Names of the files and of the folders right inside a folder."""
    files: set[str] = set()
    folders: set[str] = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            (folders if entry.is_dir() else files).add(entry.name)
            if len(files) + len(folders) >= MOST_FILES:
                break
    return files, folders


def parts(
    folder: str, deepest: int = DEEPEST, leads_far: Callable[[str], bool] | None = None
) -> Iterator[Part]:
    """The files of a checkpoint folder and of the folders inside, at most 20,000.

    ``deepest``: levels of folders inside. A link for which ``leads_far`` is true counts as itself
    and not as the file that it leads to. Raises OSError where a folder cannot be read.
    """
    todo = [("", folder, 0)]
    left = MOST_FILES
    while todo and left > 0:
        prefix, here, depth = todo.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        if depth < deepest:
                            todo.append((f"{prefix}{entry.name}/", entry.path, depth + 1))
                        continue
                    alone = leads_far is not None and entry.is_symlink() and leads_far(entry.path)
                    part = _part(prefix + entry.name, entry, follow=not alone)
                    if part is not None:
                        yield part
        except (FileNotFoundError, NotADirectoryError):
            continue  # deleted meanwhile


def _part(name: str, entry: os.DirEntry[str], *, follow: bool) -> Part | None:
    try:
        return Part(name, entry.path, entry.stat(follow_symlinks=follow), entry.name)
    except OSError:
        return None  # a dangling link, or deleted


def progress_in_name(path: str) -> Progress:
    """Step, epoch and metrics from the name of a checkpoint, else of the folders around it."""
    pieces = path.rstrip("/").rsplit("/", 3)[-3:]
    own = pieces[-1]
    step, epoch = names.step_of(own), names.epoch_of(own)
    if step is None and epoch is None:
        # step-00001000/lit_model.pth, epoch=1-step=100.ckpt/checkpoint: only folders named after
        # steps or epochs count, because "run-2024" or "llama-7" says nothing about them.
        for around in reversed(pieces[:-1]):
            if "step" in around or "iter" in around or "epoch" in around:
                step, epoch = names.step_of(around), names.epoch_of(around)
                break
    return Progress(step, epoch, names.metrics_of(own), "" if step is None else "name")


def trainer_state(path: str) -> Progress:
    """Progress in the ``trainer_state.json`` of a Hugging Face Trainer.

    Raises OSError, and Malformed or FileTooShort when the file is not whole.
    """
    with BoundedFile(path) as peek:
        if peek.size > _STATE_LIMIT:
            return _long_state(peek)
        state = safetensors.parse_object(peek.read_at(0, peek.size), "trainer_state.json")
    history = state.get("log_history")
    metrics: dict[str, float] = {}
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict):
            metrics.update(_metrics(entry))
    best = _number(state.get("best_metric"))
    if best is not None:
        metrics["best_metric"] = best
    return _told(_number(state.get("global_step")), _number(state.get("epoch")), metrics)


def _long_state(peek: BoundedFile) -> Progress:
    """Progress from both ends: keys are sorted, counters come first, the newest entry last."""
    head = peek.read_up_to(0, _STATE_ENDS)
    tail = peek.read_at(peek.size - _STATE_ENDS, _STATE_ENDS)
    if not tail.rstrip().endswith(b"\n}"):
        raise torch_zip.Malformed("trainer_state.json is cut off")
    first = {key: float(digits) for key, digits in reversed(_STATE_NUMBER.findall(head))}
    newest = {key.decode(): float(digits) for key, digits in _STATE_NUMBER.findall(tail)}
    return _told(first.get(b"global_step"), first.get(b"epoch"), _metrics(newest))


def _told(step: float | None, epoch: float | None, metrics: dict[str, float]) -> Progress:
    return Progress(step, epoch, metrics, "" if step is None else "state")


_LOGGED = frozenset({"loss", "eval_loss", "eval_accuracy", "learning_rate", "grad_norm"})
"""Keys of the Trainer that have a name of ours. ``train_loss`` is not among them: the Trainer
writes it at the end of the training, as the mean over all of it."""
_TOOK = ("_runtime", "_per_second", "_time")


def _metrics(entry: Mapping[str, object]) -> dict[str, float]:
    from middlewatch.sentinels.kit.metric_keys import canonical, fold  # rarely needed

    found = {}
    for key, told in entry.items():
        name = canonical(fold(key)) if key in _LOGGED else key if _is_rating(key) else None
        value = _number(told) if name else None
        if name is not None and value is not None:
            found[name] = value
    return found


def _is_rating(key: str) -> bool:
    """Whether it is a metric of an evaluation (``eval_f1``), and not the time that it took."""
    return key.startswith("eval_") and len(key) <= 80 and not key.endswith(_TOOK)


def _number(value: object) -> float | None:
    """A JSON number, NaN included; else ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def family(path: str, leads_far: Callable[[str], bool] | None = None) -> Iterator[Part]:
    """The files beside a checkpoint file that belong to it, see :func:`.names.in_family`. Raises nothing.

    A folder is listed once for all of its checkpoints, as long as it is as it was: listing it for each of
    ten thousand would cost their number squared.
    """
    folder, _, name = path.rpartition("/")
    folder = folder or "/"
    try:
        there = _families(folder, os.stat(folder).st_mtime_ns)
    except OSError:
        return
    for base in there.get(names.family_of(name) or "", ()):
        member = f"{folder.rstrip('/')}/{base}"
        try:
            near = leads_far is None or not (os.path.islink(member) and leads_far(member))
            yield Part(base, member, os.stat(member, follow_symlinks=near), base)
        except OSError:
            continue  # deleted meanwhile


@functools.lru_cache(maxsize=16)
def _families(folder: str, _mtime_ns: int) -> Mapping[str, Sequence[str]]:
    """Checkpoint -> its other files, by :func:`.names.member_of`."""
    found: dict[str, list[str]] = {}
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, MOST_FILES):
            for key in names.member_of(entry.name):
                found.setdefault(key, []).append(entry.name)
    return {key: sorted(several) for key, several in found.items()}
