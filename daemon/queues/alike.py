"""Whether cells can be compared: batch and workers that differ between them. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from .cells import Cell

_BATCH = re.compile(
    r"(?:per_device_|micro_|global_|train_|per_device_train_)*batch(?:_?size)?(?:_per_gpu|_per_device)?|bs|bsz|mbs|gbs"
)
_WORKERS = re.compile(r"(?:dataloader_|data_)?(?:num_)?workers|(?:train_)?dataloader_num_workers")
_AUTO = re.compile(r"auto|-1|max", re.IGNORECASE)
_LINE = re.compile(
    r"""^\s*["']?([\w.-]+)["']?\s*[:=]\s*["']?([\w.+-]+)["']?\s*,?\s*(?:#.*)?$""", re.MULTILINE
)
_LAUNCHERS = ("torchrun", "deepspeed")


def settings_of(words: Sequence[str], texts: Iterable[str] = ()) -> dict[str, str]:
    """``batch`` and ``workers`` of a command, those that it says. ``texts``: of the files it names; what
    the command line says counts more."""
    found: dict[str, str] = {}
    for text in texts:
        for key, value in _LINE.findall(text):
            _put(found, key, value)
    for place, word in enumerate(words):
        key, equals, value = word.partition("=")
        if not equals and word.startswith("-") and place + 1 < len(words):
            value = words[place + 1]
        if value:
            _put(found, key, value)
    return found


def _put(found: dict[str, str], key: str, value: str) -> None:
    name = re.split(r"[./]", key.lstrip("-+").lower().replace("-", "_"))[-1]
    for what, form in (("batch", _BATCH), ("workers", _WORKERS)):
        if form.fullmatch(name):
            found[what] = value


def warnings(cells: Sequence[Cell], texts: Mapping[str, Sequence[str]], at_once: bool) -> list[str]:
    """Sentences about cells of one program that differ in batch or workers, or leave them to the box, and
    about ranks that would meet at one port. ``texts``: name of a cell -> texts of the files it names."""
    said: list[str] = []
    groups: dict[tuple[str, ...], list[tuple[str, dict[str, str]]]] = {}
    for cell in cells:
        key = _program(cell.words)
        groups.setdefault(key, []).append(
            (cell.name, settings_of(cell.words, texts.get(cell.name, ())))
        )
    for group in groups.values():
        for what in ("batch", "workers"):
            said += _differing(what, [(name, found.get(what, "")) for name, found in group])
    meeting = [c.name for c in cells if _meets(c.words)]
    if at_once and len(meeting) > 1:
        said.append(
            f"{meeting[0]} and {meeting[1]} may run at once and meet at the same port: "
            "add --standalone to torchrun, or another port for each"
        )
    return said


def _differing(what: str, values: Sequence[tuple[str, str]]) -> list[str]:
    said = []
    known: dict[str, str] = {}
    for name, value in values:
        known.setdefault(value, name)
    if len(known) > 1:
        told = ", ".join(
            f"{name} has {value or 'none of its own'}" for value, name in known.items()
        )
        said.append(f"{what} differs between cells of one program: {told}")
    for value, name in known.items():
        if value and _AUTO.fullmatch(value):
            said.append(
                f"{what} of {name} is {value!r}: it depends on the box, cells may differ in it"
            )
    return said


def _program(words: Sequence[str]) -> tuple[str, ...]:
    """The words up to the script: what cells of one comparison have in common."""
    for place, word in enumerate(words):
        if word.endswith((".py", ".sh")):
            return tuple(words[: place + 1])
        if word == "-m" and place + 1 < len(words):
            return tuple(words[: place + 2])
    return tuple(words[:1])


def _meets(words: Sequence[str]) -> bool:
    names = {os.path.basename(word) for word in words[:4]}
    free = ("--standalone", "--rdzv-endpoint", "--rdzv_endpoint", "--master-port", "--master_port")
    return bool(names & set(_LAUNCHERS)) and not any(w.partition("=")[0] in free for w in words)
