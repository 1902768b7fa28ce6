"""Compressed logs and event files: recognised by their first bytes, unpacked as a stream in bounded memory.

Of a damaged file all that can be unpacked is yielded; then :class:`DamagedLog` is raised.
"""

from __future__ import annotations

import bz2
import importlib
import lzma
import re
import shutil
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from ..parsers.metric_readers import MetricText, kind_of, metric_text
from ..system.errors import UsageError
from .trackio_files import DATABASE, trackio_text

MEMORY = 256 << 20
"""Bytes of memory for an unpacker. ``xz -9`` needs 65 MiB, ``zstd --ultra -22`` 128 MiB; only files
packed with a larger window on purpose (``xz --lzma2=dict=1GiB``, ``zstd --long=31``) need more."""
HEAD = 512
"""Bytes from the start of a file that are enough to recognise every format below."""
CHUNK = 256 << 10
"""Unpacked bytes to yield at a time, about."""
_FINE = 1 << 10
"""Unpacked bytes to request from xz and bzip2 per call. When a checksum fails they drop all bytes
of that call, and the end of a log is the part that matters."""

_MAGIC: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("gzip", re.compile(rb"\x1f\x8b\x08")),
    ("xz", re.compile(rb"\xfd7zXZ\x00")),
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")),  # or a skippable frame
    (DATABASE, re.compile(rb"SQLite format 3\x00")),
    ("bzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")),
)
_FOREIGN: tuple[tuple[str, re.Pattern[bytes], str], ...] = (
    ("a zip archive", re.compile(rb"PK\x03\x04"), "unzip -p {} | middlewatch replay -"),
    ("a 7z archive", re.compile(rb"7z\xbc\xaf\x27\x1c"), "7z x -so {} | middlewatch replay -"),
    ("an lz4 file", re.compile(rb"\x04\x22\x4d\x18"), "lz4 -dc {} | middlewatch replay -"),
    ("a .Z file", re.compile(rb"\x1f\x9d[\x89-\x90]"), "zcat {} | middlewatch replay -"),
    ("a tar archive", re.compile(rb"[^\0].{256}ustar[\0 ]", re.DOTALL), "tar -xf {}"),
)


class DamagedLog(UsageError):
    """The log cannot be read any further; everything before that point was read."""


class _Unpacker(Protocol):
    """One compressed stream (gzip member, xz stream, zstd frame)."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def packing(head: bytes, name: str) -> str:
    """How a file of this name that begins with ``head`` is packed, in words; ``""`` for text."""
    packed = next((kind for kind, magic in _MAGIC if magic.match(head)), "")
    return packed or kind_of(head, name)


def foreign(head: bytes, name: str) -> UsageError | None:
    """The error for an archive that is recognised but cannot be unpacked here, else ``None``."""
    for kind, magic, hint in _FOREIGN:
        if magic.match(head):
            return UsageError(f"{name} cannot be read: it is {kind}", hint.format(name))
    return None


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of about ``CHUNK``; all come before a :class:`DamagedLog`."""
    held: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size >= CHUNK:
                yield b"".join(held)
                held, size = [], 0
    except DamagedLog:
        if held:
            yield b"".join(held)
        raise
    if held:
        yield b"".join(held)


def _frames(
    raw: Iterable[bytes], kind: str, begin: Callable[[], _Unpacker], most: int
) -> Iterator[bytes]:
    """Unpack concatenated streams, as ``cat a.gz b.gz`` makes them."""
    unpacker = begin()
    first = True
    fresh = False
    """Between two streams: no byte of the next one has come."""
    for data in raw:
        while data:
            if fresh:
                data = data.lstrip(b"\0")  # padding between streams, or of a tape block
                if not data:
                    break
                unpacker, fresh, first = begin(), False, False
            unpacked = False
            try:
                for piece in _drain(unpacker, data, most):
                    unpacked = True
                    yield piece
            except (zlib.error, lzma.LZMAError, OSError, ValueError, RuntimeError) as error:
                raise _damage(kind, error, trailing=not first and not unpacked) from None
            fresh = unpacker.eof
            data = unpacker.unused_data if fresh else b""
    if not fresh:
        raise DamagedLog(f"the {kind} data end too early: the file was cut, or is still written")


