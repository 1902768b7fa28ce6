"""The loss of a run as a PNG, with the moment of the trouble marked; in the notifier child and in commands.

An own renderer: a picture of lines and digits needs no library. It writes eight colours, one byte a pixel,
compressed by zlib; how large and how fast is in docs/phone.md (``scripts/bench-picture``).
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit.numbers import number

WIDTH, HEIGHT = 960, 480
"""Pixels: two for each of a phone that shows the picture small. Our choice."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 110, 20, 46, 46
"""Margins in pixels, for the labels."""
LOG_FROM = 50.0
"""Largest over smallest value from which on the axis is logarithmic: a loss that explodes would else be
a flat line and a needle. Our choice."""
_LARGEST = 1e300
"""Larger values are drawn as this one: the difference of two has to be a number."""
WHITE, BLACK, GREY, LIGHT, BLUE, RED = range(6)
_COLOURS = (
    (255, 255, 255),
    (20, 20, 20),
    (120, 120, 120),
    (228, 228, 228),
    (25, 95, 190),
    (205, 25, 25),
)
_SCALE = 2
_GLYPHS = {
    # Five columns, a bit a row, the lowest bit on top.
    "0": "3e5149453e",
    "1": "00427f4000",
    "2": "4261514946",
    "3": "2141454b31",
    "4": "1814127f10",
    "5": "2745454539",
    "6": "3c4a494930",
    "7": "0171090503",
    "8": "3649494936",
    "9": "064949291e",
    ".": "0060600000",
    "-": "0808080808",
    "+": "08083e0808",
    ",": "0050300000",
    ":": "0036360000",
    "a": "2054545478",
    "b": "7f48444438",
    "c": "3844444420",
    "d": "384444487f",
    "e": "3854545418",
    "f": "087e090102",
    "g": "0c5252523e",
    "h": "7f08040478",
    "i": "00447d4000",
    "j": "2040443d00",
    "k": "7f10284400",
    "l": "00417f4000",
    "m": "7c04180478",
    "n": "7c08040478",
    "o": "3844444438",
    "p": "7c14141408",
    "q": "081414187c",
    "r": "7c08040408",
    "s": "4854545420",
    "t": "043f444020",
    "u": "3c4040207c",
    "v": "1c2040201c",
    "w": "3c4030403c",
    "x": "4428102844",
    "y": "0c5050503c",
    "z": "4464544c44",
    "(": "001c224100",
    ")": "0041221c00",
    "_": "4040404040",
    " ": "0000000000",
}
_FONT = {name: bytes.fromhex(columns) for name, columns in _GLYPHS.items()}


def of_facts(facts: Mapping[str, Any]) -> bytes | None:
    """The picture for the evidence of an incident; ``None`` where no loss is known."""
    curve = facts.get("curve") or {}
    points = [(float(s), math.nan if v is None else float(v)) for s, v in curve.get("points", ())]
    if len([v for _, v in points if math.isfinite(v)]) < 2:
        return None
    moment = facts.get("moment_step")
    return draw(points, None if moment is None else float(moment), str(curve.get("metric")))


def draw(
    points: Sequence[tuple[float, float]], moment: float | None, metric: str = "loss"
) -> bytes:
    """A PNG of (step, value) points; those that are not finite are marked at the upper edge.

    ``moment``: step that is marked. Two points at least are finite.
    """
    sheet = _Sheet()
    points = [(s, min(max(v, -_LARGEST), _LARGEST) if math.isfinite(v) else v) for s, v in points]
    finite = [value for _, value in points if math.isfinite(value)]
    low, high = min(finite), max(finite)
    logarithmic = low > 0 and high / low >= LOG_FROM
    scale = math.log if logarithmic else float
    steps = [step for step, _ in points] + ([] if moment is None else [moment])
    first, last = min(steps), max(steps)
    width, height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    bottom, room = scale(low), scale(high) - scale(low)

    def x_of(step: float) -> int:
        return _LEFT + round((step - first) / ((last - first) or 1.0) * width)

    def y_of(value: float) -> int:
        return _TOP + height - round((scale(value) - bottom) / (room or 1.0) * height)

    for part in range(5):
        y = _TOP + height * part // 4
        sheet.line(_LEFT, y, WIDTH - _RIGHT, y, LIGHT)
        value = bottom + room * (4 - part) / 4
        sheet.text(
            _LEFT - 8, y - 7, number(math.exp(value) if logarithmic else value), GREY, end=True
        )
    sheet.line(_LEFT, _TOP, _LEFT, _TOP + height, GREY)
    sheet.line(_LEFT, _TOP + height, WIDTH - _RIGHT, _TOP + height, GREY)
    sheet.text(_LEFT, HEIGHT - 32, number(first), GREY)
    sheet.text(WIDTH - _RIGHT, HEIGHT - 32, f"step {number(last)}", GREY, end=True)
    sheet.text(_LEFT, 14, metric.lower() + (" (log)" if logarithmic else ""), BLACK)
    before: tuple[int, int] | None = None
    for step, value in points:
        if not math.isfinite(value):
            sheet.box(x_of(step) - 2, _TOP - 6, 5, 12, RED)
            before = None
            continue
        at = x_of(step), y_of(value)
        sheet.line(*(before or at), *at, BLUE, thick=3)
        before = at
    if moment is not None:
        x = x_of(moment)
        for y in range(_TOP, _TOP + height, 12):
            sheet.line(x, y, x, y + 7, RED, thick=2)
        sheet.text(x, 14, f"step {number(moment)}", RED, end=x > WIDTH // 2)
    return sheet.png()


class _Sheet:
    """Pixels, a byte each: the number of its colour."""

    def __init__(self) -> None:
        self._rows = [bytearray(WIDTH) for _ in range(HEIGHT)]

    def box(self, x: int, y: int, width: int, height: int, colour: int) -> None:
        left, right = max(0, x), min(WIDTH, x + width)
        if right <= left:
            return
        run = bytes([colour]) * (right - left)
        for row in self._rows[max(0, y) : max(0, y + height)]:
            row[left:right] = run

    def line(self, x: int, y: int, to_x: int, to_y: int, colour: int, thick: int = 1) -> None:
        length = max(abs(to_x - x), abs(to_y - y)) or 1
        half = thick // 2
        for part in range(length + 1):
            at_x, at_y = x + (to_x - x) * part // length, y + (to_y - y) * part // length
            self.box(at_x - half, at_y - half, thick, thick, colour)

    def text(self, x: int, y: int, words: str, colour: int, *, end: bool = False) -> None:
        """Write from ``x`` on, or with ``end`` up to there; what has no glyph is left blank."""
        x -= 6 * _SCALE * len(words) if end else 0
        for place, letter in enumerate(words):
            for column, row in _bits(_FONT.get(letter, _FONT[" "])):
                left = x + (6 * place + column) * _SCALE
                self.box(left, y + row * _SCALE, _SCALE, _SCALE, colour)

    def png(self) -> bytes:
        """The file (PNG specification: no filter, colour type 3)."""
        head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
        palette = b"".join(bytes(colour) for colour in _COLOURS)
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows), 6)
        parts = [(b"IHDR", head), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    name, data = part
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _bits(glyph: bytes) -> Iterator[tuple[int, int]]:
    """(column, row) of the pixels of a letter."""
    return ((c, r) for c, column in enumerate(glyph) for r in range(8) if column >> r & 1)
