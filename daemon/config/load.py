"""Configuration: one TOML file into frozen dataclasses, strictly.

Every section is a dataclass that lives beside the code it steers; this module only knows
how to fill one. An unknown key is an error that names the line and the nearest known key;
``true`` is not 1; durations (``_s``) may be written ``"10m"`` and sizes (``_bytes``)
``"20GiB"``. No file at all is a valid configuration.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import discover

from ..system.clock import epoch
from ..system.errors import ConfigError
from .mirror_settings import Mirror
from .platform_facts import Platform, names

_COMMA = re.compile(r",(?=\s*[A-Za-z][\w.+\-]*://)")
"""Between two URLs; a comma inside one (two e-mail addresses) belongs to it."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?")
_FACTOR = {"": 1, **{u: 1000 ** (i + 1) for i, u in enumerate("KMGT")}}
_FACTOR |= {f"{u}i": 1024 ** (i + 1) for i, u in enumerate("KMGT")}


@dataclass(frozen=True)
class Alerts:
    """Section `[alerts]`: who is told, and how."""

    urls: tuple[str, ...] = ()
    """Apprise URLs, tried in this order; also `$MIDDLEWATCH_ALERT_URLS` (comma-separated)."""
    urls_file: str = ""
    """A file with one Apprise URL per line, kept readable by its owner only."""
    mode: str = "ladder"
    """`ladder`: the next URL only when the one before failed; `all`: every URL."""
    min_severity: str = "warning"
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
    best_metric: str = ""
    """The older name of `[checkpoints] best_metric`, which wins."""
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


BEST_MODES = ("auto", "min", "max")


@dataclass(frozen=True)
class Checkpoints:
    """Section `[checkpoints]`: which saves stand out, and how often the run is interrupted."""

    best_metric: str = ""
    """Metric that names the best one. Empty: what the trainer says in its saves, else
    `eval_loss`; `train_loss` stands in where no save has it."""
    best_mode: str = "auto"
    """`min`: lower is better; `max`: higher; `auto`: what the trainer says, else by the name."""
    milestones: tuple[str, ...] = ()
    """Patterns of names that are milestones, like `"*-phase1"`, beside those that say so."""
    milestone_every_steps: int = 0
    """Every multiple of so many steps is a milestone; 0: none."""
    interruption_hours: float = 0.0
    """Mean time between two interruptions of one box, in hours; 0: as the platform's, if known."""


@dataclass(frozen=True)
class Config:
    """Everything, with the origin of each value."""

    alerts: Alerts = field(default_factory=Alerts)
    watch: Watch = field(default_factory=Watch)
    platform: Platform = field(default_factory=Platform)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    mirror: Mirror = field(default_factory=Mirror)
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


def load(path: Path | None) -> Config:
    """Read ``path``; a missing file (or ``None``) gives the defaults.

    Raises ConfigError for a file that is there and cannot be used as it stands.
    """
    if path is None:
        return parse("", "")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return parse("", "")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return parse(text, str(path))


def parse(text: str, path: str) -> Config:
    """Configuration from TOML ``text``. Raises ConfigError with the line it is about."""
    where = _Where(path, text)
    table = _toml(text, where)
    sentinels = discover()
    known = {
        "alerts": Alerts,
        "watch": Watch,
        "platform": Platform,
        "checkpoints": Checkpoints,
        "mirror": Mirror,
    }
    origins: dict[str, str] = {}
    for name in table:
        if name not in known and name != "sentinels":
            raise where.unknown("section", name, (*known, "sentinels"), name)
    sections = {
        name: fill(cls, _table(table, name, where), name, where, origins)
        for name, cls in known.items()
    }
    limits, disabled = {}, set()
    given = _table(table, "sentinels", where)
    for name in given:
        if name not in sentinels:
            raise where.unknown("sentinel", name, tuple(sentinels), f"sentinels.{name}")
    for name, sentinel in sentinels.items():
        values = dict(_table(given, name, where, f"sentinels.{name}"))
        enabled = values.pop("enabled", True)
        if not isinstance(enabled, bool):
            raise where.error(f"sentinels.{name}.enabled", "is not true or false")
        if not enabled:
            disabled.add(name)
            origins[f"sentinels.{name}.enabled"] = where.at(f"sentinels.{name}.enabled")
        limits[name] = fill(type(sentinel.limits), values, f"sentinels.{name}", where, origins)
    config = Config(
        alerts=sections["alerts"],
        watch=sections["watch"],
        platform=sections["platform"],
        checkpoints=sections["checkpoints"],
        mirror=sections["mirror"],
        limits=limits,
        disabled=frozenset(disabled),
        path=path if text else "",
        origins=origins,
    )
    _check(config, where)
    return config


def _check(config: Config, where: _Where) -> None:
    if config.platform.name and config.platform.name not in names():
        raise where.unknown("platform", config.platform.name, names(), "platform.name")
    choices = {"mode": ("ladder", "all"), "min_severity": ("info", "warning", "critical")}
    for key, allowed in choices.items():
        if getattr(config.alerts, key) not in allowed:
            raise where.error(f"alerts.{key}", f"is none of {', '.join(allowed)}")
    if config.checkpoints.best_mode not in BEST_MODES:
        raise where.error("checkpoints.best_mode", f"is none of {', '.join(BEST_MODES)}")
    try:
        config.watch.ends(0.0)
    except (ValueError, OverflowError, OSError):
        problem = f"cannot read {config.watch.ends_at!r}; write it like 2026-11-22T06:00+01:00"
        raise where.error("watch.ends_at", problem) from None


