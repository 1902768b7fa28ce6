"""Read a job file, strictly: a word that is not known is an error with its line and the nearest known one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.load import Where, fill, table_of, toml
from ..system.errors import ConfigError
from .job import TABLES, Job, Main, Phase

KEYS = "every key and what it means: docs/launch.md"
_MOUNT = re.compile(r"[^:]+:/[^:]*(:ro)?")
_CLAIM = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?:/\S+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SUCCESS = re.compile(r"\s*[\w./-]+\s*(<|<=|>|>=)\s*[-+.\deE]+\s*")


def read(path: Path) -> Job:
    """The job of a file. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text in UTF-8: {error.reason}", KEYS) from error
    except OSError as error:
        hint = "a job without a file: middlewatch launch -- python train.py"
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint) from error
    return parse(text, str(path))


def parse(text: str, path: str) -> Job:
    """The job that TOML ``text`` describes. Raises ConfigError with the line it is about."""
    where = Where(path, text, KEYS)
    table = toml(text, path)
    for name in table:
        if name not in TABLES and name != "phase":
            raise where.unknown("table", name, (*TABLES, "phase"), name)
    parts: dict[str, Any] = {
        field: fill(cls, table_of(table, name, where), name, where, {})
        for name, (field, cls) in TABLES.items()
    }
    phases = table.get("phase", [])
    if not isinstance(phases, list) or not all(isinstance(one, dict) for one in phases):
        raise where.error("phase", "must be tables, like [[phase]]")
    parts["phases"] = tuple(
        fill(Phase, one, f"phase.{number}", where, {}) for number, one in enumerate(phases, 1)
    )
    job = Job(**parts, folder=str(Path(path).absolute().parent))
    _check(job, where)
    return job


def of_command(command: Sequence[str], folder: str) -> Job:
    """A job without a file: only its command."""
    return Job(main=Main(command=tuple(command)), folder=folder)


def _check(job: Job, where: Where) -> None:
    main = job.main
    if not main.command:
        raise where.error("job.command", "is missing", 'like command = ["python", "train.py"]')
    if main.again < 0:
        raise where.error("job.again", "must be 0 or more")
    if main.nodes < 1:
        raise where.error("job.nodes", "must be at least 1")
    if not 0 <= main.port < 65536:
        raise where.error("job.port", "is no port")
    if main.nodes > 1 and not main.port:
        raise where.error("job.port", "must be the same on all machines: a number, not 0")
    _match(main.mounts, _MOUNT, "job.mounts", "like HERE:/there or HERE:/there:ro", where)
    _match(main.pass_env, _NAME, "job.pass_env", "the name of a variable", where)
    _match(main.env, _NAME, "job.env", "the name of a variable", where)
    _match(job.kubernetes.claims, _CLAIM, "kubernetes.claims", "like claim:/path", where)
    both = set(main.env) & set(main.pass_env)
    if both:
        raise where.error("job.pass_env", f"names {min(both)}, which has a value under env")
    for word in main.env.values():
        if "\n" in word or "\0" in word:
            raise where.error("job.env", "has a value of more than one line")
    _check_phases(job.phases, where)


def _check_phases(phases: Sequence[Phase], where: Where) -> None:
    seen = set[str]()
    for number, phase in enumerate(phases, 1):
        dotted = f"phase.{number}"
        if not phase.name:
            raise where.error(f"{dotted}.name", "is missing", 'like name = "cooldown"')
        if phase.name in seen:
            raise where.error(f"{dotted}.name", f"is {phase.name!r}, as another phase's")
        if bool(phase.steps) == bool(phase.tokens):
            raise where.error(dotted, "takes steps or tokens, one of them", "like steps = 2000")
        if phase.success and not _SUCCESS.fullmatch(phase.success):
            raise where.error(
                f"{dotted}.success", f"cannot read {phase.success!r}", 'like "eval_loss < 2.9"'
            )
        seen.add(phase.name)


def _match(
    words: Sequence[str] | Mapping[str, str],
    form: re.Pattern[str],
    dotted: str,
    like: str,
    where: Where,
) -> None:
    for word in words:
        if not form.fullmatch(word):
            raise where.error(dotted, f"has {word!r}: it is {like}")


def changed(job: Job, **main: Any) -> Job:
    """The job with other values in its main table: those of the command line."""
    return dataclasses.replace(job, main=dataclasses.replace(job.main, **main))