def _drain(unpacker: _Unpacker, data: bytes, most: int) -> Iterator[bytes]:
    while True:
        piece = unpacker.decompress(data, most)
        if piece:
            yield piece
        if unpacker.eof or unpacker.needs_input:
            return
        data = b""


def _damage(kind: str, error: Exception, *, trailing: bool) -> DamagedLog:
    words = str(error)
    if re.search(r"memory|window", words, re.IGNORECASE):
        return _too_large(kind)
    if trailing:
        return DamagedLog(f"the {kind} data are followed by bytes that are no {kind} data")
    words = words.removeprefix("Error -3 while decompressing data: ")
    return DamagedLog(f"the {kind} data are damaged ({words})")


def _too_large(kind: str) -> DamagedLog:
    program = {"xz": "xz -dc", "zstd": "zstd -dc --long=31"}.get(kind, kind)
    return DamagedLog(
        f"unpacking the {kind} data takes more than {MEMORY >> 20} MiB of memory",
        f"where that much is free: {program} FILE | middlewatch replay -",
    )


class _Inflate:
    """zlib with the interface of lzma and bz2; all bytes before an error are returned."""

    def __init__(self) -> None:
        self._state = zlib.decompressobj(wbits=31)
        self._rest = b""
        self._error: zlib.error | None = None
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._state.eof

    @property
    def unused_data(self) -> bytes:
        return self._state.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._error is not None:
            raise self._error
        data = self._rest + data
        before = self._state.copy()
        try:
            out = self._state.decompress(data, max_length)
        except zlib.error as error:
            self._error, self.needs_input = error, False
            return self._up_to_the_error(before, data)
        self._rest = self._state.unconsumed_tail
        self.needs_input = not self._rest and len(out) < max_length
        return out

    @staticmethod
    def _up_to_the_error(state: Any, data: bytes) -> bytes:
        out = bytearray()
        try:
            for place in range(len(data)):
                out += state.decompress(data[place : place + 1])
        except zlib.error:
            pass
        return bytes(out)


def _gzip(raw: Iterable[bytes]) -> Iterator[bytes]:
    return _frames(raw, "gzip", _Inflate, CHUNK)


def _xz(raw: Iterable[bytes]) -> Iterator[bytes]:
    def begin() -> _Unpacker:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)

    return _gathered(_frames(raw, "xz", begin, _FINE))


def _bzip2(raw: Iterable[bytes]) -> Iterator[bytes]:
    return _gathered(_frames(raw, "bzip2", bz2.BZ2Decompressor, _FINE))


# ------------------------------------------------------------------------ zstd