def _toml(text: str, where: _Where) -> dict[str, Any]:
    if not text:
        return {}
    # Imported here: a box without a configuration file never pays for the parser.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where.path}: not valid TOML: {error}") from error
    return table


def _table(
    table: Mapping[str, Any], name: str, where: _Where, dotted: str = ""
) -> Mapping[str, Any]:
    value = table.get(name, {})
    if not isinstance(value, dict):
        dotted = dotted or name
        raise where.error(dotted, f"must be a table, like [{dotted}]")
    return value


def fill(
    cls: type[Any],
    values: Mapping[str, Any],
    section: str,
    where: _Where,
    origins: dict[str, str],
) -> Any:
    """An instance of dataclass ``cls`` from ``values``; notes where each came from."""
    types = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]
    for key in values:
        if key not in names:
            raise where.unknown("key", key, names, f"{section}.{key}")
    out = {}
    for key, value in values.items():
        out[key] = _convert(value, types[key], key, where, f"{section}.{key}")
        origins[f"{section}.{key}"] = where.at(f"{section}.{key}")
    return cls(**out)


def _convert(value: Any, kind: Any, key: str, where: _Where, dotted: str) -> Any:
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise where.error(dotted, "must be a list")
        inner = typing.get_args(kind)[0]
        return tuple(_convert(v, inner, key, where, dotted) for v in value)
    if isinstance(value, str) and kind in (float, int):
        return _number(kind, _quantity(value, key, where, dotted), where, dotted)
    if type(value) is not kind and not (kind is float and type(value) is int):
        # A list or a table may hold a secret in the wrong place: name it, do not show it.
        shown = _NAMES.get(type(value)) if isinstance(value, (list, dict)) else repr(value)
        raise where.error(dotted, f"must be {_NAMES.get(kind, kind)}, not {shown}")
    return _number(kind, value, where, dotted) if kind in (float, int) else value


def _number(kind: Any, value: float, where: _Where, dotted: str) -> float:
    """A number that rules can compare with: finite, and nothing here is ever negative."""
    try:
        number: float = kind(value)
        if number >= 0 and math.isfinite(number):
            return number
    except (OverflowError, ValueError):
        pass
    raise where.error(dotted, "must be a number of zero or more")


_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


def _quantity(text: str, key: str, where: _Where, dotted: str) -> float:
    unit = key.removesuffix("_per_s").rpartition("_")[2]
    if unit == "s" and (m := _DURATION.fullmatch(text.strip())):
        return float(m[1]) * _SECONDS[m[2]]
    if unit == "bytes" and (m := _SIZE.fullmatch(text.strip())):
        return float(m[1]) * float(_FACTOR[m[2] or ""])
    example = {"s": '"10m"', "bytes": '"20GiB"'}.get(unit, "a number")
    raise where.error(dotted, f"cannot read {text!r}; write it like {example}")


_HEADER = re.compile(r"\[\[?([^\]]+)\]")
_KEY = re.compile(r"""([\w\-."' ]+?)\s*=""")


def _plain(name: str) -> str:
    return re.sub(r"""[\s"']""", "", name)


class _Where:
    """Finds the line of a key, for messages."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path or "configuration"
        self._lines = text.splitlines()

    def _line(self, dotted: str) -> int | None:
        """Where ``dotted`` is written, else (an inline table) where the nearest above it is."""
        here, lines = "", dict[str, int]()
        for number, raw in enumerate(self._lines, 1):
            line = raw.strip()
            if match := _HEADER.match(line):
                here = _plain(match[1])
                name = here
            elif match := _KEY.match(line):
                name = f"{here}.{_plain(match[1])}".lstrip(".")
            else:
                continue
            while name and name not in lines:
                lines[name] = number
                name = name.rpartition(".")[0]
        while dotted and dotted not in lines:
            dotted = dotted.rpartition(".")[0]
        return lines.get(dotted)

    def at(self, dotted: str) -> str:
        """``path:line`` of a key, or the path alone where the line is not plain to see."""
        line = self._line(dotted)
        return f"{self.path}:{line}" if line else self.path

    def error(self, dotted: str, problem: str) -> ConfigError:
        return ConfigError(f"{self.at(dotted)}: {dotted} {problem}")

    def unknown(
        self, what: str, name: str, known: typing.Sequence[str], dotted: str
    ) -> ConfigError:
        import difflib  # for people who mistype only

        near = difflib.get_close_matches(name, known, 1, 0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        return ConfigError(f"{self.at(dotted)}: unknown {what} {dotted!r}; {hint}")


def rows(config: Config) -> Iterator[tuple[str, Any, str]]:
    """Every value as (dotted name, value, origin); alert URLs are counted, not shown."""
    for name in ("alerts", "watch", "platform", "checkpoints", "mirror"):
        yield from _section_rows(name, getattr(config, name), config)
    from_environment = bool(os.environ.get("MIDDLEWATCH_ALERT_URLS"))
    yield (
        "alerts.urls (all)",
        f"{len(config.alert_urls)} set",
        "$MIDDLEWATCH_ALERT_URLS" if from_environment else "see above",
    )
    for name, limits in config.limits.items():
        dotted = f"sentinels.{name}"
        origin = config.origins.get(f"{dotted}.enabled", "default")
        yield f"{dotted}.enabled", name not in config.disabled, origin
        yield from _section_rows(dotted, limits, config)


def _section_rows(name: str, section: Any, config: Config) -> Iterator[tuple[str, Any, str]]:
    for f in dataclasses.fields(section):
        dotted = f"{name}.{f.name}"
        value = getattr(section, f.name)
        if dotted == "alerts.urls":
            value = f"{len(value)} set"
        yield dotted, value, config.origins.get(dotted, "default")
