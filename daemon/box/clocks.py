"""The clocks of a platform that run now: when each strikes, and from when on a person is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..config.platform_profiles import Profile
from ..system.clock import iso
from ..text.moments import ahead, local
from .money import BALANCE_WARN_S, HOUR_S, Balance, Price
from .platform_report import stopped_clocks


@dataclass(frozen=True, slots=True)
class Running:
    """A clock that will strike at a known time (epoch seconds)."""

    name: str
    ends_at: float
    effect: str
    warn_s: float
    """It is told from so many seconds before on."""
    text: str

    def is_due(self, now: float) -> bool:
        """True from the time of the warning on, until a day after it has struck."""
        return self.ends_at - self.warn_s <= now < self.ends_at + 24 * HOUR_S


def running(
    profile: Profile | None,
    box_start: float | None,
    left: Balance | None,
    price: Price | None,
    now: float,
) -> Iterator[Running]:
    """Every clock of the platform whose end can be computed.

    ``box_start``: when this box was started. A session ends so many hours after it by the rules of
    the platform; a box that is rented for longer has other rules, so the rule is told with it.
    """
    of_balance = None
    for row in () if profile is None else profile.clocks:
        warn_s = float(row.get("warn_hours", 0)) * HOUR_S
        if row["runs"] == "session" and "hours" in row and box_start is not None:
            end = box_start + float(row["hours"]) * HOUR_S
            text = f"{row['what']} ({row['after']}): ends {ahead(end, now)} if that rule holds here"
            yield Running(str(row["what"]), end, str(row["effect"]), warn_s, text)
        if row["runs"] == "balance" and of_balance is None:
            of_balance = row
    if left is not None and price is not None:
        effect = "the box may be stopped" if of_balance is None else str(of_balance["effect"])
        warn_s = BALANCE_WARN_S
        if of_balance is not None:
            warn_s = float(of_balance.get("warn_hours", 24)) * HOUR_S
        text = f"balance of {price.money(left.left)}: used up {ahead(left.ends_at, now)}"
        yield Running("balance", left.ends_at, effect, warn_s, text)


def status_json(
    profile: Profile | None, clocks: list[Running], now: float
) -> dict[str, Any] | None:
    """``platform`` in the status of a run; ``None`` where nothing is known."""
    if profile is None and not clocks:
        return None
    stop = next(iter(profile.about("meter.stop")), None) if profile is not None else None
    return {
        "id": None if profile is None else profile.id,
        "name": None if profile is None else profile.name,
        "stop": None if stop is None else stop["says"],
        "stop_can_be_undone": None if stop is None else stop.get("undo"),
        "keeps_billing": None if profile is None else profile.says("meter.keeps_billing") or None,
        "clocks": [
            {"what": c.name, "ends_at": iso(c.ends_at), "effect": c.effect, "text": c.text}
            for c in clocks
        ],
        "if_stopped_now": [] if profile is None else if_stopped(profile, now),
    }


def if_stopped(profile: Profile, now: float) -> list[str]:
    """A sentence about each clock that a stop of the box starts, with its date."""
    return [
        f"if it is stopped now: {what}, from {local(end, now)}: {effect}"
        for what, end, effect in stopped_clocks(profile, now)
    ]


def stop_words(profile: Profile | None) -> str:
    """``AutoDL: shut the instance down in the console; that can be undone``; empty: not known."""
    stop = next(iter(profile.about("meter.stop")), None) if profile is not None else None
    if profile is None or stop is None:
        return ""
    undo = stop.get("undo")
    can = "" if undo is None else "; that can be undone" if undo else "; that cannot be undone"
    return f"{profile.name}: {stop['says']}{can}"
