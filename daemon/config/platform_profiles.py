"""What a person should know about a platform before, while and after renting from it.

One file a platform in ``profiles/``: storage, the verb that stops the meter, what is billed after
it, clocks that end or delete something, conveniences. Every row says where it was read and in which
month, because all of it changes. What a person knows better stands in ``platforms.toml`` beside the
configuration and replaces a row of the same name.

:mod:`.platform_facts` has what the program itself decides by; a test keeps the two in step.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..system.errors import ConfigError
from .trusted import read_config

PROFILES = Path(__file__).with_name("profiles")
OWN_FILE = "platforms.toml"
"""What the file of a person is called; it lies beside the configuration file."""
OLD_MONTHS = 6
"""A fact that was read longer ago is marked. Platforms change prices and rules a few times a year;
the number is our choice."""
YOU = "you"
"""Source of the rows of a person."""

KEYS: Mapping[str, str] = {
    "meter.stop": "stops the meter",
    "meter.destroy": "destroys the box",
    "meter.keeps_billing": "still billed after it",
    "meter.cheap": "cheaper in between",
    "meter.from_inside": "from inside the box",
    "meter.verify": "is it really gone",
    "spot.grace": "if the box is taken back",
    "convenience": "worth knowing",
    "ssh": "SSH",
    "network.mirror": "mirrors",
    "network.proxy": "proxy",
    "network.ports": "ports",
    "network.egress": "traffic",
    "paths.data": "work in",
    "paths.durable": "keep results in",
    "paths.hf_home": "HF_HOME",
    "paths.credentials": "keys and tokens",
    "detach": "what outlives a login",
}
"""What a fact may be about, with its title, in the order in which they are shown."""
RUNS = ("session", "stopped", "balance", "rental", "other")
"""When a clock runs: from the start of the box, while it stands stopped, as the balance falls, until
a date of the rental, or by something else."""
_COMMON = {"says": str, "source": str, "month": str}
_ROWS: Mapping[str, tuple[str, Mapping[str, type | tuple[type, ...]]]] = {
    "storage": ("path", {"path": str, "stop": (bool, str), "destroy": (bool, str), **_COMMON}),
    "fact": ("key", {"key": str, "undo": bool, "seconds": (int, float), **_COMMON}),
    "clock": (
        "what",
        {
            "what": str,
            "after": str,
            "effect": str,
            "runs": str,
            "hours": (int, float),
            "warn_hours": (int, float),
            "source": str,
            "month": str,
        },
    ),
}
"""Kind of row -> the key that names it, and the type of each key."""
_PRICE: Mapping[str, type | tuple[type, ...]] = {"price_per_hour": (int, float), "currency": str}
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Profile:
    """A platform as a person sees it. A row is a dict with the keys of its kind."""

    id: str
    name: str
    kind: str
    storage: tuple[Mapping[str, Any], ...] = ()
    facts: tuple[Mapping[str, Any], ...] = ()
    clocks: tuple[Mapping[str, Any], ...] = ()
    price_per_hour: float = 0.0
    """What an hour costs; 0: not known. No profile of ours has one: it differs from box to box."""
    currency: str = ""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Every row of every kind."""
        yield from (*self.storage, *self.facts, *self.clocks)

    def about(self, key: str) -> list[Mapping[str, Any]]:
        """The facts with this key."""
        return [row for row in self.facts if row["key"] == key]

    def says(self, key: str) -> str:
        """The first fact with this key as text; empty where nothing is known."""
        return next((str(row["says"]) for row in self.about(key)), "")


def ids() -> tuple[str, ...]:
    """Every platform that has a profile."""
    return tuple(sorted(p.stem for p in PROFILES.glob("*.toml") if p.stem != "sources"))


def like_of(name: str) -> str:
    """The platform that this one is like; empty: none. Raises OSError, ValueError."""
    return str(_toml((PROFILES / f"{name}.toml").read_text("utf-8")).get("like", ""))


def sources() -> dict[str, str]:
    """Name of a source -> where that is. Raises OSError, ValueError."""
    return {YOU: "your platforms.toml", **_toml((PROFILES / "sources.toml").read_text("utf-8"))}


def profile(name: str, own: Path | None = None) -> Profile | None:
    """What is known of a platform; ``None`` if there is no profile of that name.

    ``own``: the file of a person. Raises ConfigError for a mistake in that file, OSError or
    ValueError for a broken installation.
    """
    if name not in ids():
        return None
    table = _toml((PROFILES / f"{name}.toml").read_text("utf-8"))
    found = Profile(name, table["name"], table["kind"])
    like = profile(table["like"]) if "like" in table else None
    if like is not None:
        found = replace(found, storage=like.storage, facts=like.facts, clocks=like.clocks)
    found = _with(found, table)
    mine = _of_person(own).get(name) if own is not None else None
    return found if mine is None else _with(found, mine)


