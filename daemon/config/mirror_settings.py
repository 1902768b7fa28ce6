"""The section of the configuration that names the second place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mirror:
    """Section `[mirror]`: where verified checkpoints are copied to."""

    to: str = ""
    """A folder of another disk, `user@host:path`, or `remote:path` of rclone; empty: nowhere."""
    runs: tuple[str, ...] = ()
    """Names of the runs whose checkpoints are copied; empty: of all."""
    best_only: bool = False
    """Copy the best one only, not every one that passed."""
    limit_bytes_per_s: int = 0
    """Bytes that are sent per second at most, like `"20MB"`; 0: no limit."""
