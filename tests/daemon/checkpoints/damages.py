"""Ways to damage a checkpoint, byte by byte, and eight formats to do it to."""

from __future__ import annotations

import io
import json
import os
import pickle
import pickletools
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
MINUS_INFINITY = struct.pack("<f", -float("inf"))
Range = tuple[int, int]
"""First byte, and the one behind the last."""


@dataclass(frozen=True)
class Form:
    """One format, shown by a checkpoint that a real library wrote."""

    name: str
    maker: str
    path: str
    """What is verified, in the folder of its maker."""
    copied: str
    """The file or folder that is copied for it."""
    parts: dict[str, str] = field(default_factory=dict)
    """Kinds of files in it: word of the table, and the glob that finds them."""


FORMS = (
    Form("torch zip", "torch", "amsgrad.pt", "amsgrad.pt", {"": "amsgrad.pt"}),
    Form("torch legacy", "torch", "old_amsgrad.pt", "old_amsgrad.pt", {"": "old_amsgrad.pt"}),
    Form(
        "safetensors",
        "transformers",
        "pretrained/one/model.safetensors",
        "pretrained/one/model.safetensors",
        {"": "model.safetensors"},
    ),
    Form(
        "safetensors, sharded",
        "transformers",
        "pretrained/sharded/model.safetensors.index.json",
        "pretrained/sharded",
        {"shards": "*.safetensors", "index": "*.index.json"},
    ),
    Form(
        "HF checkpoint-N",
        "transformers",
        "trainers/plain/checkpoint-6",
        "trainers/plain/checkpoint-6",
        {
            "model": "model.safetensors",
            "torch files": "*.pt",
            "trainer_state": "trainer_state.json",
        },
    ),
    Form(
        "DCP",
        "distributed",
        "step_70",
        "step_70",
        {"data": "*.distcp", "metadata": ".metadata"},
    ),
    Form("DeepSpeed", "deepspeed", "zero2/global_step3", "zero2", {"": "global_step3/*.pt"}),
    Form("Lightning", "lightning", "top/last.ckpt", "top/last.ckpt", {"": "last.ckpt"}),
)


# ------------------------------------------------------------------------------- what lies where


@dataclass
class Anatomy:
    """Where in the bytes of one file there is what."""

    data: list[Range] = field(default_factory=list)
    """Numbers of tensors."""
    floats: list[Range] = field(default_factory=list)
    """Those that are float32, sixteen or more of them."""
    header: list[Range] = field(default_factory=list)
    """What a reader needs to find them."""
    pickle: list[Range] = field(default_factory=list)
    names: list[Range] = field(default_factory=list)
    """Names of tensors and other words, where no checksum covers them."""
    idle: list[Range] = field(default_factory=list)
    """Padding, times, versions, second copies: what no reader looks at."""


def anatomy(data: bytes) -> Anatomy:
    """Take a file apart by its first bytes."""
    if data.startswith(b"PK"):
        found = Anatomy()
        for start, end in archives(data):
            _zip(data, start, end, found)
        return found
    if data.startswith(b"\x80\x02\x8a\nl\xfc"):
        return _legacy(data)
    if data[8:9] == b"{":
        return _safetensors(data)
    if data.startswith(b"\x80"):
        return Anatomy(pickle=[(0, len(data))])
    return _json(data)


def archives(data: bytes) -> Iterator[Range]:
    """The zip archives that lie one after another: one in a .pt, many in a .distcp."""
    start = 0
    for end in re.finditer(rb"PK\x05\x06", data):
        yield start, end.end() + 18
        start = end.end() + 18


def _central(data: bytes, end: int) -> tuple[int, int]:
    """Offset (from the start of its archive) and length of a central directory."""
    size, offset = struct.unpack_from("<II", data, end - 10)
    return offset, size


def _zip(data: bytes, start: int, end: int, found: Anatomy) -> None:
    offset, size = _central(data, end)
    at = start + offset
    storages: dict[str, tuple[str, int]] = {}
    spans: dict[str, Range] = {}
    for info in zipfile.ZipFile(io.BytesIO(data[start:end])).infolist():
        local = start + info.header_offset
        name_n, extra_n = struct.unpack_from("<HH", data, local + 26)
        body = local + 30 + name_n + extra_n
        span = (body, body + info.file_size)
        # magic; flags, method; sizes; lengths and the name
        found.header += [(local, local + 4), (local + 6, local + 10)]
        found.header += [(local + 18, local + 30 + name_n)]
        found.idle += [(local + 4, local + 6), (local + 10, local + 14)]
        found.idle += [(local + 30 + name_n + 4, body)]
        if info.flag_bits & 8:
            found.idle.append((span[1], span[1] + 16))
        if info.filename.endswith("data.pkl"):
            found.pickle.append(span)
            storages = _Storages.of(data[span[0] : span[1]])
        elif "/data/" in info.filename:
            found.data.append(span)
            spans[info.filename.rpartition("/")[2]] = span
        name_n, extra_n, comment_n = struct.unpack_from("<HHH", data, at + 28)
        # magic; flags, method; CRC, sizes, lengths; offset and name
        found.header += [(at, at + 4), (at + 8, at + 12), (at + 16, at + 34)]
        found.header.append((at + 42, at + 46 + name_n))
        found.idle += [(at + 4, at + 8), (at + 12, at + 16), (at + 34, at + 42)]
        at += 46 + name_n + extra_n + comment_n
    assert at == start + offset + size
    found.floats += [
        spans[key] for key, kind in storages.items() if kind[0] == "FloatStorage" and kind[1] >= 16
    ]
    found.header += [(end - 22, end - 18), (end - 12, end)]


