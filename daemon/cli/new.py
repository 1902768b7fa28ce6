"""``new``: a training project for a framework, written into a folder."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from ..box.audit import look_at_gpus
from ..jobs import read
from ..new.precision import of_cards
from ..new.project import Project, files
from ..new.sizes import SIZES, Size
from ..system.clock import SystemClock
from ..system.errors import Refused, UsageError
from . import console


def new(args: argparse.Namespace) -> int:
    """Write the project; exit 4 when a file of that name is there already."""
    folder = Path(args.folder).absolute()
    name = args.size or ("tiny" if args.toy else "small")
    size = _size(args, name)
    gpus, _ = look_at_gpus(SystemClock())
    kinds = sorted({f"{g.name} ({g.capability or 'capability not known'})" for g in gpus})
    asked = Project(
        framework=args.framework,
        folder=str(folder),
        size_name=name,
        size=size,
        precision=args.precision or of_cards([gpu.capability for gpu in gpus]),
        data=_data(args.data, size),
        out=str(Path(args.out).absolute() if args.out else folder / "out"),
        checkout=_checkout(args),
        card=console.clean(", ".join(kinds)),
        gpus=min(1, len(gpus)) if args.gpus is None else args.gpus,
        seed=args.seed,
    )
    try:
        made = files(asked)
    except ValueError as error:
        raise UsageError(f"a path {error}", "choose one of printable characters") from error
    read.parse(made["job.toml"], str(folder / "job.toml"))
    _write(folder, made, args.force)
    _tell(args, asked, list(made))
    return 0


def _size(args: argparse.Namespace, name: str) -> Size:
    for option, least in (("steps", 1), ("gpus", 0), ("seed", 0)):
        value = getattr(args, option)
        if value is not None and value < least:
            raise UsageError(f"--{option} {value} is too small", f"it takes {least} or more")
    size = SIZES[name]
    return size if args.steps is None else size.of_steps(args.steps)


def _data(given: str | None, size: Size) -> str:
    """The absolute path of the text; empty for the toy. Raises UsageError."""
    if given is None:
        return ""
    path = Path(given).absolute()
    try:
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "--data names a text") from error
    least = 10 * (size.context + 2)  # a tenth is for validation, and holds a window
    if length < least:
        raise UsageError(
            f"{path} has {length} bytes, too few for windows of {size.context}",
            f"it takes {least} or more; a model with shorter windows: --size tiny",
        )
    return str(path)


def _checkout(args: argparse.Namespace) -> str:
    if args.checkout is None:
        return ""
    if args.framework != "nanogpt":
        raise UsageError("--checkout is for nanogpt", "the other frameworks are installed by pip")
    return str(Path(args.checkout).absolute())


def _write(folder: Path, made: dict[str, str], force: bool) -> None:
    """All files, or none where one is there already. Raises Refused and UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [name for name in made if os.path.lexists(folder / name)]
        if there and not force:
            raise Refused(
                f"{folder} has {', '.join(there)} already", "to replace what is there: --force"
            )
        for name, text in made.items():
            path, aside = folder / name, folder / f".{name}.{os.getpid()}.new"
            aside.write_text(text, encoding="utf-8")
            if text.startswith("#!"):
                aside.chmod(aside.stat().st_mode | 0o111)
            aside.replace(path)
    except OSError as error:
        raise UsageError(
            f"cannot write into {folder}: {error.strerror}", "name a folder of your own"
        ) from error


def _tell(args: argparse.Namespace, asked: Project, names: list[str]) -> None:
    job = shlex.join(["middlewatch", "launch", os.path.join(args.folder, "job.toml")])  # noqa: PTH118
    if args.json:
        console.as_json(
            {
                "framework": asked.framework,
                "folder": asked.folder,
                "files": names,
                "out": asked.out,
                "size": asked.size_name,
                "steps": asked.size.steps,
                "precision": asked.precision,
                "card": asked.card,
                "gpus": asked.gpus,
                "launch": job,
            }
        )
        return
    console.say(f"{asked.folder}: {', '.join(names)}")
    why = asked.card or "no card is seen here; the training asks for it when it starts"
    console.say(f"  precision    {asked.precision} ({why})")
    console.say(f"  saves        {asked.out}")
    if asked.framework == "nanogpt" and not asked.checkout:
        console.say("  first        nanoGPT has to be checked out: train.sh says how")
    console.say(f"  start it     {job}")
    console.say("  go on        the same command again: it loads its newest save by itself")
