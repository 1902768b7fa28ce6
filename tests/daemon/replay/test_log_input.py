"""Compressed logs, encodings, pipes: bytes on disk become lines of UTF-8."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.replay import decompress, log_input
from middlewatch.daemon.replay.decompress import DamagedLog
from middlewatch.daemon.replay.encodings import HEAD, SAMPLE, ToUtf8
from middlewatch.daemon.replay.log_input import LogInput, open_log
from middlewatch.daemon.system.errors import UsageError

LINES = [f"step {n}/900 loss {4 - n / 400 + random.Random(n).random() / 9:.5f}" for n in range(900)]
TEXT = ("\n".join(LINES) + "\nTraceback: the last line tells it all\n").encode()

needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is missing")


def zstd(data: bytes, *options: str) -> bytes:
    done = subprocess.run(["zstd", "-qc", *options], input=data, capture_output=True, check=True)
    return done.stdout


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": zstd,
}
KINDS = [pytest.param(k, marks=needs_zstd if k == "zstd" else ()) for k in PACK]


def read(path: Path | str) -> tuple[bytes, str]:
    """(text, damage) of a file."""
    source = open_log(str(path))
    text = b""
    try:
        for chunk in source.chunks():
            text += chunk
    except DamagedLog as damage:
        return text, str(damage)
    finally:
        source.close()
    return text, ""


@pytest.fixture
def put(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes, name: str = "some.log") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


# ------------------------------------------------------------------------ compressed


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_known_by_its_first_bytes_and_unpacked(
    kind: str, put: Callable[[bytes], Path]
) -> None:
    path = put(PACK[kind](TEXT))
    source = open_log(str(path))
    assert source.packing == kind
    assert b"".join(source.chunks()) == TEXT
    assert (source.bytes, source.taken) == (len(TEXT), path.stat().st_size)
    source.close()


@pytest.mark.parametrize("kind", KINDS)
def test_streams_that_follow_one_another(kind: str, put: Callable[[bytes], Path]) -> None:
    one, two = PACK[kind](TEXT), PACK[kind](b"and more\n")
    assert read(put(one + two)) == (TEXT + b"and more\n", "")
    assert read(put(PACK[kind](b"")))[0] == b""


@pytest.mark.parametrize("kind", ["gzip", "xz"])
def test_padding_of_nul_bytes_is_no_damage(kind: str, put: Callable[[bytes], Path]) -> None:
    assert read(put(PACK[kind](TEXT) + b"\0" * 512)) == (TEXT, "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_file_gives_what_is_in_it(kind: str, put: Callable[[bytes], Path]) -> None:
    noise = random.Random(7).randbytes(400_000).hex().encode()  # several blocks of every kind
    packed = PACK[kind](TEXT + noise)
    text, damage = read(put(packed[: len(packed) * 9 // 10]))
    assert "too early" in damage
    assert len(text) > 100_000 or kind == "bzip2"  # its blocks are nearly that long
    assert (TEXT + noise).startswith(text)


@pytest.mark.parametrize("kind", KINDS)
def test_garbage_at_the_end_costs_nothing(kind: str, put: Callable[[bytes], Path]) -> None:
    text, damage = read(put(PACK[kind](TEXT) + b"this is not packed\n"))
    assert text == TEXT
    assert f"no {kind} data" in damage


def test_a_failed_checksum_loses_no_line(put: Callable[[bytes], Path]) -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 0xFF  # the stored CRC
    text, damage = read(put(bytes(packed)))
    assert text == TEXT
    assert "damaged" in damage
    packed = bytearray(lzma.compress(TEXT))
    packed[-40] ^= 0xFF
    text, damage = read(put(bytes(packed)))
    assert "damaged" in damage
    assert len(TEXT) - len(text) <= 1024


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(data=st.data())
def test_no_damage_raises_anything_else(kind: str, data: st.DataObject) -> None:
    packed = bytearray(PACK[kind](TEXT[:5000]))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(6, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(8, len(packed)))
    unpacked = 0
    with contextlib.suppress(DamagedLog):
        for chunk in decompress.unpacked(kind, "x.log", iter([bytes(packed[:cut])])):
            unpacked += len(chunk)
    assert unpacked < 1 << 20


def test_memory_is_bounded_whatever_the_window(put: Callable[[bytes], Path]) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    packer = lzma.LZMACompressor(lzma.FORMAT_XZ, filters=filters)
    text, damage = read(put(packer.compress(TEXT) + packer.flush()))
    assert text == b""
    assert "256 MiB" in damage


@needs_zstd
def test_memory_is_bounded_for_zstd_too(put: Callable[[bytes], Path]) -> None:
    # A frame header that asks for a window of 1 GiB, and one raw block.
    header = bytes([0x28, 0xB5, 0x2F, 0xFD, 0x00, (30 - 10) << 3])
    text, damage = read(put(header + bytes([0x09, 0, 0]) + b"x"))
    assert text == b""
    assert "256 MiB" in damage


def test_zeros_by_the_gigabyte_stay_small() -> None:
    packed = gzip.compress(b"\0" * (64 << 20))
    sizes = [len(chunk) for chunk in decompress.unpacked("gzip", "x.log", iter([packed]))]
    assert sum(sizes) == 64 << 20
    assert max(sizes) <= decompress.CHUNK


def test_without_any_zstd_it_says_what_to_install(
    put: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if decompress._zstd_library() is not None:
        pytest.skip("this Python unpacks zstd by itself")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError, match="cannot be unpacked here") as caught:
        read(put(b"\x28\xb5\x2f\xfd" + b"x" * 20))
    assert "apt-get install zstd" in caught.value.hint


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"PK\x03\x04" + b"x" * 40, "zip"),
        (b"\x04\x22\x4d\x18" + b"x" * 40, "lz4"),
        (b"train.log" + b"\0" * 248 + b"ustar\x00" + b"x" * 300, "tar"),
        (gzip.compress(b"train.log" + b"\0" * 248 + b"ustar\x00" + b"x" * 300), "tar"),
    ],
    ids=["zip", "lz4", "tar", "tar.gz"],  # compressed bytes hold the time they were made at
)
def test_other_archives_are_named(head: bytes, kind: str, put: Callable[[bytes], Path]) -> None:
    with pytest.raises(UsageError, match=kind) as caught:
        read(put(head))
    assert caught.value.hint


# ------------------------------------------------------------------------ what is no plain file


def test_folders_missing_files_and_pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_input, "WRITER_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        (str(tmp_path), "it is a folder"),
        (str(tmp_path / "none"), "No such file"),
        (str(tmp_path / "pipe"), "nobody writes"),
        ("bad\0name", "embedded null"),  # "byte" until Python 3.12, then "character"
    ):
        with pytest.raises(UsageError, match=words):
            open_log(name)


def test_a_file_that_may_not_be_read(put: Callable[[bytes], Path]) -> None:
    path = put(TEXT)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    with pytest.raises(UsageError, match="Permission denied"):
        open_log(str(path))


def test_a_named_pipe_with_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(TEXT),))
    writer.start()
    assert read(pipe) == (TEXT, "")
    writer.join()


def test_nothing_at_all(put: Callable[[bytes], Path]) -> None:
    assert read(put(b"")) == (b"", "")
    assert read("/dev/null") == (b"", "")


# ------------------------------------------------------------------------ encodings

CHINESE = "第 3 轮 训练损失 loss: 2.31，学习率 3e-4\n保存模型到 输出/检查点.pt\n" * 40
ENCODED = [
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\0\0"),
    ("utf-32-be", b"\0\0\xfe\xff"),
    ("utf-8", b"\xef\xbb\xbf"),
    ("gb18030", b""),
    ("utf-8", b""),
]


def decoded(*pieces: bytes) -> tuple[str, str]:
    """(text, encoding)."""
    reader = ToUtf8()
    out = b"".join([*map(reader.feed, pieces), reader.finish()])
    return out.decode("utf-8", "surrogateescape"), reader.name


@pytest.mark.parametrize(("name", "mark"), ENCODED)
@pytest.mark.parametrize("text", [CHINESE, "step 1 loss 2.0 损失\r\n", "x" * HEAD + CHINESE])
def test_encodings(name: str, mark: bytes, text: str) -> None:
    assert decoded(mark + text.encode(name)) == (text, name)


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(name: str) -> None:
    text = "step 10 loss 2.5\r\n" * 500 + CHINESE
    assert decoded(text.encode(name)) == (text, name)


def test_chinese_that_comes_late() -> None:
    data = b"step 1 loss 2.0\n" * 20_000 + CHINESE.encode("gb18030")
    assert decoded(data)[1] == "gb18030"


@pytest.mark.parametrize(
    "data",
    [
        "Modèle enregistré à côté, für die nächste Übung\n".encode("latin-1") * 30,
        "loss 2.0 — ok\n".encode() * 50 + b"broken \xff\xfe byte\n",
        bytes(range(256)) * 400,
        b"\0" * 9000 + b"step 1\n",
        "日本語のログ".encode("shift-jis") * 3,
    ],
)
def test_everything_else_passes_byte_for_byte(data: bytes) -> None:
    text, name = decoded(data)
    assert text.encode("utf-8", "surrogateescape") == data
    assert name == "utf-8"


@given(
    st.sampled_from(
        [mark + CHINESE.encode(name) for name, mark in ENCODED]
        + [CHINESE.encode("utf-16-le"), bytes(range(256)) * 20, b"a" * SAMPLE + b"\xb5\xda" * 9]
    ),
    st.lists(st.integers(0, 5000), max_size=6),
)
def test_the_split_does_not_matter(data: bytes, cuts: list[int]) -> None:
    places = sorted({min(c, len(data)) for c in cuts} | {0, len(data)})
    pieces = [data[a:b] for a, b in zip(places, places[1:], strict=False)]  # noqa: RUF007
    assert decoded(*pieces) == decoded(data)


@given(st.binary(max_size=6000))
def test_any_bytes_keep_their_lines_or_are_wide(data: bytes) -> None:
    text, name = decoded(data)
    if name == "utf-8":
        bare = data.removeprefix(b"\xef\xbb\xbf")
        assert text.encode("utf-8", "surrogateescape") == bare


def test_a_source_counts_what_it_read(put: Callable[[bytes], Path]) -> None:
    data = b"\xff\xfe" + CHINESE.encode("utf-16-le")
    source: LogInput = open_log(str(put(data)))
    text = b"".join(source.chunks()).decode()
    source.close()
    assert text == CHINESE
    assert (source.bytes, source.encoding, source.size) == (len(data), "utf-16-le", len(data))
