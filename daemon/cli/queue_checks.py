"""What is looked at before a queue is started: programs, GPUs, whether its cells can be compared."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..queues.alike import warnings
from ..queues.cells import Cell
from ..queues.pins import named_files
from ..queues.plan import Settings
from ..system.clock import SystemClock
from ..system.errors import UsageError
from .named_command import check_command


def check_cells(cells: Sequence[Cell]) -> None:
    """Raises UsageError for a cell whose program, script or folder is not there.

    One that comes after something is not looked at: what it needs may be made until then.
    """
    here, seen = Path.cwd(), set[tuple[str, ...]]()
    try:
        for cell in cells:
            key = (cell.settings.workdir, *cell.words[:4])
            if cell.settings.after or key in seen:
                continue
            seen.add(key)
            try:
                os.chdir(cell.settings.workdir)
            except OSError as error:
                reason = f"{cell.settings.workdir}: {error.strerror}"
                raise UsageError(
                    f"{cell.name} cannot start: {reason}", "@workdir names it"
                ) from None
            try:
                check_command(cell.words)
            except UsageError as error:
                hint = f"{error.hint}; to start it all the same: --force".lstrip("; ")
                raise UsageError(f"{cell.name} cannot start: {error}", hint) from None
    finally:
        os.chdir(here)


def gpu_slots(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The GPUs that cells are given: those of CUDA_VISIBLE_DEVICES, else all that the driver names.

    Raises UsageError when there is none.
    """
    named = environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        slots = tuple(word.strip() for word in named.split(",") if word.strip())
        if not slots:
            raise UsageError(
                "CUDA_VISIBLE_DEVICES is empty: it hides all GPUs",
                "unset it, or --at-once N for cells that need no GPU",
            )
        return slots
    from ..box.audit import look_at_gpus  # imports much

    gpus, why = look_at_gpus(SystemClock())
    if not gpus:
        raise UsageError(
            f"no GPU is seen: {why}", "export CUDA_VISIBLE_DEVICES=0,1, or --at-once N without GPUs"
        )
    return tuple(str(gpu.index) for gpu in sorted(gpus, key=lambda gpu: gpu.index))


def notes_of(cells: Sequence[Cell], settings: Settings) -> list[str]:
    """Sentences about cells that cannot be compared, or would be in each other's way."""
    texts = {cell.name: _texts(cell) for cell in cells}
    at_once = settings.mode != "serial"
    said = warnings(cells, texts, at_once)
    by_gpus = [c.name for c in cells if c.settings.gpus != 1]
    if by_gpus and settings.mode != "each-gpu":
        said.append(f"@gpus ({by_gpus[0]}) says something only with --each-gpu")
    mine = {cell.name for cell in cells}
    for cell in cells:
        for gate in cell.settings.after:
            if gate.kind == "cell" and gate.what not in mine:
                said.append(
                    f"{cell.name} comes after {gate.what}, which is another box's: its end is not seen "
                    "here; exists:PATH on a shared folder is"
                )
    shared = [c.name for c in cells if not any(c.dir in word for word in _all_words(c))]
    if at_once and shared:
        said.append(f"{shared[0]} names no {{dir}}: if it saves, it saves where the other cells do")
    return said


def _all_words(cell: Cell) -> list[str]:
    return [*cell.words, *cell.settings.env.values()]


def _texts(cell: Cell) -> list[str]:
    """Texts of the configurations that a cell names."""
    found = []
    for _, _, path in named_files(cell.words, cell.settings.workdir):
        if not path.endswith((".py", ".sh", ".bash")):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found.append(Path(path).read_text(encoding="utf-8"))
    return found
