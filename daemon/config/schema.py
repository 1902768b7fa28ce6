"""What can be configured: every section of the file is a dataclass here, with its defaults.

A key is a field; its docstring is printed in docs/configuration.md. :mod:`.load` fills them.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from middlewatch.sentinels.kit.observations import SeverityName
from middlewatch.sentinels.kit.own_rules import OwnRule

from ..system.clock import epoch
from ..system.errors import ConfigError
from .trusted import keep_secret, read_config

_COMMA = re.compile(r",(?=\s*(?:[\w\-]+(?:\s*,\s*[\w\-]+)*\s*=\s*)?[A-Za-z][\w.+\-]*://)")
"""A comma between two URLs; a comma inside a URL (two e-mail addresses) does not match."""


@dataclass(frozen=True)
class Alerts:
    """Section `[alerts]`: where pushes are sent, and which."""

    urls: tuple[str, ...] = ()
    """Apprise URLs, tried in this order; also `$MIDDLEWATCH_ALERT_URLS` (comma-separated)."""
    urls_file: str = ""
    """A file with one Apprise URL per line; refused if others may read it (mode 600)."""
    mode: Literal["ladder", "all"] = "ladder"
    """`ladder`: use the next URL only if the one before failed; `all`: use every URL."""
    min_severity: SeverityName = "warning"
    """Lowest severity that is pushed: `critical`, `warning` or `info`."""
    resolved: bool = True
    """Push again when an incident that was pushed is resolved."""
    finished: bool = True
    """Push when a run has finished."""
    repeat_s: tuple[float, ...] = (1800.0, 7200.0, 21600.0)
    """Reminders of an open, unacknowledged critical incident: 30 min, 2 h, then every 6 h."""
    host: str = ""
    """Name of this box in messages; empty: the host name."""
    quiet: str = ""
    """Hours in which no warning is pushed, like `"22:00-07:00"`; the next digest has them. Critical
    findings are pushed at any hour."""
    zone: str = ""
    """Time zone of all hours in this file, like `"Europe/Berlin"`; empty: that of the box."""
    language: Literal["en", "zh"] = "en"
    """Language of titles, fixed sentences and first steps of pushes; what is not translated, and what
    comes from your logs, stays as it is."""
    title: str = ""
    """Template for the title of a push about a run, like `"{severity} {run}: {what}"`; empty: ours."""
    body: str = ""
    """Template for its body, like `"{what}\\n{proof}\\n{first_step}"`; empty: ours."""
    attach: bool = True
    """Send the evidence and a picture of the loss with a critical push, where the service takes files."""
    proxy: str = ""
    """Proxy for pushes and the heartbeat, like `"http://proxy:3128"`; empty: `$HTTPS_PROXY` and its
    like."""


@dataclass(frozen=True)
class Route:
    """Section `[routes.TAG]`: what is sent to the URLs that carry this tag."""

    min_severity: SeverityName = "info"
    """Lowest severity that these URLs get: `critical`, `warning` or `info`."""
    classes: tuple[str, ...] = ()
    """Patterns of classes that they get, like `"disk_*"`; `"digest"` is the digest. Empty: all."""
    runs: tuple[str, ...] = ()
    """Patterns of names of runs that they get, like `"gpt-*"`. Empty: all."""
    hours: str = ""
    """Hours in which they get something, like `"08:00-22:00"`; empty: at any time."""


@dataclass(frozen=True)
class Heartbeat:
    """Section `[heartbeat]`: a service that tells you when this box falls silent."""

    url: str = ""
    """Ping URL of a check; empty: no heartbeat. A secret."""
    kind: Literal["auto", "healthchecks", "uptime_kuma", "cronitor"] = "auto"
    """How the service wants to be pinged; `auto`: by the URL."""
    every_s: float = 60.0
    """Time between two pings; the period that is set at the service."""
    grace_s: float = 300.0
    """The grace time that is set at the service: when it has told you that nothing came."""


@dataclass(frozen=True)
class Digest:
    """Section `[digest]`: a report at your cadence, also when nothing has changed."""

    at: tuple[str, ...] = ()
    """Times of day, like `["08:00", "20:00"]`, in the zone of `[alerts] zone`; empty: none."""
    every: str = ""
    """Time between two digests, like `"6h"`, ten minutes at least; empty: only those of `at`."""


@dataclass(frozen=True)
class Answers:
    """Section `[answers]`: buttons below a push of ntfy, and the topic on which they answer."""

    topic: str = ""
    """A topic of ntfy that nobody guesses, like `"https://ntfy.sh/ANOTHER-TOPIC-OF-YOURS"`; empty: pushes
    have no buttons, and nothing is asked. A secret."""
    actions: tuple[Literal["ack", "silence", "log"], ...] = ("ack", "silence", "log")
    """The buttons: `ack` acknowledges the incident, `silence` stops pushes about its class and run for an
    hour, `log` sends the last lines of the log."""
    expires_s: float = 43200.0
    """How long a button can be pressed."""


@dataclass(frozen=True)
class Watch:
    """Section `[watch]`: a copy of the status page, the store, when runs end, containers."""

    status_dir: str = ""
    """Folder for a second copy of status page and checkpoint index, in one folder per run."""
    store_max_bytes: int = 64 << 20
    """Size above which old incidents and messages are deleted from the store."""
    ends_at: str = ""
    """When the rental of the box ends, like `2026-11-22T06:00+01:00`; no zone: that of the box."""
    walltime_s: float = 0.0
    """How long a run may last from its start, like `"24h"`; 0: no limit."""
    docker: bool = True
    """Ask the docker engine about runs in containers, where its socket may be opened."""

    def ends(self, started_at: float) -> dict[str, float]:
        """The configured ends of a run that started at ``started_at``: origin -> epoch seconds.

        Raises ValueError, OverflowError or OSError when ``ends_at`` is not a time.
        """
        found = {}
        if self.ends_at:
            found["[watch] ends_at"] = epoch(self.ends_at)
        if self.walltime_s:
            found["[watch] walltime_s"] = started_at + self.walltime_s
        return found


@dataclass(frozen=True)
class Platform:
    """Section `[platform]`: who rents out this box, and which folders survive its stop or end."""

    name: str = ""
    """A name as `middlewatch audit` shows it; empty: recognise it; `none`: no platform."""
    survives_destroy: tuple[str, ...] = ()
    """Folders that survive the destruction of the box."""
    survives_stop: tuple[str, ...] = ()
    """Folders that survive a stop of the box, but not its destruction."""
    dies_with_stop: tuple[str, ...] = ()
    """Folders that are lost when the box is stopped or preempted."""


@dataclass(frozen=True)
class Checkpoints:
    """Section `[checkpoints]`: the best checkpoint, milestones, how often boxes are interrupted."""

    best_metric: str = ""
    """Metric that decides which checkpoint is the best. Empty: the one that the trainer names in
    its saves, else `eval_loss`; `train_loss` where no save has that."""
    best_mode: Literal["auto", "min", "max"] = "auto"
    """`min`: lower is better; `max`: higher; `auto`: what the trainer says, else by the name."""
    milestones: tuple[str, ...] = ()
    """Name patterns of milestones, like `"*-phase1"`; a name like `milestone-3` or `final` counts
    without one."""
    milestone_every_steps: int = 0
    """Every checkpoint at a multiple of this step number is a milestone; 0: none."""
    load_milestones: bool = True
    """Load each milestone once by torch, in the Python of the training, at the lowest priority and
    with at most half of the free memory."""
    quarantine: bool = False
    """Before `resume --exec` starts a run again: give each save that is bad, and newer than the one
    it begins from, the name `NAME.quarantined`, so that no trainer takes it by itself."""
    interruption_hours: float = 0.0
    """Mean time between two interruptions of a box, in hours; 0: that of the platform, if known."""


@dataclass(frozen=True)
class Again:
    """Section `[again]`: how long to wait before a run is started again by itself (`run --again N`)."""

    pause_s: float = 60.0
    """From the end of a run to its first new attempt. Each further pause is four times as long."""
    longest_pause_s: float = 3600.0
    """The longest of these pauses."""


@dataclass(frozen=True)
class MirrorSettings:
    """Section `[mirror]`: where verified checkpoints are copied to, and what else."""

    to: str = ""
    """A folder on another disk, `user@host:path`, or `remote:path` of rclone; empty: no copies."""
    runs: tuple[str, ...] = ()
    """Names of the runs whose checkpoints are copied; empty: all runs."""
    best_only: bool = False
    """Copy only the best checkpoint, not every verified one."""
    also: tuple[str, ...] = ()
    """Folders of results that are copied as they change, like `["logs/", "runs/", "wandb/"]`: relative to
    the working directory of the run."""
    limit_bytes_per_s: int = 0
    """Most bytes sent per second, like `"20MB"`; 0: no limit. Checkpoints have it, and all of `also`
    together has it once more."""


@dataclass(frozen=True)
class Cost:
    """Section `[cost]`: what the box costs. No price is ever guessed: without one, nothing is said."""

    price_per_hour: float = 0.0
    """What the box costs in an hour, all of it; 0: not known."""
    currency: str = ""
    """Put behind every amount, like `"$"` or `"CNY"`."""
    balance: float = 0.0
    """What was on the account at `balance_at`; 0: not known."""
    balance_at: str = ""
    """When the balance was read, like `2026-11-22T06:00+01:00`. Without it no balance is told: what
    has been spent since is not known."""
    since: str = ""
    """When the box began to cost money, written in the same way; empty: its start."""
    idle_after_s: float = 900.0
    """How long after the end of the last run a box that costs money is told as idle."""
    idle_repeat_s: tuple[float, ...] = (3600.0, 10800.0, 28800.0, 86400.0)
    """Reminders of that: after 1 h, 3 h, 8 h, then every day."""


@dataclass(frozen=True)
class Config:
    """The whole configuration, with the origin of each value."""

    alerts: Alerts = field(default_factory=Alerts)
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    digest: Digest = field(default_factory=Digest)
    answers: Answers = field(default_factory=Answers)
    watch: Watch = field(default_factory=Watch)
    platform: Platform = field(default_factory=Platform)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    again: Again = field(default_factory=Again)
    mirror: MirrorSettings = field(default_factory=MirrorSettings)
    cost: Cost = field(default_factory=Cost)
    routes: Mapping[str, Route] = field(default_factory=dict)
    """Tag -> what the URLs with this tag get."""
    rules: tuple[OwnRule, ...] = ()
    """The rules of the person."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Name of a sentinel -> its ``Limits``."""
    disabled: frozenset[str] = frozenset()
    """Sentinels switched off by `enabled = false`."""
    path: str = ""
    """The file it came from; empty when there is none."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """`section.key` -> where the value came from, for those that are not defaults."""

    def rules_for(self, name: str) -> tuple[OwnRule, ...]:
        """The rules of the person for runs of this name."""
        return tuple(
            rule
            for rule in self.rules
            if not rule.runs or any(fnmatchcase(name, pattern) for pattern in rule.runs)
        )

    @property
    def secret(self) -> bool:
        """Whether the file itself holds a secret: then nobody else may read it."""
        return bool(
            self.alerts.urls or self.alerts.proxy or self.heartbeat.url or self.answers.topic
        )

    @property
    def alert_urls(self) -> tuple[str, ...]:
        """All alert URLs: configuration, `urls_file`, environment. They are secrets: never print.

        A relative `urls_file` is relative to the folder of the configuration file. Raises
        ConfigError when it cannot be read, or when others can read it.
        """
        urls = list(self.alerts.urls)
        if self.alerts.urls_file:
            # Not Path.expanduser: it raises RuntimeError for the home of a user who is not there.
            named = os.path.expanduser(self.alerts.urls_file)
            urls += _read_urls(Path(self.path).parent / named)
        urls += environment_urls()
        return tuple(dict.fromkeys(u.strip() for u in urls if u.strip()))


def environment_urls() -> list[str]:
    """The alert URLs of `$MIDDLEWATCH_ALERT_URLS`."""
    urls = _COMMA.split(os.environ.get("MIDDLEWATCH_ALERT_URLS", "").strip(" ,"))
    return [url.strip() for url in urls if url.strip()]


def url_lines(text: str) -> list[str]:
    """The alert URLs of a file: one a line; `#` begins a remark."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _read_urls(path: Path) -> list[str]:
    text = read_config(path, f"alerts.urls_file {path}")
    if text is None:
        raise ConfigError(
            f"alerts.urls_file {path} cannot be read: there is no such file",
            "it has one alert URL a line, and mode 600; a relative name is relative to the configuration",
        )
    keep_secret(path, f"alerts.urls_file {path}")
    return url_lines(text)


SECTIONS: Mapping[str, type[Any]] = {
    f.name: type(getattr(Config(), f.name))
    for f in dataclasses.fields(Config)
    if dataclasses.is_dataclass(getattr(Config(), f.name))
}
"""The fields of :class:`Config` that are sections: name -> class, in their order."""
