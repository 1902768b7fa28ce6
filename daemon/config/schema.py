"""What may be configured: every section of the file is a dataclass here, with its defaults.

A key is a field; its sentence is printed in the manual. :mod:`.load` fills them.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from middlewatch.sentinels.kit.observations import SeverityName

from ..system.clock import epoch
from ..system.errors import ConfigError

_COMMA = re.compile(r",(?=\s*[A-Za-z][\w.+\-]*://)")
"""Between two URLs; a comma inside one (two e-mail addresses) belongs to it."""


@dataclass(frozen=True)
class Alerts:
    """Section `[alerts]`: who is told, and how."""

    urls: tuple[str, ...] = ()
    """Apprise URLs, tried in this order; also `$MIDDLEWATCH_ALERT_URLS` (comma-separated)."""
    urls_file: str = ""
    """A file with one Apprise URL per line, kept readable by its owner only."""
    mode: Literal["ladder", "all"] = "ladder"
    """`ladder`: the next URL only when the one before failed; `all`: every URL."""
    min_severity: SeverityName = "warning"
    """Lowest severity that is pushed: `critical`, `warning` or `info`."""
    resolved: bool = True
    """Push once more when an incident that was pushed is over."""
    finished: bool = True
    """Push when a run reaches its end."""
    repeat_s: tuple[float, ...] = (1800.0, 7200.0, 21600.0)
    """Reminders of an open, unacknowledged critical incident: 30 min, 2 h, then every 6 h."""
    host: str = ""
    """Name of this box in messages; empty takes the host name."""


@dataclass(frozen=True)
class Watch:
    """Section `[watch]`: what is written where."""

    status_dir: str = ""
    """Folder beside the run for a second copy of the status page and the index."""
    store_max_bytes: int = 64 << 20
    """The store is trimmed when it grows past this."""
    ends_at: str = ""
    """When the box is taken away, like `2026-11-22T06:00+01:00`; without a zone, that of the box."""
    walltime_s: float = 0.0
    """How long a run may last from its start, like `"24h"`; 0 where nothing limits it."""

    def ends(self, started_at: float) -> dict[str, float]:
        """The ends that are told here, for a run that began then: origin -> epoch seconds."""
        found = {}
        if self.ends_at:
            found["[watch] ends_at"] = epoch(self.ends_at)
        if self.walltime_s:
            found["[watch] walltime_s"] = started_at + self.walltime_s
        return found


@dataclass(frozen=True)
class Platform:
    """Section `[platform]`: who this box is rented from, and what its folders outlive."""

    name: str = ""
    """Empty recognises it; a name as `middlewatch audit` shows it; `none` for no platform at all."""
    survives_destroy: tuple[str, ...] = ()
    """Folders that outlive the box."""
    survives_stop: tuple[str, ...] = ()
    """Folders that outlive a stop of the box, and not its end."""
    dies_with_stop: tuple[str, ...] = ()
    """Folders that are lost when the box is stopped or taken back."""


@dataclass(frozen=True)
class Checkpoints:
    """Section `[checkpoints]`: which saves stand out, and how often the run is interrupted."""

    best_metric: str = ""
    """Metric that names the best one. Empty: what the trainer says in its saves, else
    `eval_loss`; `train_loss` stands in where no save has it."""
    best_mode: Literal["auto", "min", "max"] = "auto"
    """`min`: lower is better; `max`: higher; `auto`: what the trainer says, else by the name."""
    milestones: tuple[str, ...] = ()
    """Patterns of names that are milestones, like `"*-phase1"`, beside those that say so."""
    milestone_every_steps: int = 0
    """Every multiple of so many steps is a milestone; 0: none."""
    interruption_hours: float = 0.0
    """Mean time between two interruptions of one box, in hours; 0: as the platform's, if known."""


@dataclass(frozen=True)
class MirrorSettings:
    """Section `[mirror]`: where verified checkpoints are copied to."""

    to: str = ""
    """A folder of another disk, `user@host:path`, or `remote:path` of rclone; empty: nowhere."""
    runs: tuple[str, ...] = ()
    """Names of the runs whose checkpoints are copied; empty: of all."""
    best_only: bool = False
    """Copy the best one only, not every one that passed."""
    limit_bytes_per_s: int = 0
    """Bytes that are sent per second at most, like `"20MB"`; 0: no limit."""


@dataclass(frozen=True)
class Config:
    """Everything, with the origin of each value."""

    alerts: Alerts = field(default_factory=Alerts)
    watch: Watch = field(default_factory=Watch)
    platform: Platform = field(default_factory=Platform)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    mirror: MirrorSettings = field(default_factory=MirrorSettings)
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Sentinel name -> its Limits."""
    disabled: frozenset[str] = frozenset()
    """Sentinels switched off by `enabled = false`."""
    path: str = ""
    """The file it came from; empty when there is none."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """`section.key` -> where the value came from, for those that are not defaults."""

    @property
    def alert_urls(self) -> tuple[str, ...]:
        """All alert URLs: configuration, `urls_file`, environment. Secrets: never print.

        A relative `urls_file` lies beside the configuration file.
        """
        urls = list(self.alerts.urls)
        if self.alerts.urls_file:
            urls += _read_urls(Path(self.path).parent / Path(self.alerts.urls_file).expanduser())
        urls += _COMMA.split(os.environ.get("MIDDLEWATCH_ALERT_URLS", "").strip(" ,"))
        return tuple(dict.fromkeys(u.strip() for u in urls if u.strip()))


def _read_urls(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"alerts.urls_file {path} cannot be read: {error}") from error
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


SECTIONS: Mapping[str, type[Any]] = {
    f.name: type(getattr(Config(), f.name))
    for f in dataclasses.fields(Config)
    if dataclasses.is_dataclass(getattr(Config(), f.name))
}
"""The fields of :class:`Config` that are sections: name -> class, in their order."""
