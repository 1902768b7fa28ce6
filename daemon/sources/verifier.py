"""What the checkpoint source needs of the child process that verifies checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


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