class _Stub(dict[object, object]):
    """Stands for every class of a pickle."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()

    def __setstate__(self, _: object) -> None:
        pass


class _Storages(pickle.Unpickler):
    """Reads the storages that a pickle of ours names."""

    def __init__(self, data: io.BytesIO) -> None:
        super().__init__(data)
        self.found: dict[str, tuple[str, int]] = {}

    def find_class(self, _: str, name: str) -> object:
        return type(name, (_Stub,), {})

    def persistent_load(self, pid: tuple[object, ...]) -> None:
        kind, key, count = pid[1], pid[2], pid[4]
        assert isinstance(kind, type)
        assert isinstance(count, int)
        self.found[str(key)] = (kind.__name__, count)

    @classmethod
    def of(cls, data: bytes) -> dict[str, tuple[str, int]]:
        """Kind and number of elements by key."""
        reader = cls(io.BytesIO(data))
        reader.load()
        return reader.found


_WIDTHS = {"FloatStorage": 4, "ByteStorage": 1, "LongStorage": 8, "DoubleStorage": 8}


def _legacy(data: bytes) -> Anatomy:
    stream = io.BytesIO(data)
    ends = []
    for _ in range(5):
        for _ in pickletools.genops(stream):
            pass
        ends.append(stream.tell())
    found = Anatomy(pickle=[(ends[2], ends[4])], header=[(0, ends[0])], idle=[(ends[1], ends[2])])
    storages = _Storages.of(data[ends[2] : ends[3]])
    at = ends[4]
    for key in pickle.loads(data[ends[3] : ends[4]]):
        kind, count = storages[key]
        assert struct.unpack_from("<q", data, at) == (count,)
        span = (at + 8, at + 8 + count * _WIDTHS[kind])
        found.header.append((at, at + 8))
        found.data.append(span)
        if kind == "FloatStorage" and count >= 16:
            found.floats.append(span)
        at = span[1]
    assert at == len(data)
    return found


def _safetensors(data: bytes) -> Anatomy:
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    found = Anatomy(header=[(0, 8)])
    header.pop("__metadata__", None)
    for entry in header.values():
        first, last = (8 + length + n for n in entry["data_offsets"])
        found.data.append((first, last))
        if entry["dtype"] == "F32" and last - first >= 64:
            found.floats.append((first, last))
    text = data[8 : 8 + length]
    for entry in re.finditer(rb'"[^"]*":(\{"dtype":[^}]*\})', text):
        found.names.append((8 + entry.start() + 1, 8 + entry.start(1) - 2))
        found.header.append((8 + entry.start(1), 8 + entry.end(1)))
    return found


def _json(data: bytes) -> Anatomy:
    """Files of a weight map, and the counters of a trainer state."""
    found = Anatomy()
    for entry in re.finditer(rb'"(?:[^"]+)": "(model[^"]*)"', data):
        found.header.append((entry.start() + 1, entry.end() - 1))
    for entry in re.finditer(rb'"global_step": (\d+)', data):
        found.header.append(entry.span(1))
    return found


# ------------------------------------------------------------------------------------- damages


@dataclass
class Case:
    """A copy of a good checkpoint that is about to be damaged."""

    form: Form
    root: Path
    """The copied file or folder."""
    path: Path
    """What will be verified."""
    siblings: Path
    """The folder of the maker, with whole checkpoints of other times. Read only."""
    dice: random.Random

    def files(self, part: str) -> list[Path]:
        """The files of one part, by name."""
        if self.root.is_file():
            return [self.root]
        return sorted(self.root.glob(self.form.parts[part]))


def _cut(whole: Callable[[bytes], int]) -> Callable[[Case, str], None]:
    def damage(case: Case, part: str) -> None:
        file = case.dice.choice(case.files(part))
        os.truncate(file, whole(file.read_bytes()))

    return damage


def lose_tail(case: Case, part: str) -> None:
    """The last pages were never written: a crash after the size was set."""
    file = case.dice.choice(case.files(part))
    data = file.read_bytes()
    kept = PAGE * case.dice.randrange(max(1, len(data) // PAGE - 1))
    file.write_bytes(data[:kept] + bytes(len(data) - kept))


def _flip(where: str, harmless: bool = False) -> Callable[[Case, str], None]:
    """One bit; a harmless one makes no NaN of a float32: it lies low in the mantissa."""

    def damage(case: Case, part: str) -> None:
        files = [f for f in case.files(part) if getattr(anatomy(f.read_bytes()), where)]
        file = case.dice.choice(files)
        data = bytearray(file.read_bytes())
        ranges = [span for span in getattr(anatomy(bytes(data)), where) if span[0] < span[1]]
        if harmless:  # a mask with another number in it would be none
            ranges = [span for span in ranges if MINUS_INFINITY not in data[span[0] : span[1]]]
        first, last = case.dice.choice(ranges)
        at = case.dice.randrange(first, last)
        if harmless:
            at -= (at - first) % 4
        data[at] ^= 1 << case.dice.randrange(8)
        file.write_bytes(data)

    return damage


def forget(case: Case, part: str) -> None:
    """One file of several is not there."""
    case.dice.choice(case.files(part)).unlink()


def poison(case: Case, part: str) -> None:
    """A few numbers are NaN, and all checksums are right: it was saved like that."""
    files = [f for f in case.files(part) if anatomy(f.read_bytes()).floats]
    file = case.dice.choice(files)
    data = bytearray(file.read_bytes())
    first, last = case.dice.choice(anatomy(bytes(data)).floats)
    at = first + 4 * case.dice.randrange((last - first) // 4)
    data[at : at + 4] = struct.pack("<f", float("nan"))
    file.write_bytes(summed_again(data))


def narrow(case: Case, part: str) -> None:
    """The table says two bytes for each number, and four are there."""
    words = ((b"FloatStorage\n", b"ShortStorage\n"), (b'"dtype":"F32"', b'"dtype":"F16"'))
    files = [f for f in case.files(part) if any(old in f.read_bytes() for old, _ in words)]
    file = case.dice.choice(files)
    data = bytearray(file.read_bytes())
    for old, new in words:
        places = [found.start() for found in re.finditer(re.escape(old), data)]
        if places:
            at = case.dice.choice(places)
            data[at : at + len(old)] = new
    file.write_bytes(summed_again(data))


def age(case: Case, part: str) -> None:
    """What describes the others is from another time."""
    del part
    if case.form.name == "safetensors, sharded":
        old = case.siblings / "pretrained/deeper/model.safetensors.index.json"
        case.path.write_bytes(old.read_bytes())
    elif case.form.name == "HF checkpoint-N":
        old = case.siblings / "trainers/plain/checkpoint-4/trainer_state.json"
        (case.path / "trainer_state.json").write_bytes(old.read_bytes())
    elif case.form.name == "DCP":
        old = case.siblings / "step_40/.metadata"
        (case.path / ".metadata").write_bytes(old.read_bytes())
    else:
        (case.root / "latest").write_text("global_step2")


def summed_again(data: bytearray) -> bytes:
    """Make the checksums of every archive in a file right."""
    if not data.startswith(b"PK"):
        return bytes(data)
    for start, end in archives(bytes(data)):
        offset, size = _central(bytes(data), end)
        at = start + offset
        while at < start + offset + size:
            length, name_n, extra_n, comment_n = struct.unpack_from("<IHHH", data, at + 24)
            local = start + struct.unpack_from("<I", data, at + 42)[0]
            body = local + 30 + sum(struct.unpack_from("<HH", data, local + 26))
            crc = struct.pack("<I", zlib.crc32(data[body : body + length]))
            data[at + 16 : at + 20] = crc
            if data[body + length : body + length + 4] == b"PK\7\x08":
                data[body + length + 4 : body + length + 8] = crc
            at += 46 + name_n + extra_n + comment_n
    return bytes(data)


DAMAGES: dict[str, Callable[[Case, str], None]] = {
    "truncated by one byte": _cut(lambda data: len(data) - 1),
    "cut to half": _cut(lambda data: len(data) // 2),
    "empty": _cut(lambda _: 0),
    "tail of zeroes": lose_tail,
    "one bit in data": _flip("data", harmless=True),
    "one bit in a header": _flip("header"),
    "one bit in a name": _flip("names"),
    "one bit in a pickle": _flip("pickle"),
    "one bit in padding": _flip("idle"),
    "missing shard": forget,
    "NaN in a tensor": poison,
    "wrong dtype size": narrow,
    "stale index": age,
}
"""Rows of the table, in its order."""
