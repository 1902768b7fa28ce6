"""Answers with a list that may be long: made row by row, over several turns of the loop.

300 runs are half a second of work, 20,000 checkpoints 8 MiB of text. Made in one turn they would keep
every other client waiting, and every source. So a handler gives a :class:`LongAnswer`, which only says
how the rows are made; the server takes some of them in each turn, sends them at once, and makes no more
while the client has not taken those. Whoever asks with a ``limit`` gets the list in pages, each an answer
of its own; the rows of all pages are of one list, that of the first question.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..system import jsonlines
from ..system.errors import UsageError

PAGE_BYTES = 1 << 20
"""Bytes after which a page ends in any case: far below the longest line that a client takes, and about
what is made within one round of the loop. Our choice."""
NOT_YET: Final = object()
"""Given by the rows of a list in place of a row, where more work is to be done before the next one."""
_serial = itertools.count(1)


class LongAnswer:
    """The rows of a list, each made when it is asked for, and what stands beside them.

    Without ``field`` the data of the answer is the list itself; with it, an object with the fields of
    ``head`` and the list in ``field``. ``rows`` may give :data:`NOT_YET`.
    """

    def __init__(
        self, rows: Iterable[Any], head: Mapping[str, Any] | None = None, field: str = ""
    ) -> None:
        self.next = ""
        """What a client names to get the next page; empty: there is none (yet)."""
        self._rows = iter(rows)
        self._before, self._behind = "[", "]"
        if field:
            text = jsonlines.dumps(head or {})[:-1]
            comma = ", " if head else ""
            self._before, self._behind = f"{text}{comma}{jsonlines.dumps(field)}: [", "]}"
        self._held: bytes | None = None
        """The first row of the next page."""
        self._serial = next(_serial)
        self._given = 0

    def page(self, limit: int | None) -> Iterator[bytes]:
        """The line of an answer with ``limit`` rows or fewer (``None``: all that are left), in pieces of
        a row. A piece may be empty."""
        self.next = ""
        yield f'{{"ok": true, "data": {self._before}'.encode()
        count = size = 0
        comma = b""
        while (row := self._take()) is not None:
            if row:
                if limit is not None and count and (count >= limit or size >= PAGE_BYTES):
                    self._held = row
                    self.next = f"{self._serial}.{self._given}"
                    break
                yield comma + row
                comma = b", "
                count += 1
                size += len(row)
                self._given += 1
            else:
                yield b""
        following = f', "next": {jsonlines.dumps(self.next)}' if self.next else ""
        yield f"{self._behind}{following}}}\n".encode()

    def _take(self) -> bytes | None:
        """The text of the next row; empty if it takes longer, ``None`` behind the last one."""
        held, self._held = self._held, None
        if held is not None:
            return held
        for row in self._rows:
            return b"" if row is NOT_YET else jsonlines.dumps(row).encode()
        return None


def limit_of(question: Mapping[str, Any]) -> int | None:
    """How many rows are wanted at most; ``None``: all. Raises UsageError."""
    limit = question.get("limit")
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise UsageError("`limit` is a whole number, 1 or more")
    return limit
