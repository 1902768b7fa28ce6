"""Why a rehearsal failed, in one line: by the exception that ended it, else by its last lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 300
"""Characters of the line."""
_SHAPE = re.compile(
    r"mat1 and mat2|size mismatch|sizes? of tensor|must match the (?:size|existing size)|"
    r"shape[s]? (?:cannot|of|mismatch|'|\[)|invalid for input of size|same (?:size|shape|dtype)|"
    r"expected (?:\d+D|input|target|tensor|scalar type)|input batch_size|dimension(?:s)? (?:out of|"
    r"specified|must)|not broadcastable|stack expects each tensor|inconsistent tensor|"
    r"running_mean should contain|given groups=|number of (?:dims|dimensions)",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"out of bounds|index out of range in self|num_samples should be|dataset|collate|"
    r"default_collate|caught in DataLoader worker|empty (?:data|batch)|label[s]?\b.*(?:range|range)",
    re.IGNORECASE,
)
_GPU = re.compile(
    r"No CUDA GPUs are available|not compiled with CUDA|Found no NVIDIA driver|"
    r"CUDA (?:is not available|driver|error)|no (?:GPU|kernel image)|requires? (?:a )?(?:CUDA|GPU)|"
    r"invalid device ordinal|torch\.cuda|No HIP GPUs",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|Cannot allocate memory", re.IGNORECASE
)
_NETWORK = re.compile(
    r"Max retries exceeded|Name or service not known|Temporary failure in name resolution|"
    r"Connection (?:refused|reset|timed out)|couldn't connect to|offline mode|getaddrinfo",
    re.IGNORECASE,
)
_NO_REPOSITORY = re.compile(
    r"is not a local folder and is not a valid model identifier|Repo(?:sitory)? ?Not ?Found"
)
_CONFIG = re.compile(
    r"unexpected keyword argument|missing \d+ required|is not a valid|invalid (?:value|choice|literal)|"
    r"unknown config|unrecognized|(?:keys|arguments) are not used|required(?: argument| key)?|must be (?:one of|set|positive)|"
    r"not supported (?:for|between)|config",
    re.IGNORECASE,
)
_IMPORT = ("ImportError", "ModuleNotFoundError")
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_PATH = (
    "FileNotFoundError",
    "NotADirectoryError",
    "IsADirectoryError",
    "PermissionError",
    "FileExistsError",
)
_DATA_TYPES = (
    "UnicodeDecodeError",
    "JSONDecodeError",
    "EOFError",
    "DatasetNotFoundError",
    "DataFilesNotFoundError",
    "DatasetGenerationError",
    "BadZipFile",
    "ParserError",
)
_CONFIG_TYPES = (
    "ArgumentError",
    "ValidationError",
    "ConfigAttributeError",
    "ConfigKeyError",
    "MissingMandatoryValue",
    "YAMLError",
    "ScannerError",
    "TOMLDecodeError",
    "MisconfigurationException",
    "HydraException",
    "ConfigCompositionException",
)
_DATA_FRAMES = ("/torch/utils/data/", "/datasets/", "/webdataset/", "/streaming/")
_LIBRARIES = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python3|^<frozen|/lib/python3\.\d+/")
_ARGUMENTS = re.compile(r"^\S+: error: (.+)$")
_EXCEPTION = re.compile(
    r"^(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)): ?(.*)$"
)


@dataclass(frozen=True, slots=True)
class Why:
    """The kind of a failure and one line about it."""

    kind: str
    """``import``, ``syntax``, ``config``, ``shape``, ``data``, ``path``, ``gpu``, ``memory``,
    ``network``, ``time`` or ``program``."""
    line: str
    at: str = ""
    """``train.py:12``: the last line of the program's own code."""


def why(exception: Mapping[str, Any] | None, tail: Sequence[str], status: int, cwd: str) -> Why:
    """Why a program failed. ``exception``: the last one that the hook told. ``tail``: its last lines.
    ``status``: its exit status, negative for a signal."""
    if exception is not None:
        name, message = str(exception["type"]), str(exception["message"])
        kind = kind_of(name, message, exception.get("bases", ()), exception.get("frames", ()))
        at = own_line(exception.get("frames", ()), cwd)
        return Why(kind, _line(name, message), at)
    usage = next((m for line in reversed(tail) if (m := _ARGUMENTS.match(line.strip()))), None)
    if usage is not None and status == 2:
        return Why("config", f"its arguments: {usage[1]}"[:LONGEST])
    told = next((m for line in reversed(tail) if (m := _EXCEPTION.match(line.strip()))), None)
    if told is not None:
        return Why(kind_of(told[1], told[2], (), ()), _line(told[1], told[2]))
    last = next((line.strip() for line in reversed(tail) if line.strip()), "")
    if status < 0:
        return Why("program", f"ended by signal {-status}" + (f": {last}" if last else ""))
    return Why("program", (last or f"ended with exit status {status}, and said nothing")[:LONGEST])


def kind_of(name: str, message: str, bases: Sequence[str], frames: Sequence[Sequence[Any]]) -> str:
    """The kind of an exception, by its type first and by its words where the type says little."""
    types = {name.rpartition(".")[2], *bases}
    if types & set(_IMPORT):
        return "import"
    if types & set(_SYNTAX):
        return "syntax"
    if "MemoryError" in types or _MEMORY.search(message):
        return "memory"
    if _GPU.search(message):
        return "gpu"
    if _NO_REPOSITORY.search(message):
        return "path"
    if types & {"ConnectionError", "TimeoutError", "gaierror"} or _NETWORK.search(message):
        return "network"
    if types & set(_PATH):
        return "path"
    if _SHAPE.search(message):
        return "shape"
    if types & set(_DATA_TYPES) or _DATA.search(message) or _in_loader(frames):
        return "data"
    if types & set(_CONFIG_TYPES) or _CONFIG.search(message):
        return "config"
    return "program"


def _in_loader(frames: Sequence[Sequence[Any]]) -> bool:
    """True for an exception that came out of reading a batch."""
    return any(part in str(frame[0]) for frame in frames for part in _DATA_FRAMES)


def own_line(frames: Sequence[Sequence[Any]], cwd: str) -> str:
    """``train.py:12``: the innermost frame that is no library's; empty for none."""
    for path, line, _ in reversed(list(frames)):
        if not _LIBRARIES.search(str(path)) and not str(path).startswith("<"):
            shown = Path(str(path))
            near = shown.relative_to(cwd) if shown.is_relative_to(cwd) else shown
            return f"{near}:{line}"
    return ""


def _line(name: str, message: str) -> str:
    # A DataLoader worker hands over a whole traceback: its last line is what happened.
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if "Caught " in text and len(lines) > 1:
        text = lines[-1]
    return f"{name}: {text}"[:LONGEST].rstrip(": ")
