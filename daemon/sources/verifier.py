"""What the checkpoint source needs of the child process that verifies checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

VERIFIER_DEADLINE_S = 120.0
"""Seconds for one answer. Our choice, estimated and not measured: 1,000 shards on a cold network
disk at 50 ms each take 50 s, and this is twice that."""
LEARNED_PATIENCE_S = 7 * 86400.0
"""Seconds for which a run that goes on is given the benefit of the doubt when only its earlier saves say that a
part is missing: it may have been told to save less from now on. The next save tells, or the end of the run.
Our choice: longer than any run saves nothing."""
READ_S = 1.0
"""Seconds of reading after one scan (every 2 s): several small checkpoints, or of a large one the
part that the verifier reads for one question."""
MOST_FAILURES = 3
"""Verifiers that may die while checking one checkpoint before it is called ``unverifiable``."""


class Verifier(Protocol):
    """The methods of :class:`..system.worker.JsonWorker` that are used here."""

    @property
    def waiting(self) -> bool:
        """True while an answer is outstanding."""
        ...

    def ask(self, message: Mapping[str, Any], mono: float) -> bool:
        """Send a question; ``False`` if it could not be sent."""
        ...

    def answers(self) -> list[dict[str, Any]]:
        """What has arrived."""
        ...

    def fileno(self) -> int | None:
        """The descriptor that the answers come through; ``None`` without a child."""
        ...

    def overdue(self, mono: float) -> float:
        """Seconds past the deadline of the outstanding answer; 0 if it is not overdue."""
        ...

    def restart(self) -> None:
        """Kill it; the next question starts another one."""
        ...

    def close(self) -> None:
        """Kill it for good."""
        ...