def _zstd(raw: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack by the standard library (Python 3.14), the ``zstandard`` package, or ``zstd``.

    Raises UsageError where none of them is installed.
    """
    begin = _zstd_library()
    if begin is not None:
        return _gathered(_frames(_narrow(raw), "zstd", begin, CHUNK))
    program = shutil.which("zstd")
    if program is not None:
        return _by_program(raw, program)
    raise UsageError(
        "zstd data cannot be unpacked here: this needs Python 3.14, the package zstandard or the "
        "program zstd",
        "install one: pip install zstandard, or: apt-get install zstd",
    )


def _zstd_library() -> Callable[[], _Unpacker] | None:
    try:
        zstd: Any = importlib.import_module("compression.zstd")
    except ImportError:
        pass
    else:
        limit = {zstd.DecompressionParameter.window_log_max: MEMORY.bit_length() - 1}

        def by_standard() -> _Unpacker:
            return _Translated(zstd.ZstdDecompressor(options=limit), zstd.ZstdError)

        return by_standard
    try:
        package: Any = importlib.import_module("zstandard")
    except ImportError:
        return None

    def by_package() -> _Unpacker:
        unpacker = package.ZstdDecompressor(max_window_size=MEMORY).decompressobj()
        return _Translated(unpacker, package.ZstdError)

    return by_package


class _Translated:
    """A zstd unpacker of either library, with one interface and one kind of error."""

    def __init__(self, unpacker: Any, error: type[Exception]) -> None:
        self._unpacker = unpacker
        self._error = error
        self._limited = hasattr(unpacker, "needs_input")

    @property
    def eof(self) -> bool:
        return bool(self._unpacker.eof)

    @property
    def needs_input(self) -> bool:
        return bool(self._unpacker.needs_input) if self._limited else True

    @property
    def unused_data(self) -> bytes:
        return bytes(self._unpacker.unused_data)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            if self._limited:
                return bytes(self._unpacker.decompress(data, max_length))
            return bytes(self._unpacker.decompress(data))
        except self._error as error:
            raise ValueError(str(error)) from None


def _narrow(raw: Iterable[bytes]) -> Iterator[bytes]:
    """Input in small pieces: four bytes of zstd can become 128 KiB, and in ``zstandard`` the output
    of one call cannot be limited."""
    for data in raw:
        for place in range(0, len(data), _FINE):
            yield data[place : place + _FINE]


def _by_program(raw: Iterable[bytes], program: str) -> Iterator[bytes]:
    command = [program, "-dcq", f"--memory={MEMORY >> 20}MB"]
    broken: list[DamagedLog] = []
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words
        )
        assert process.stdout is not None
        feeder = threading.Thread(target=_feed, args=(process, raw, broken), daemon=True)
        feeder.start()
        try:
            while piece := process.stdout.read(CHUNK):
                yield piece
            status = process.wait()
            feeder.join(1.0)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        words.seek(0)
        message = words.read(4096).decode("utf-8", "replace")
    if broken:
        raise broken[0]
    if status:
        raise _program_damage(message)


def _feed(process: subprocess.Popen[bytes], raw: Iterable[bytes], broken: list[DamagedLog]) -> None:
    """Write ``raw`` to the program, in a thread: its input pipe is full most of the time."""
    assert process.stdin is not None
    try:
        with process.stdin as pipe:
            for data in raw:
                pipe.write(data)
    except DamagedLog as damage:
        broken.append(damage)
    except OSError:
        return  # the program has ended; its stderr says why


def _program_damage(message: str) -> DamagedLog:
    if re.search(r"memory", message):
        return _too_large("zstd")
    if re.search(r"premature|unexpected end", message):
        return DamagedLog("the zstd data end too early: the file was cut, or is still written")
    if re.search(r"unsupported format|unknown header", message):
        return DamagedLog("the zstd data are followed by bytes that are no zstd data")
    reason = (
        message.splitlines()[0].rpartition(" : ")[2].strip()
        if message.strip()
        else "no reason given"
    )
    return DamagedLog(f"the zstd data are damaged ({reason})")


def _as_text(raw: Iterable[bytes], text: MetricText) -> Iterator[bytes]:
    for data in raw:
        if piece := text.feed(data):
            yield piece
    if text.damaged:
        raise DamagedLog("the file is damaged: what follows cannot be found")
    if text.held or text.skip:
        raise DamagedLog("the file ends within a record")


_UNPACK: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {
    "gzip": _gzip,
    "xz": _xz,
    "zstd": _zstd,
    "bzip2": _bzip2,
}


def unpacked(kind: str, name: str, raw: Iterable[bytes]) -> Iterator[bytes]:
    """The text of a file of this name and kind (:func:`packing`), from its bytes.

    Raises :class:`DamagedLog` after the last byte that can be unpacked, and UsageError where no library or
    program for the kind is installed.
    """
    if not kind:
        return iter(raw)
    if kind == DATABASE:
        return trackio_text(raw, name)
    unpack = _UNPACK.get(kind)
    return _as_text(raw, metric_text(kind, name)) if unpack is None else unpack(raw)
