"""Saves that are whole files and still no good, and habits of saving that look like trouble."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..bench import Bench
from ..lab import DELIVERY_S, Fault, NotRun
from ..watchers import Middlewatch
from .hangs import torch_is_there

SOON_S = 60 + DELIVERY_S
FOLDER_S = 120 + DELIVERY_S
"""A folder has 90 s to be finished."""
STALE_S = 600.0
"""No run is late with a save before that."""
EVERY, PACE = 60, 0.08


def saving(
    mode: str = "none", manner: str = "numbered", *words: object, every: int = EVERY
) -> Callable[[Bench], None]:
    """The small model that is saved every few seconds, in this mode and manner."""
    return lambda bench: _save(bench, bench.root / "out", mode, manner, *words, every=every)


def _save(
    bench: Bench,
    out: Path,
    mode: str = "none",
    manner: str = "numbered",
    *words: object,
    every: int = EVERY,
) -> None:
    torch_is_there()
    at = every * bench.random.randint(3, 5) - bench.random.randint(0, every // 2)
    when = (
        "--at",
        at,
        "--save-every",
        every,
        "--pace",
        PACE,
        "--seed",
        bench.random.randint(1, 99),
    )
    command = bench.program("saver", mode, "--manner", manner, "--out", out, *when, *words)
    bench.train(*command, checkpoints=[out])


def in_memory(bench: Bench) -> None:
    """Saves go to memory that looks like a folder."""
    if bench.random.random() < 0.5:
        out = bench.tmpfs("size=64m", lasting=False)
    else:
        out = Path(tempfile.mkdtemp(prefix="faultlab-", dir="/dev/shm"))
        bench.undo(lambda: shutil.rmtree(out))
    _save(bench, out, "none", "numbered", "--stamp", "--keep", 3)
    path = bench.until(lambda: _newest(out, "step-*.pt", 1), 100, "a save")
    bench.inject(lambda: _age(path))


def flipped_quietly(bench: Bench) -> None:
    """A bit of the newest save changes, and its times of change stay as they were."""
    manner = bench.random.choice(["numbered", "infinite"])  # the other saves best.pt after it
    _save(bench, bench.root / "out", "none", manner, every=250)
    path = bench.until(lambda: _newest(bench.root / "out", "step-*.pt", 2), 100, "saves")
    bench.pause(2.0)
    bench.inject(lambda: _flip(bench, path))


def rotten(bench: Bench) -> None:
    """A bit of a file without checksums changes while nobody watches."""
    if not isinstance(bench.watcher, Middlewatch):
        raise NotRun("is about the digests that middlewatch keeps")
    ours = bench.watcher
    out = bench.root / "out"
    _save(bench, out, "none", "safe", every=400)
    path = bench.until(lambda: _newest(out, "*.safetensors", 2), 120, "saves")
    index = bench.state / "runs" / bench.subjects[0].log.parent.name / "checkpoints_index.json"
    bench.until(lambda: str(path) in _digested(index), 60, "a digest of it")
    os.kill(ours.box.ask("ping")["pid"], signal.SIGKILL)
    bench.inject(lambda: _flip(bench, path))
    ours.box.command("start")


def _digested(index: Path) -> list[str]:
    """Paths whose bytes were read to the end."""
    return [e["path"] for e in json.loads(index.read_text())["checkpoints"] if e.get("digest")]


def _newest(out: Path, pattern: str, count: int) -> Path | None:
    saves = sorted(out.glob(pattern), key=lambda p: p.stat().st_mtime_ns)
    return saves[-1] if len(saves) >= count else None


def _age(path: Path) -> None:
    """A save of eleven minutes ago: a younger one may be moved yet, and is not told."""
    then = path.stat().st_mtime - 660
    os.utime(path, (then, then))


def _flip(bench: Bench, path: Path) -> None:
    """One bit in the tensors, in place; size and time of the file stay."""
    found = path.stat()
    with path.open("r+b") as file:
        place = bench.random.randint(found.st_size // 3, found.st_size * 2 // 3)
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << bench.random.randint(0, 3)]))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def big(bench: Bench) -> None:
    """A large save every half a minute while samples are read from the same disk."""
    data = bench.root / "samples.bin"
    data.write_bytes(os.urandom(1 << 20) * 128)
    words = ("--size", 200 << 20, "--keep", 2, "--read", data)
    _save(bench, bench.root / "out", "none", "numbered", *words, every=300)


NOT_FINITE = Fault(
    "35a",
    "weights_nan_loss_fine",
    saving("nan_weights"),
    classes=frozenset({"ckpt_nonfinite"}),
    cause="not finite|NaN",
    remedy=r"keep|resume|finite|earlier|stop",
    deadline_s=SOON_S,
    after_s=25.0,
    weight=0.2,
)
SHRUNK = Fault(
    "36a",
    "save_without_optimizer",
    saving("no_optimizer"),
    classes=frozenset({"ckpt_shrunk"}),
    cause="optimizer|less|instead of",
    remedy=r"keep|before|save|disk|compare",
    least="warning",
    most="warning",
    deadline_s=SOON_S,
    weight=0.2,
)
QUIET = Fault(
    "C11",
    "infinite_on_purpose",
    saving("none", "infinite"),
    kind="control",
    length_s=90,
    weight=0.2,
)

FAULTS = (
    NOT_FINITE,
    replace(
        NOT_FINITE,
        number="35b",
        name="folder_nan_loss_fine",
        arrange=saving("nan_weights", "folder"),
    ),
    replace(
        NOT_FINITE,
        number="35c",
        name="loss_nan_and_saved",
        arrange=saving("nan_loss"),
        classes=frozenset({"loss_nan"}),
        also=frozenset({"grad_nonfinite"}),
        cause="nan",
        remedy=r"stop the run|resume|checkpoint",
        deadline_s=2 * PACE + DELIVERY_S,
        after_s=40.0,  # saves of NaN follow, and are no second page
    ),
    replace(
        NOT_FINITE,
        number="35d",
        name="nan_saved_in_place",
        arrange=saving("nan_weights", "in_place", every=120),
        after_s=60.0,  # always the same file: one trouble, told once
    ),
    SHRUNK,
    replace(
        SHRUNK,
        number="36b",
        name="folder_without_optimizer",
        arrange=saving("no_optimizer", "folder", every=300),  # eight saves last longer than 90 s
        begins_within_s=240.0,
        deadline_s=FOLDER_S,
    ),
    replace(
        SHRUNK,
        number="36c",
        name="shard_never_written",
        arrange=saving("lost_shard", "sharded"),
        classes=frozenset({"ckpt_incomplete"}),
        cause="not whole|missing|shard",
        remedy=r"previous|earlier|valid|good|verified|before",
        least="note",
        deadline_s=FOLDER_S,
    ),
    replace(
        SHRUNK,
        number="37",
        name="saves_in_memory",
        arrange=in_memory,
        classes=frozenset({"ckpt_not_durable"}),
        cause="memory|tmpfs",
        remedy=r"copy|mirror|lasting",
    ),
    replace(
        NOT_FINITE,
        number="38a",
        name="bit_flipped_time_kept",
        arrange=flipped_quietly,
        classes=frozenset({"ckpt_corrupt"}),
        cause="corrupt",
        remedy=r"previous|earlier|valid|good|verified|before",
    ),
    replace(
        NOT_FINITE,
        number="38b",
        name="rot_while_nobody_watched",
        arrange=rotten,
        classes=frozenset({"ckpt_corrupt"}),
        cause="bytes changed",
        remedy=r"previous|earlier|valid|good|verified|before",
        begins_within_s=200.0,
    ),
    replace(
        SHRUNK,
        number="39",
        name="saves_stop",
        arrange=saving("saves_stop"),
        classes=frozenset({"checkpoint_stale"}),
        cause="no checkpoint for",
        remedy=r"save|disk|log|look|stack",
        deadline_s=STALE_S + DELIVERY_S,
    ),
    QUIET,
    replace(
        QUIET, number="C12", name="saved_in_place", arrange=saving("none", "in_place", every=65)
    ),
    replace(QUIET, number="C13", name="adapters_beside_full", arrange=saving("none", "adapters")),
    replace(QUIET, number="C14", name="narrow_types_and_views", arrange=saving("none", "halves")),
    replace(QUIET, number="C15", name="data_and_caches_beside", arrange=saving("none", "beside")),
    replace(
        QUIET,
        number="C16",
        name="deleted_while_read",
        arrange=saving("none", "numbered", "--size", 40 << 20, "--keep", 1, every=75),
        weight=0.4,
    ),
    replace(
        QUIET,
        number="C17",
        name="folders_deleted_while_read",
        arrange=saving("none", "sharded", "--size", 20 << 20, "--keep", 1, every=75),
        weight=0.4,
    ),
    replace(
        QUIET, number="C18", name="big_saves_while_reading", arrange=big, length_s=120, weight=0.6
    ),
)
