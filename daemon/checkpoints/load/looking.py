"""What a file asks for before it is loaded: names that its pickle would import. Nothing of it is run.

Part of the child, so of Python 3.8 and later.
"""

from __future__ import annotations

import io
import pickletools
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from typing import Any

from .plain_objects import plain

ZIP = b"PK\x03\x04"
# torch/serialization.py: MAGIC_NUMBER = 0x1950A86A20F9469CFC6C, pickled with protocol 2.
LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
LEGACY_PICKLES = 5
"""In a legacy file: magic number, protocol, system, the object, the keys of its storages."""
LONGEST_PICKLE = 64 << 20
"""Bytes: a longer pickle is not examined, as reading its opcodes takes 0.14 s a MiB (measured)."""


class Refused(Exception):
    """Loading it would run code, or needs what only code can build; the text names it."""


class Impossible(Exception):
    """It cannot be loaded here; the text says why."""


def globals_of(file: Any, pickles: int = 1) -> list[str]:
    """Names that unpickling these consecutive pickles would import; nothing is imported or called.

    Raises ValueError where they are invalid.
    """
    found = {}
    for _ in range(pickles):
        strings = ["", ""]
        memo = {}
        for op, argument, _where in pickletools.genops(file):
            if op.name in ("GLOBAL", "INST"):
                found[modern(*str(argument).split(" ", 1))] = True
            elif op.name == "STACK_GLOBAL":
                found[".".join(s or "?" for s in strings)] = True
            elif op.name in ("EXT1", "EXT2", "EXT4"):
                found[f"copyreg extension {argument}"] = True
            elif op.name in ("PUT", "BINPUT", "LONG_BINPUT"):
                memo[argument] = strings[-1]
            elif op.name == "MEMOIZE":
                memo[len(memo)] = strings[-1]
            elif op.name in ("GET", "BINGET", "LONG_BINGET"):
                strings = [strings[-1], memo.get(argument, "")]
            elif isinstance(argument, str):
                strings = [strings[-1], argument]
    return list(found)


def modern(module: str, name: str = "") -> str:
    """Protocol 2 uses the names of Python 2: ``__builtin__.xrange`` is ``builtins.range``."""
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    return f"{module}.{name}"


def allowed(torch: Any) -> set[str]:
    """The names that ``weights_only`` accepts as plain data."""
    from torch import _weights_only_unpickler as unpickler

    return set(unpickler._get_allowed_globals())  # noqa: SLF001


def look_first(torch: Any, file: Any) -> set[str]:
    """The names beyond torch's own list that the file needs and that are plain data.

    Raises :class:`Refused` for a file that ``torch.load`` must not be given.
    """
    head = file.read(len(LEGACY))
    file.seek(0)
    if head.startswith(ZIP):
        reader = torch._C.PyTorchFileReader(file)  # noqa: SLF001 (what torch.load reads with)
        records = set(reader.get_all_records())
        if "constants.pkl" in records or any(name.startswith("code/") for name in records):
            raise Refused("it is a TorchScript archive, which is a program")
        if "data.pkl" not in records:
            raise Impossible("an archive without data.pkl")
        text = reader.get_record("data.pkl")
        if len(text) > LONGEST_PICKLE:
            raise Impossible(f"its pickle of {len(text)} bytes is too long to be examined")
        wanted = globals_of(io.BytesIO(text))
    elif head == LEGACY:
        wanted = globals_of(file, LEGACY_PICKLES)
    else:
        raise Refused("it is a plain pickle, which can run any code")
    file.seek(0)
    more_plain = plain(wanted) - allowed(torch)
    beyond = sorted(set(wanted) - allowed(torch) - more_plain)
    if beyond:
        more = f" and {len(beyond) - 2} more" if len(beyond) > 2 else ""
        raise Refused(f"it needs {', '.join(beyond[:2])}{more}, which would run code")
    return more_plain


class Slice(io.RawIOBase):
    """A range of a file, readable like a file of its own."""

    def __init__(self, path: str, start: int, length: int) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed with this object)
        self._start, self._length, self._at = start, length, 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """Offset of the next byte in the range."""
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to an offset inside the range."""
        base = {0: 0, 1: self._at, 2: self._length}[whence]
        self._at = max(0, min(self._length, base + offset))
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer, at most to the end of the range; returns the number of bytes."""
        view = memoryview(buffer)[: self._length - self._at]
        self._file.seek(self._start + self._at)
        count = self._file.readinto(view) or 0
        self._at += count
        return count

    def close(self) -> None:
        """Close the file as well."""
        self._file.close()
        super().close()
