"""Several logs of one run as one stream: ordered by the time stamps that their lines begin with, or
one log after the other where there are none.

Without time stamps it is not known which line of one log came before a line of another. The place
in the file does not tell: a rank that dies writes a long traceback at once. Then the log with the
metrics is read first. Otherwise steps that may be older than a trouble in another log would make
it look as if the run went on after it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Protocol

from ..parsers.timestamps import Key, Ordered, kind_of, stamps

LONGEST = 1 << 20
"""Bytes without a newline after which they are passed on all the same."""


class RankText(Protocol):
    """The text of one stream of a run."""

    @property
    def attempt(self) -> int:
        """Number of the start of the run that wrote it."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Its text in UTF-8, in pieces of any size."""
        ...


class InterleavedText:
    """The chunks of all streams in one order.

    ``tells_steps``: whether the first bytes of a stream report training steps. Such streams are
    read first where there are no time stamps.
    """

    def __init__(self, streams: Sequence[RankText], tells_steps: Callable[[bytes], bool]) -> None:
        self.exact = False
        """The order is that of time stamps, or there is only one stream. Set by :meth:`chunks`."""
        self._streams = streams
        self._tells_steps = tells_steps

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """(number of the stream, its next bytes); empty bytes mark the end of a stream."""
        texts = [stream.chunks() for stream in self._streams]
        samples = [next(text, b"") for text in texts]
        texts = [
            chain((sample,) if sample else (), text)
            for sample, text in zip(samples, texts, strict=True)
        ]
        order = sorted(
            range(len(texts)),
            key=lambda n: (self._streams[n].attempt, not self._tells_steps(samples[n])),
        )
        kinds = {kind_of(sample) for sample in samples if sample.count(b"\n") > 1}
        kind = kinds.pop() if len(kinds) == 1 else None
        self.exact = kind is not None or len(texts) == 1
        if kind is not None and len(texts) > 1:
            merged = _by_time([texts[n] for n in order], kind)
            yield from ((order[place], chunk) for place, chunk in merged)
            return
        for number in order:
            yield from ((number, chunk) for chunk in texts[number])
            yield number, b""


def _by_time(texts: Iterable[Iterator[bytes]], kind: str) -> Iterator[tuple[int, bytes]]:
    """Merge by time stamp; of equal ones that of the earlier stream comes first."""
    merged = heapq.merge(*(_keyed(number, text, kind) for number, text in enumerate(texts)))
    for number, group in groupby(merged, key=lambda each: each[1]):
        held: list[bytes] = []
        size = 0
        ended = False
        for _, _, _, block in group:
            held.append(block)
            size += len(block)
            ended = not block
            if size >= LONGEST:
                yield number, b"".join(held)
                held, size = [], 0
        if size:
            yield number, b"".join(held)
        if ended:
            yield number, b""


def _keyed(number: int, text: Iterator[bytes], kind: str) -> Iterator[tuple[Key, int, int, bytes]]:
    return ((key, number, place, block) for place, (key, block) in enumerate(blocks(text, kind)))


def blocks(text: Iterable[bytes], kind: str) -> Iterator[tuple[Key, bytes]]:
    """(sort key, block): a line with a time stamp and the lines without one that follow it.

    The last block is always empty.
    """
    order = Ordered(kind)
    rest = b""
    for chunk in text:
        rest += chunk
        end = rest.rfind(b"\n") + 1
        if not end and len(rest) < LONGEST:
            continue
        data, rest = (rest[:end], rest[end:]) if end else (rest, b"")
        yield from _cut(data, kind, order)
    if rest:
        yield from _cut(rest, kind, order)
    yield order.now, b""


def _cut(data: bytes, kind: str, order: Ordered) -> Iterator[tuple[Key, bytes]]:
    start = 0
    for stamp in stamps(data, kind):
        before = order.now
        if order.advance(stamp.digits) and stamp.start > start:
            yield before, data[start : stamp.start]
            start = stamp.start
    yield order.now, data[start:]
