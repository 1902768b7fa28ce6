"""What is known of a platform, for ``middlewatch platform`` and for pushes: facts, clocks, their dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..config.platform_profiles import (
    KEYS,
    OWN_FILE,
    Profile,
    age_months,
    is_old,
    is_unchecked,
    profile,
    sources,
)
from ..config.schema import Config
from ..system.clock import iso
from .platforms import Platform, recognise

BARE = "generic-ssh"
"""The profile of a box that was not recognised."""
NO_PROFILE_ROLES = ("container",)
"""Docker and Podman are where a box runs, not who rents it out."""


def own_file(config: Config) -> Path | None:
    """The file in which a person says better; ``None`` without a configuration file."""
    return Path(config.path).parent / OWN_FILE if config.path else None


def of_box(
    config: Config, platforms: tuple[Platform, ...]
) -> tuple[Profile | None, Platform | None]:
    """The profile of the first platform that has one, and the platform that was recognised.

    Raises ConfigError for a mistake in the file of a person.
    """
    for one in platforms:
        if one.role not in NO_PROFILE_ROLES:
            found = profile(one.id, own_file(config))
            if found is not None:
                return found, one
    return None, None


def report(config: Config, now: float, name: str = "", root: str = "/") -> dict[str, Any] | None:
    """What ``platform --json`` prints; ``None`` for a name without a profile.

    Without a ``name`` it is the platform of this box, or, where none is recognised, that of any box
    behind SSH.
    """
    here, by = of_box(config, recognise(root, name=config.platform.name))
    recognised = here is not None and name in ("", here.id)
    found = here if recognised else profile(name or BARE, own_file(config))
    if found is None:
        return None
    read_in = sources()
    return {
        "id": found.id,
        "name": found.name,
        "kind": found.kind,
        "recognised": recognised,
        "signs": list(by.signs) if recognised and by is not None else [],
        "storage": [
            {
                "path": row["path"],
                "survives_stop": row["stop"],
                "survives_destroy": row["destroy"],
                "says": row["says"],
                **_origin(row, now, read_in),
            }
            for row in found.storage
        ],
        "facts": [
            {
                "about": key,
                "title": KEYS[key],
                "says": row["says"],
                **({"can_be_undone": row["undo"]} if "undo" in row else {}),
                **({"seconds": row["seconds"]} if "seconds" in row else {}),
                **_origin(row, now, read_in),
            }
            for key in KEYS
            for row in found.about(key)
        ],
        "clocks": [
            {
                "what": row["what"],
                "after": row["after"],
                "effect": row["effect"],
                "runs": row["runs"],
                "hours": row.get("hours"),
                "warn_hours": row.get("warn_hours"),
                "strikes_at_if_stopped_now": iso(_stopped_end(row, now)),
                **_origin(row, now, read_in),
            }
            for row in found.clocks
        ],
        "price_per_hour": found.price_per_hour or None,
        "currency": found.currency,
        "old_facts": sum(is_old(row, now) for row in found.rows()),
        "unchecked_facts": sum(is_unchecked(row) for row in found.rows()),
    }


def _origin(row: Mapping[str, Any], now: float, read_in: Mapping[str, str]) -> dict[str, Any]:
    """Where a fact was read, when, and whether that is too long ago."""
    month = str(row["month"])
    return {
        "source": read_in.get(str(row["source"]), str(row["source"])),
        "month": month or None,
        "age_months": age_months(month, now),
        "old": is_old(row, now),
        "unchecked": is_unchecked(row),
    }


def _stopped_end(clock: Mapping[str, Any], now: float) -> float | None:
    """When a clock that runs while the box stands stopped would strike, were it stopped now."""
    hours = clock.get("hours")
    return now + float(hours) * 3600.0 if clock["runs"] == "stopped" and hours else None


def stopped_clocks(found: Profile, now: float) -> Iterator[tuple[str, float, str]]:
    """(what, when it would strike, its effect) of the clocks that a stop of the box starts."""
    for row in found.clocks:
        end = _stopped_end(row, now)
        if end is not None:
            yield str(row["what"]), end, str(row["effect"])
