from __future__ import annotations

import math
import struct
import zlib

import pytest

from middlewatch.daemon.report.picture import BLUE, HEIGHT, RED, WIDTH, draw, of_facts


def pixels(png: bytes) -> list[bytes]:
    """The rows of a picture; every check sum is looked at."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, names = 8, b"", []
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        name, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        (check,) = struct.unpack_from(">I", png, at + 8 + length)
        assert check == zlib.crc32(name + body)
        names.append(name)
        data += body if name == b"IDAT" else b""
        at += 12 + length
    assert names == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    raw = zlib.decompress(data)
    assert len(raw) == HEIGHT * (WIDTH + 1)
    return [raw[y * (WIDTH + 1) + 1 : (y + 1) * (WIDTH + 1)] for y in range(HEIGHT)]


def height_of(rows: list[bytes], x: int) -> int:
    return next(y for y, row in enumerate(rows) if row[x] == BLUE)


def test_a_falling_loss_falls_and_the_moment_is_marked() -> None:
    rows = pixels(draw([(float(n), 100.0 - n) for n in range(101)], 50.0))
    xs = [x for x in range(WIDTH) if any(row[x] == BLUE for row in rows)]
    left, right = height_of(rows, xs[5]), height_of(rows, xs[-5])
    assert left < HEIGHT / 4 < HEIGHT * 3 / 4 < right
    marked = [x for x in range(WIDTH) if sum(row[x] == RED for row in rows) > HEIGHT / 3]
    middle = (xs[0] + xs[-1]) / 2
    assert marked
    assert all(abs(x - middle) <= 3 for x in marked)


def test_another_program_reads_it() -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    import io

    opened = image.open(io.BytesIO(draw([(0.0, 2.0), (1.0, 1.0)], None)))
    opened.load()
    assert opened.size == (WIDTH, HEIGHT)


@pytest.mark.parametrize(
    "points",
    [
        [(0.0, 1.0), (0.0, 1.0)],
        [(0.0, 0.0), (5.0, math.nan), (6.0, math.inf), (7.0, -3.0)],
        [(1e9, 1e-300), (1e9 + 1, 1e300)],
        [(0.0, 1e308), (1.0, -1e308)],
    ],
)
def test_odd_numbers_are_drawn(points: list[tuple[float, float]]) -> None:
    for moment in (None, -5.0, 5.0):
        pixels(draw(points, moment))


def test_numbers_that_are_none_are_marked() -> None:
    facts = {"curve": {"metric": "train_loss", "points": [[0, 2.0], [1, 1.0], [2, None]]}}
    drawn = of_facts(facts)
    assert drawn is not None
    assert any(RED in row for row in pixels(drawn))


def test_without_a_loss_there_is_no_picture() -> None:
    for points in ([], [[0, None], [1, None]], [[0, 1.0]]):
        assert of_facts({"curve": {"metric": "train_loss", "points": points}}) is None
    assert of_facts({}) is None
