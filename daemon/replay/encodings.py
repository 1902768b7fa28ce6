"""Turns logs in other encodings, as PowerShell and Chinese Windows write them, into UTF-8.

UTF-16 and UTF-32 are known by their byte order mark, UTF-16 without one by its NUL bytes, and
GB18030 (with it GBK and GB2312) by text that is valid GB18030, common Chinese, and not UTF-8.
Everything else passes through byte for byte. No newline is added or removed, so line numbers stay.
"""

from __future__ import annotations

import codecs
import re

HEAD = 4096
"""First bytes that decide between UTF-8 and UTF-16 or UTF-32."""
SAMPLE = 64 << 10
"""Bytes from the first one that is not ASCII that decide between UTF-8 and GB18030."""
COMMON = 0.9
"""Least share of the two-byte characters of a Chinese log that are in GB2312, the common six
thousand. Umlauts of a Latin-1 log that happen to be valid GB18030 are not in it."""
FEW_NULS = 0.3
"""Least share of NUL bytes, at the even or at the odd places, of a text that is UTF-16: Chinese
logs have digits, spaces and English words too; those of real trainers are a third ASCII or more."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_PAIRS = re.compile(rb"[\x81-\xfe][\x40-\xfe]")
_COMMON_PAIR = re.compile(rb"[\xa1-\xa9\xb0-\xf7][\xa1-\xfe]")


class ToUtf8:
    """Bytes of a log in, UTF-8 out. The result does not depend on how the input is split."""

    def __init__(self) -> None:
        self.name = "utf-8"
        """Encoding of what was fed, as far as it is known."""
        self._held = b""
        self._begun = False
        self._settled = False
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; returns the text so far. Bytes of unclear encoding are held back."""
        if self._settled:
            return self._pass(data)
        data = self._held + data
        self._held = b""
        if not self._begun and len(data) < HEAD:
            self._held = data
            return b""
        return self._decide(data, at_end=False)

    def finish(self) -> bytes:
        """The text that was held back; to be called after the last byte."""
        data, self._held = self._held, b""
        out = b"" if self._settled else self._decide(data, at_end=True)
        return out + self._pass(b"", final=True)

    def _decide(self, data: bytes, *, at_end: bool) -> bytes:
        if not self._begun:
            self._begun = True
            for mark, name in _MARKS:
                if data.startswith(mark):
                    data = data[len(mark) :]
                    self._settle(name)
                    break
            else:
                wide = _wide(data[:HEAD])
                if wide:
                    self._settle(wide)
            if self._settled:
                return self._pass(data)
        found = _NOT_ASCII.search(data)
        if found is None:
            return data
        start = found.start()
        sample = data[start : start + SAMPLE]
        if len(sample) < SAMPLE and not at_end:
            self._held = data[start:]
            return data[:start]
        self._settle("gb18030" if _chinese(sample) else "utf-8")
        return data[:start] + self._pass(data[start:])

    def _settle(self, name: str) -> None:
        self.name, self._settled = name, True
        if name != "utf-8":
            self._decoder = codecs.getincrementaldecoder(name)(errors="replace")

    def _pass(self, data: bytes, *, final: bool = False) -> bytes:
        if self._decoder is None:
            return data
        text = self._decoder.decode(data, final)
        # A byte order mark in the middle: files were concatenated, or a second program appended.
        return text.replace("\ufeff", "").encode("utf-8", "replace")


def _wide(head: bytes) -> str:
    """The encoding of UTF-16 without a mark, else "": every other byte of ASCII in it is NUL."""
    head = head[: len(head) & ~1]
    if len(head) < 4:
        return ""
    nuls = [head[parity::2].count(0) * 2 / len(head) for parity in (0, 1)]
    for parity, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if nuls[parity] >= FEW_NULS and nuls[1 - parity] < 0.01:
            try:
                codecs.getincrementaldecoder(name)().decode(head)
            except UnicodeDecodeError:
                continue
            return name
    return ""


def _chinese(sample: bytes) -> bool:
    """True for valid GB18030 of mostly common characters that is not UTF-8."""
    if _valid(sample, "utf-8") or not _valid(sample, "gb18030"):
        return False
    pairs = _PAIRS.findall(sample)
    common = sum(1 for pair in pairs if _COMMON_PAIR.match(pair))
    return bool(pairs) and common >= COMMON * len(pairs)


def _valid(sample: bytes, name: str) -> bool:
    try:
        codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True