def _with(found: Profile, table: Mapping[str, Any]) -> Profile:
    """The profile with the rows of ``table`` in place of those that they are named like."""
    merged = {
        kind: _merged(getattr(found, field), table.get(kind, ()), _ROWS[kind][0])
        for kind, field in (("storage", "storage"), ("fact", "facts"), ("clock", "clocks"))
    }
    return replace(
        found,
        storage=merged["storage"],
        facts=merged["fact"],
        clocks=merged["clock"],
        price_per_hour=float(table.get("price_per_hour", found.price_per_hour)),
        currency=str(table.get("currency", found.currency)),
    )


def _merged(
    known: Iterable[Mapping[str, Any]], fresh: Iterable[Mapping[str, Any]], name: str
) -> tuple[Mapping[str, Any], ...]:
    fresh = list(fresh)
    replaced = {row[name] for row in fresh} - {"convenience"}  # of those there are many
    return (*(row for row in known if row[name] not in replaced), *fresh)


def _of_person(path: Path) -> dict[str, dict[str, Any]]:
    """Platform -> rows of the file of a person, checked. Raises ConfigError."""
    text = read_config(path, f"{path}")
    if text is None:
        return {}
    try:
        table = _toml(text)
    except ValueError as error:
        raise ConfigError(
            f"{path}: not valid TOML: {error}", "see docs/before-the-run.md"
        ) from error
    known = ids()
    for name, rows in table.items():
        if name not in known or not isinstance(rows, dict):
            raise ConfigError(
                f"{path}: there is no platform {name!r}", f"known: {', '.join(known)}"
            )
        for kind in _ROWS:
            given = rows.get(kind, [])
            if isinstance(given, list):
                rows[kind] = [{"source": YOU, "month": "", **r} for r in given if type(r) is dict]
        problem = next(iter(problems(rows)), "")
        if problem:
            raise ConfigError(f"{path}: [{name}] {problem}", "see docs/before-the-run.md")
    return table


def problems(table: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the rows of a profile, one sentence each."""
    for kind, rows in table.items():
        if kind in ("name", "kind", "like"):
            continue
        if kind in _PRICE:
            if not isinstance(rows, _PRICE[kind]) or isinstance(rows, bool):
                yield f"{kind} has a value of the wrong type"
            continue
        if kind not in _ROWS or not isinstance(rows, list):
            yield f"has no list {kind!r}; there are: {', '.join(_ROWS)}"
            continue
        name, types = _ROWS[kind]
        for row in rows:
            called = f"{kind} {row.get(name)!r}"
            if name not in row:
                yield f"a row of {kind} has no {name!r}"
            for key, value in row.items():
                wanted = types.get(key)
                if wanted is None:
                    yield f"{called}: unknown key {key!r}"
                elif not isinstance(value, wanted) or (value is True and wanted is float):
                    yield f"{called}: {key} has a value of the wrong type"
            if kind != "clock" and not row.get("says"):
                yield f"{called}: says nothing"
            if kind == "fact" and row.get("key") not in KEYS:
                yield f"{called}: known are {', '.join(KEYS)}"
            if kind == "clock" and row.get("runs") not in RUNS:
                yield f"{called}: runs is one of {', '.join(RUNS)}"
            if row.get("month") and not _MONTH.fullmatch(str(row["month"])):
                yield f"{called}: month is written like 2026-11"


def age_months(month: str, now: float) -> int | None:
    """Whole months since ``month`` (``2026-06``) at ``now`` (epoch seconds); ``None`` for no month."""
    if not _MONTH.fullmatch(month):
        return None
    today = datetime.fromtimestamp(now, timezone.utc)
    year, _, number = month.partition("-")
    return (today.year - int(year)) * 12 + today.month - int(number)


def is_old(row: Mapping[str, Any], now: float) -> bool:
    """True for a fact that was read more than :data:`OLD_MONTHS` months ago."""
    age = age_months(str(row["month"]), now)
    return age is not None and age > OLD_MONTHS


def is_unchecked(row: Mapping[str, Any]) -> bool:
    """True for a fact of ours that nobody has looked up."""
    return not row["month"] and row["source"] != YOU


def old_facts(now: float) -> Iterator[tuple[str, str, str]]:
    """(platform, what the fact is about, its month) of every fact of ours that is too old."""
    for name in ids():
        table = _toml((PROFILES / f"{name}.toml").read_text("utf-8"))
        for kind, (key, _) in _ROWS.items():
            for row in table.get(kind, ()):
                if is_old(row, now):
                    yield name, f"{kind} {row[key]}", str(row["month"])


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # imported here: the parser costs memory only when it is needed
    else:
        import tomli as tomllib
    table: dict[str, Any] = tomllib.loads(text)
    return table
