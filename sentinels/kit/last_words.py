"""What the end of a log says about the end of its program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Farewell = Literal["", "stop", "end", "results"]


@dataclass(frozen=True, slots=True)
class LastWords:
    """What the last lines of a log say about the end of its program, read when that is gone."""

    last_line: str = ""
    line: int = 0
    """Its number."""
    closing: tuple[str, ...] = ()
    """Lines after the last one of the training loop, of kinds that never came while it ran."""
    farewell: Farewell = ""
    """What the closing lines say: ``stop``: that the loop was left early; ``end``: that all is
    done; ``results``: only results. Empty: nothing of this."""
    said: str = ""
    """The closing line that says it."""
    reached: bool | None = None
    """Whether the counters of the loop (``12/40``) stand at their totals; ``None``: there are
    none."""
    counted: tuple[float, float] | None = None
    """The outermost of these counters and its total."""
    short_of: tuple[float, float] | None = None
    """What that closing line itself counts, where it is far from its total: "done (step 200 of 1000)"."""
    ran_out: str = ""
    """A line after the loop which says that the data ended before the training did."""
    well_line: int = 0
    """The last line in which the program shows results of its own after its loop, so that what it
    complained about before did not end it; 0 for none."""
    error: str = ""
    """The first line of an error that the log ends with; empty if it does not."""
    error_line: int = 0
    loose: bool = False
    """It is one by common words only, in a log without a loop: what is known of the line counts more."""
    because: str = ""
    """What the lines after it give as its reason: the deepest of the causes, or what the system said."""
    before: str = ""
    """The words before it, where it only passes on that something failed."""
    block_line: int = 0
    """The first line after the loop, where something after it may be wrong; 0 if that is not known."""
    signal: int | None = None
    """The signal that this line names by an exit status: -9 and 137 are 9."""
    bytes: int = 0
    """Bytes of the log when it was read."""
