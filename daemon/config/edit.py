"""Change one value of the configuration file, and nothing else in it: comments and order stay.

The text is edited by lines, and the result is read before it is written: unless it says the same as
before but for that one value, the file is left alone and the person is told which lines to write.
"""

from __future__ import annotations

import copy
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from ..system.errors import ConfigError, UsageError
from ..system.files import write_whole
from ..system.private import make_private
from .load import parse, toml
from .trusted import read_config

_HEADER = re.compile(r"\s*\[")


def set_value(path: Path, section: str, key: str, value: str) -> bool:
    """Have ``key`` of ``[section]`` say ``value``; False when it did already.

    A file that is not there is made, for its owner alone. Raises ConfigError for one that is wrong
    or cannot be edited safely, UsageError when it cannot be written.
    """
    text = read_config(path, str(path)) or ""
    parse(text, str(path))  # a wrong one is not edited
    table = toml(text, str(path))
    if table.get(section, {}).get(key) == value:
        return False
    wanted = copy.deepcopy(table)
    wanted.setdefault(section, {})[key] = value
    new = edited(text, section, key, value)
    if not _says(new, wanted):
        raise ConfigError(
            f"{path} cannot be edited safely",
            f"write it yourself, below [{section}]: {_line(key, value).strip()}",
        )
    parse(new, str(path))
    try:
        _replace(path, new)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}",
            f"have its owner write below [{section}]: {_line(key, value).strip()}; "
            "or name another file: --config FILE",
        ) from error
    return True


def edited(text: str, section: str, key: str, value: str) -> str:
    """``text`` with the key in its section: replaced, or put below the heading, or appended."""
    lines = text.splitlines(keepends=True)
    head = re.compile(rf"\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?$")
    given = re.compile(rf"""(\s*{re.escape(key)}\s*=\s*)("[^"\\]*"|'[^']*')(\s*(?:#.*)?)$""")
    at = next((n for n, line in enumerate(lines) if head.match(line)), None)
    if at is None:
        gap = "" if not text else ("\n" if text.endswith("\n") else "\n\n")
        return f"{text}{gap}[{section}]\n{_line(key, value)}"
    for number in range(at + 1, len(lines)):
        if _HEADER.match(lines[number]):
            break
        if found := given.match(lines[number]):
            lines[number] = found[1] + json.dumps(value, ensure_ascii=False) + found[3]
            if not lines[number].endswith("\n"):
                lines[number] += "\n"
            return "".join(lines)
    if not lines[at].endswith("\n"):
        lines[at] += "\n"
    return "".join([*lines[: at + 1], _line(key, value), *lines[at + 1 :]])


def _line(key: str, value: str) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}\n"


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return toml(text, "") == wanted
    except ConfigError:
        return False


def _replace(path: Path, text: str) -> None:
    """Write the file whole, with the mode that it has. Raises OSError."""
    real = Path(os.path.realpath(path))  # a link stays a link
    if not real.parent.is_dir():
        make_private(real.parent)
    mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else None
    write_whole(str(real), text, private=True)
    if mode is not None:
        real.chmod(mode)
