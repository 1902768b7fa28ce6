"""Load the configuration: one TOML file into frozen dataclasses, strictly.

The sections are those of :mod:`.schema`, the routes and the limits of every sentinel. An unknown key is an
error that names the line and the nearest known key; a boolean is not accepted as a number.
Durations (keys that end in ``_s``, in seconds) may be written ``"10m"``, sizes (``_bytes``)
``"20GiB"``. A missing file is a valid configuration: the defaults.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import sys
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import discover
from middlewatch.sentinels.kit.codec import Codec, Unfit, UnknownKey
from middlewatch.sentinels.kit.own_rules import OwnRule

from ..system.clock import epoch
from ..system.errors import ConfigError
from .hours import check_hours
from .own_rules import read_rules
from .platform_facts import names
from .schema import SECTIONS, Config, Route
from .trusted import keep_secret, read_config

_TABLES = ("routes", "sentinels", "rule")
"""Sections that hold sections."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?")
_FACTOR = {"": 1, **{u: 1000 ** (i + 1) for i, u in enumerate("KMGT")}}
_FACTOR |= {f"{u}i": 1024 ** (i + 1) for i, u in enumerate("KMGT")}


def load(path: Path | None) -> Config:
    """Read ``path``; a missing file (or ``None``) gives the defaults.

    Raises ConfigError for a file that exists and cannot be read, has an error, that somebody other
    than we and root could have written, or that names alert URLs and can be read by others.
    """
    if path is None:
        return parse("", "")
    text = read_config(path, f"{path}")
    if text is None:
        return parse("", "")
    config = parse(text, str(path))
    if config.secret:
        keep_secret(path, f"{path}")
    return config


def parse(text: str, path: str) -> Config:
    """Configuration from TOML ``text``. Raises ConfigError with the line it is about."""
    where = Where(path, text)
    table = toml(text, where.path)
    sentinels = discover()
    origins: dict[str, str] = {}
    for name in table:
        if name not in SECTIONS and name not in _TABLES:
            raise where.unknown("section", name, (*SECTIONS, *_TABLES), name)
    sections = {
        name: fill(cls, table_of(table, name, where), name, where, origins)
        for name, cls in SECTIONS.items()
    }
    routes = {
        tag: fill(
            Route,
            table_of(table["routes"], tag, where, f"routes.{tag}"),
            f"routes.{tag}",
            where,
            origins,
        )
        for tag in table_of(table, "routes", where)
    }
    rules = read_rules(
        table.get("rule", []),
        lambda values, section: fill(OwnRule, values, section, where, origins),
        where.error,
    )
    limits, disabled = {}, set()
    given = table_of(table, "sentinels", where)
    for name in given:
        if name not in sentinels:
            raise where.unknown("sentinel", name, tuple(sentinels), f"sentinels.{name}")
    for name, sentinel in sentinels.items():
        values = dict(table_of(given, name, where, f"sentinels.{name}"))
        enabled = values.pop("enabled", True)
        if not isinstance(enabled, bool):
            raise where.error(f"sentinels.{name}.enabled", "is not true or false")
        if not enabled:
            disabled.add(name)
            origins[f"sentinels.{name}.enabled"] = where.at(f"sentinels.{name}.enabled")
        limits[name] = fill(type(sentinel.limits), values, f"sentinels.{name}", where, origins)
    config = Config(
        **sections,
        routes=routes,
        rules=rules,
        limits=limits,
        disabled=frozenset(disabled),
        path=path if text else "",
        origins=origins,
    )
    _check(config, where)
    return config


def _check(config: Config, where: Where) -> None:
    if config.platform.name and config.platform.name not in names():
        raise where.unknown("platform", config.platform.name, names(), "platform.name")
    try:
        config.watch.ends(0.0)
    except (ValueError, OverflowError, OSError):
        problem = f"cannot read {config.watch.ends_at!r}; write it like 2026-11-22T06:00+01:00"
        raise where.error("watch.ends_at", problem) from None
    for key in ("balance_at", "since"):
        told = getattr(config.cost, key)
        try:
            epoch(told) if told else None
        except (ValueError, OverflowError, OSError):
            problem = f"cannot read {told!r}; write it like 2026-11-22T06:00+01:00"
            raise where.error(f"cost.{key}", problem) from None
    for folder in config.mirror.also:
        plain = os.path.normpath(folder) if folder else "."
        if plain == "." or os.path.isabs(plain) or plain.split("/")[0] == "..":
            problem = f"{folder!r} is no folder inside the working directory of a run"
            raise where.error("mirror.also", problem)
    if config.mirror.also and not config.mirror.to:
        raise where.error("mirror.also", "needs a destination: mirror.to")
    for dotted, problem in check_hours(config):
        raise where.error(dotted, problem)


def toml(text: str, path: str) -> dict[str, Any]:
    """The values of TOML ``text``, not checked further. Raises ConfigError."""
    if not text:
        return {}
    # Imported here, so that the parser costs no memory on a box without a configuration file.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path}: not valid TOML: {error}",
            'a text stands in quotes: min_severity = "critical"; a list in brackets: runs = ["gpt"]',
        ) from error
    return table


def table_of(
    table: Mapping[str, Any], name: str, where: Where, dotted: str = ""
) -> Mapping[str, Any]:
    """The table ``name``; empty where there is none. Raises ConfigError for another value."""
    value = table.get(name, {})
    if not isinstance(value, dict):
        dotted = dotted or name
        raise where.error(dotted, f"must be a table, like [{dotted}]")
    return value


