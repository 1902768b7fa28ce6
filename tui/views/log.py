"""A log: followed at its end, scrolled back, searched and filtered, whatever its size. Lines that are
evidence of an open incident are marked."""

from __future__ import annotations

import re
from array import array
from typing import Any

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import BLANK, Row, Span, cut_left, heading, pad, row, wrap

from .. import answer, log_rows
from ..desk import Desk
from ..filtering import Found, joined, next_part
from ..logfile import MOST_MATCHES, Line, LogFile, Stopped, Tail, Window
from ..view import Key, View


class LogView(View):
    """One log of the selected run. What reads the disk runs beside the screen."""

    name = "log"
    title = "log"
    live_search = False

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.wrap = True
        self.left_cells = 0
        self.pattern: re.Pattern[bytes] | None = None
        self.trouble = ""
        self._number = 0
        """Which of the run's logs."""
        self._file: LogFile | None = None
        self._whose = ("", "", "")
        self._room = 20
        self._task = 0
        """Counts searches: an older one stops when a newer one begins."""
        self._reset()

    def _reset(self) -> None:
        self._end: int | None = None
        """The place below the last line that is shown; None follows the end."""
        self._delta = 0
        """Lines to move by that no reading has done yet."""
        self._window = Window([], 0, 0)
        self._from_top = False
        self._match_end: int | None = None
        self._found: Found | None = None
        self._filtering = False
        self._task += 1
        self.progress = ""

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [
            Key("f F", "follow the end", self.follow),
            Key("ampersand", "filter: only lines that a regular expression is found in", self._ask_filter),
            Key("w", "wrap long lines, or cut them", self._wrap),
            Key("left h", "to the left", lambda: self._sideways(-8)),
            Key("right l", "to the right", lambda: self._sideways(8)),
            Key("p", "the next log of the run", self._next_log),
        ]  # fmt: skip

    def busy(self) -> bool:
        """A search or a filter goes on."""
        return bool(self.progress)

    @property
    def _matches(self) -> array[int]:
        """Where the lines begin that the filter leaves."""
        return self._found.places if self._found else array("q")

    # -------------------------------------------------------------------- which log

    def shown(self) -> None:
        """Read what is new."""
        run = self.desk.chosen
        logs = answer.records(run, "logs")
        log = logs[self._number % len(logs)] if logs else {}
        path = log.get("path") if isinstance(log.get("path"), str) else ""
        whose = (self.desk.box, answer.text(run, "run"), str(path))
        if whose != self._whose:
            self._whose = whose
            self._file = None
            self.pattern, self.query, self.trouble = None, "", ""
            self._reset()
        here = self.desk.local and str(path).startswith("/") and not self.trouble
        if here and not isinstance(self._file, Tail):
            self._file = self._file or LogFile(str(path))
        elif self._file is None or self._end is None:
            tail = run.get("log_tail")
            lines = (
                [line for line in tail if isinstance(line, str)] if isinstance(tail, list) else []
            )
            self._file = Tail(str(path), lines)
        self._read()
        if self.pattern is not None and self._end is None:
            self._filter_on()

    def _next_log(self) -> None:
        self._number += 1
        self.trouble = ""
        self.shown()

    def _read(self) -> None:
        """Have the lines read that are to be shown, after the moves that are due."""
        file, end, delta, room = self._file, self._end, self._delta, self._room
        if file is None:
            return

        def take(told: Any) -> None:
            if file is not self._file:
                return
            if isinstance(told, Exception):
                self._fail(told)
                return
            if self.pattern is None and end == self._end:  # else it answers an older question
                self._delta -= delta
                if (end, told) != (self._end, self._window):
                    self._window = told
                    if self._end is not None or delta < 0:
                        at_end = told.end >= told.size and delta >= 0
                        self._end = None if at_end else told.end
            if self.pattern is None and self._delta:
                self._read()
            self.desk.services.changed()

        if self.pattern is None:
            self.desk.services.aside("log", lambda: file.window(end, delta, room), take)

    def _fail(self, error: Exception) -> None:
        words = getattr(error, "strerror", None) or str(error)
        self.trouble = f"it cannot be read here ({answer.clean(str(words))}): the newest lines"
        self._file = None
        self._reset()
        self.shown()
        if self.query:  # what was looked for may be in these lines
            self._seek(-1)

    # -------------------------------------------------------------------- moving

    def move(self, delta: int) -> None:
        """Scroll by lines."""
        self._from_top = False
        if self.pattern is not None:
            end = len(self._matches) if self._match_end is None else self._match_end
            end = min(max(min(self._room, len(self._matches)), end + delta), len(self._matches))
            self._match_end = None if end == len(self._matches) else end
            self._show_matches()
        elif delta < 0 or self._end is not None:
            self._delta += delta
            self._read()

    def page(self, delta: int) -> None:
        """Scroll by what fits on the screen."""
        self.move(max(1, self._room - 1) * delta)

    def jump(self, end: bool) -> None:
        """Go to the first line, or follow the end."""
        if end:
            self.follow()
        elif self.pattern is not None:
            self.move(-len(self._matches))
            self._from_top = True
        else:
            self._delta, self._end = 0, 0
            self._from_top = True
            self._delta = -1
            self._read()

    def follow(self) -> None:
        """Show the newest lines as they come."""
        self._end, self._delta, self._match_end, self._from_top = None, 0, None, False
        self.shown()

    def _wrap(self) -> None:
        self.wrap, self.left_cells = not self.wrap, 0

    def _sideways(self, cells: int) -> None:
        self.wrap = False
        self.left_cells = max(0, self.left_cells + cells)

    # -------------------------------------------------------------------- searching

    def search(self, query: str) -> None:
        """Find the nearest line above that has the text; a text without capitals is found in capitals
        too."""
        self.query = query
        self._task += 1
        self.progress = ""
        if query:
            self._seek(-1)

    def next_match(self, step: int) -> None:
        """``n``: the next one above, as the newest lines are the first that are seen; ``N``: below."""
        if self.query:
            self._seek(-step)

    def _seek(self, step: int) -> None:
        file, back = self._file, step < 0
        if file is None:
            return
        self._task += 1
        task, needle = self._task, self.query.encode()
        lines = self._window.lines
        found_now = [line for line in lines if self._has(line)]
        place = lines[-1].end if lines else None  # nothing is read yet: from the end
        if found_now:  # from the one that stands at the bottom
            place = found_now[-1].begin if back else found_now[-1].end
        size = max(1, self._window.size)

        def stop(reached: int) -> bool:
            self.progress = f"searching {100 * reached // size} %"
            return task != self._task

        def take(told: Any) -> None:
            if task != self._task:
                return
            self.progress = ""
            if isinstance(told, Line):
                self._end, self._delta, self._from_top = told.end, 0, False
                self.pattern = None
                self._read()
            elif isinstance(told, Exception) and not isinstance(told, Stopped):
                self._fail(told)
            else:
                where = "above" if back else "below"
                self.desk.services.tell(f"no further line {where} has {self.query!r}")
            self.desk.services.changed()

        def job() -> Line | None:
            return file.find(needle, file.size() if place is None else place, back, stop)

        self.desk.services.aside("search", job, take)

    def _has(self, line: Line) -> bool:
        needle = self.query.encode()
        return bool(needle) and needle in (
            line.data.lower() if needle == needle.lower() else line.data
        )

    # -------------------------------------------------------------------- the filter

    def _ask_filter(self) -> None:
        now = self.pattern.pattern.decode("utf-8", "replace") if self.pattern else ""
        self.desk.services.prompt(
            "Only lines with (regular expression; empty: all)", now, self.filter
        )

    def filter(self, text: Any) -> None:
        """Show only the lines that a regular expression is found in; all for an empty one."""
        self._task += 1
        try:
            pattern = re.compile(str(text).encode(), re.MULTILINE) if text else None
        except (re.error, OverflowError) as error:
            self.desk.services.tell(f"no regular expression: {error}", bad=True)
            return
        self.pattern = pattern
        self._found, self._match_end = None, None
        self._window = Window([], 0, self._window.size)
        self._end, self._delta = None, 0
        if pattern is None:
            self.shown()
        else:
            self._filter_on()

    def _filter_on(self) -> None:
        """Look through the next part, until all is looked through or enough is found."""
        file, pattern, found = self._file, self.pattern, self._found
        if file is None or pattern is None or self._filtering:
            return
        self._filtering = True
        task = self._task

        def stop(_reached: int) -> bool:
            return task != self._task

        def take(told: Any) -> None:
            self._filtering = False
            if task != self._task or pattern is not self.pattern:
                self._filter_on()
            elif isinstance(told, Exception):
                self.progress = ""
                self._fail(told)
            else:
                self._found, moved = joined(found, told)
                if self._match_end is not None:
                    self._match_end = max(1, self._match_end + moved)
                left = 100 * self._found.begin // max(1, self._found.end)
                self.progress = f"filtering, {left} % to go" if self._found.more else ""
                self._show_matches()
                if self._found.more:
                    self._filter_on()

        self.desk.services.aside("filter", lambda: next_part(file, pattern, found, stop), take)

    def _show_matches(self) -> None:
        file, pattern = self._file, self.pattern
        if file is None:
            return
        end = len(self._matches) if self._match_end is None else self._match_end
        places = self._matches[max(0, end - self._room) : end]
        size = self._found.end if self._found else 0

        def take(told: Any) -> None:
            if pattern is self.pattern and isinstance(told, list):
                self._window = Window(told, told[-1].end if told else 0, size)
                self.desk.services.changed()

        self.desk.services.aside("log", lambda: file.lines_at(places), take)

    # -------------------------------------------------------------------- drawing

    def draw(self, width: int, height: int) -> list[Row]:
        """The title and the lines."""
        if height - 1 != self._room:
            self._room = max(1, height - 1)
            self._read() if self.pattern is None else self._show_matches()
        run = self.desk.chosen
        texts = [self._text(line) for line in self._window.lines]
        guilty = log_rows.guilty_lines(run, texts)
        drawn = [self._drawn(line, text, text in guilty, width) for line, text in zip(self._window.lines, texts, strict=True)]  # fmt: skip
        rows = [piece for pieces in drawn for piece in pieces]
        rows = rows[: self._room] if self._from_top else rows[-self._room :]
        if not rows:
            words = "no line matches" if self.pattern else "no lines yet"
            rows = [row(Span(f"  {self.progress or words}", "dim"))]
        rows += [BLANK] * (self._room - len(rows))
        return [self._title(width), *(pad(line, width) for line in rows)]

    def _text(self, line: Line) -> str:
        return answer.clean(self.desk.services.mask(line.data.decode("utf-8", "replace")))

    def _drawn(self, line: Line, text: str, guilty: bool, width: int) -> list[Row]:
        if self._has(line):
            tone = "alert"
        elif guilty:
            tone = "bad"
        else:
            tone = ""
        mark = Span("! ", "bad") if guilty else Span("  ")
        if not self.wrap:
            return [row(mark, Span(text[self.left_cells :], tone))]  # type: ignore[arg-type]
        rows = []
        for piece in wrap(text, width - 3):
            rows.append(row(mark, Span(piece, tone)))  # type: ignore[arg-type]
            mark = Span("  ")
        return rows

    def _title(self, width: int) -> Row:
        path = answer.clean(self._whose[2]) or "none known"
        told = self._window
        place = (
            "following" if self._end is None and self._match_end is None else "no more following"
        )
        if self._end is not None and told.size:
            place = f"at {100 * told.end // told.size} % of {figures.size(told.size)}"
        elif told.size and not isinstance(self._file, Tail):
            place += f", {figures.size(told.size)}"
        parts = [self.progress, place] if self.progress else [place]
        if self.pattern is not None:
            more = "+" if len(self._matches) >= MOST_MATCHES else ""
            shown = answer.clean(self.pattern.pattern.decode("utf-8", "replace"))
            parts.append(f"{len(self._matches):,}{more} lines with {shown}")
        if self.query:
            parts.append(f"search {self.query}")
        if isinstance(self._file, Tail):
            parts.append(
                self.trouble
                or (
                    "the newest lines: the log is on the box"
                    if not self.desk.local
                    else "the newest lines"
                )
            )
        words = ", ".join(parts)
        room = max(12, width - 8 - len(words))
        return heading("Log", row(cut_left(path, room), Span(f"  {words}", "dim")), width, True)