def fill(
    cls: type[Any],
    values: Mapping[str, Any],
    section: str,
    where: Where,
    origins: dict[str, str],
) -> Any:
    """An instance of dataclass ``cls`` from ``values``.

    Adds ``section.key`` -> ``path:line`` of every value to ``origins``. Raises ConfigError.
    """
    try:
        made = _CODEC.load(cls, values)
    except Unfit as error:
        dotted = ".".join((section, *(part for part in error.path if isinstance(part, str))))
        if isinstance(error, UnknownKey):
            raise where.unknown("key", error.name, error.known, dotted) from None
        raise where.error(dotted, error.problem, _example(cls, error.path)) from None
    origins |= {f"{section}.{key}": where.at(f"{section}.{key}") for key in values}
    return made


def _example(cls: type[Any], path: typing.Sequence[object]) -> str:
    """How the key is written, by its default; empty for a default that shows nothing."""
    if not path or not isinstance(path[0], str):
        return ""
    default = getattr(cls(), getattr(cls, "SAVED", {}).get(path[0], path[0]), None)
    if isinstance(default, tuple):
        default = list(default)
    if default in ([], "", None):
        return ""
    import json  # imported here: only needed for a mistake; TOML writes these as JSON does

    return f"like {path[0]} = {json.dumps(default)}"


def _number(name: str, kind: type, told: float | str) -> float:
    """``told`` as a finite number of zero or more, with its unit; raises Unfit otherwise."""
    try:
        number: float = kind(_quantity(told, name) if isinstance(told, str) else told)
        if (number >= 0 or name in _SIGNED) and math.isfinite(number):
            return number
    except (OverflowError, ValueError) as error:
        if isinstance(error, Unfit):
            raise
    raise Unfit("must be a number of zero or more")


_SIGNED = ("above", "below")
"""Numbers that may be negative: a reward is."""
_CODEC = Codec(strict=True, quantity=_number)


def _quantity(text: str, key: str) -> float:
    unit = key.removesuffix("_per_s").rpartition("_")[2]
    if unit == "s" and (m := _DURATION.fullmatch(text.strip())):
        return float(m[1]) * _SECONDS[m[2]]
    if unit == "bytes" and (m := _SIZE.fullmatch(text.strip())):
        return float(m[1]) * float(_FACTOR[m[2] or ""])
    example = {"s": '"10m"', "bytes": '"20GiB"'}.get(unit, "a number")
    raise Unfit(f"cannot read {text!r}; write it like {example}")


_SECRET = ("alerts.proxy", "heartbeat.url", "answers.topic")
"""Keys of which only whether they are set is shown."""
_HEADER = re.compile(r"\[\[?([^\]]+)\]")
_KEY = re.compile(r"""([\w\-."' ]+?)\s*=""")


def _plain(name: str) -> str:
    return re.sub(r"""[\s"']""", "", name)


class Where:
    """Finds the line of a key, for messages. ``keys``: where a person finds all keys."""

    def __init__(
        self, path: str, text: str, keys: str = "every key and its default: middlewatch config show"
    ) -> None:
        self.path = path or "configuration"
        self._lines = text.splitlines()
        self._keys = keys

    def _line(self, dotted: str) -> int | None:
        """Line of the key ``dotted``; for a key in an inline table, the line of that table."""
        here, lines, times = "", dict[str, int](), Counter[str]()
        for number, raw in enumerate(self._lines, 1):
            line = raw.strip()
            if match := _HEADER.match(line):
                here = _plain(match[1])
                if line.startswith("[["):
                    times[here] += 1
                    here = f"{here}.{times[here]}"
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
        """``path:line`` of a key; the path alone if the line was not found."""
        line = self._line(dotted)
        return f"{self.path}:{line}" if line else self.path

    def error(self, dotted: str, problem: str, hint: str = "") -> ConfigError:
        """What is wrong with the value of a key, to be raised."""
        return ConfigError(f"{self.at(dotted)}: {dotted} {problem}", hint or self._keys)

    def unknown(
        self, what: str, name: str, known: typing.Sequence[str], dotted: str
    ) -> ConfigError:
        """A name that is not among ``known``, with the nearest one that is; to be raised."""
        import difflib  # imported here: only needed for a typing error

        near = difflib.get_close_matches(name, known, 1, 0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        return ConfigError(
            f"{self.at(dotted)}: unknown {what} {dotted!r}; {hint}",
            self._keys,
        )


def rows(config: Config) -> Iterator[tuple[str, Any, str]]:
    """Every value as (dotted name, value, origin); of alert URLs only their number is shown."""
    for name in SECTIONS:
        yield from _section_rows(name, getattr(config, name), config)
    from_environment = bool(os.environ.get("MIDDLEWATCH_ALERT_URLS"))
    yield (
        "alerts.urls (all)",
        f"{len(config.alert_urls)} set",
        "$MIDDLEWATCH_ALERT_URLS" if from_environment else "see above",
    )
    for tag, route in config.routes.items():
        yield from _section_rows(f"routes.{tag}", route, config)
    for number, rule in enumerate(config.rules, 1):
        given = _section_rows(f"rule.{number}", rule, config)
        yield from (row for row in given if row[2] != "default")
    for name, limits in config.limits.items():
        dotted = f"sentinels.{name}"
        origin = config.origins.get(f"{dotted}.enabled", "default")
        yield f"{dotted}.enabled", name not in config.disabled, origin
        yield from _section_rows(dotted, limits, config)


def _section_rows(name: str, section: Any, config: Config) -> Iterator[tuple[str, Any, str]]:
    shown = {kept: key for key, kept in getattr(section, "SAVED", {}).items()}
    for f in dataclasses.fields(section):
        dotted = f"{name}.{shown.get(f.name, f.name)}"
        value = getattr(section, f.name)
        if dotted == "alerts.urls":
            value = f"{len(value)} set"
        elif dotted in _SECRET and value:
            value = "set"
        yield dotted, value, config.origins.get(dotted, "default")
