"""Money: what an hour costs, what was spent, what an incident cost, how long the balance lasts.

Pure: prices come from the configuration or from the file of a person about the platform, never from
a guess. Without a price every function has nothing to say (``None``, or an empty text).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.kit import CheckpointSeen, Severity
from middlewatch.sentinels.kit.classes import row

from ..config.platform_profiles import Profile
from ..config.schema import Cost
from ..judge.incidents import Incident
from ..system.clock import epoch, iso
from ..text.figures import count, duration
from ..text.moments import ahead

HOUR_S = 3600.0
PACE_MARKS = 64
"""Advances of the step counter, before a standstill, by which its steps are estimated. Our choice."""
BALANCE_WARN_S = 24 * HOUR_S
"""A balance that lasts for less is told, where the platform does not say sooner (our choice: a night
and the morning after it)."""


@dataclass(frozen=True, slots=True)
class Price:
    """What an hour of this box costs, and who says so."""

    per_hour: float
    currency: str
    told_by: str

    def amount(self, seconds: float) -> float:
        """What so many seconds cost."""
        return self.per_hour * max(0.0, seconds) / HOUR_S

    def money(self, amount: float) -> str:
        """An amount as text: ``1.20 $``; small ones with more digits."""
        digits = 2 if amount >= 0.1 or amount == 0 else 4
        return f"{amount:.{digits}f} {self.currency}".rstrip()

    def spent(self, seconds: float) -> str:
        """``41 min, 1.20 $``."""
        return f"{duration(seconds)}, {self.money(self.amount(seconds))}"

    @property
    def rate(self) -> str:
        """``2.10 $ an hour``."""
        return f"{self.per_hour:g} {self.currency}".rstrip() + " an hour"


def price(cost: Cost, profile: Profile | None) -> Price | None:
    """The price by the configuration, else by the file of a person; ``None``: not known."""
    if cost.price_per_hour > 0:
        return Price(cost.price_per_hour, cost.currency, "[cost] price_per_hour")
    if profile is not None and profile.price_per_hour > 0:
        told_by = f"price_per_hour of {profile.id} in platforms.toml"
        return Price(profile.price_per_hour, cost.currency or profile.currency, told_by)
    return None


@dataclass(frozen=True, slots=True)
class Balance:
    """What is left on the account, computed from what it was."""

    left: float
    ends_at: float
    """When it is used up, in epoch seconds, if the box goes on."""


def balance(cost: Cost, known: Price | None, now: float) -> Balance | None:
    """The balance now; ``None`` without a price, or without a balance and its time."""
    if known is None or not cost.balance or not cost.balance_at:
        return None
    read_at = epoch(cost.balance_at)
    left = cost.balance - known.amount(now - read_at)
    return Balance(max(0.0, left), read_at + cost.balance / known.per_hour * HOUR_S)


@dataclass(frozen=True, slots=True)
class Loss:
    """What an incident cost so far."""

    seconds: float
    what: str
    """``standstill``: time in which the run got nowhere; ``work``: training since the last good save,
    which has to be done again."""
    steps: float | None = None
    """Steps that were made for nothing, or not made; ``None``: not known."""
    estimated: bool = False
    """The steps are those that the time would have been enough for."""

    def text(self, known: Price) -> str:
        """One sentence: ``cost so far: 41 min, 300 steps, 1.20 $ (2.10 $ an hour)``."""
        about = "cost so far" if self.what == "standstill" else "work to be done again"
        return f"{about}: {self.spent(known)} ({known.rate})"

    def spent(self, known: Price | None) -> str:
        """``41 min, about 300 steps, 1.20 $``, as far as it is known."""
        parts = [duration(self.seconds)]
        if self.steps is not None:
            parts.append(f"{'about ' if self.estimated else ''}{count(round(self.steps))} steps")
        if known is not None:
            parts.append(known.money(known.amount(self.seconds)))
        return ", ".join(parts)


def loss(
    incident: Incident,
    checkpoints: Iterable[CheckpointSeen],
    began_at: float,
    ended_at: float | None,
    now: float,
    times: Sequence[tuple[float, float]] = (),
) -> Loss | None:
    """What an incident cost in time and steps; ``None`` where it cost none, or where that is not known.

    ``checkpoints``, ``began_at``, ``ended_at``: those of its run, times in epoch seconds; ``times``: (epoch
    seconds, step) of the newest advances of its step counter, oldest first. A run that
    stands still or trains on numbers that spoil its saves wastes all of its time from the onset to
    its recovery or end. One that ended loses what it did since its last good save, which is known
    only where a good save is.
    """
    kind = row(incident.trouble)
    useless = kind.spoils_saves and incident.severity is Severity.CRITICAL
    if kind.standstill or useless:
        until = min(t for t in (incident.resolved_at, ended_at, now) if t is not None)
        if until <= incident.onset:
            return None
        wasted = _made(times, incident.onset, until) if useless else None
        steps = _not_made(times, incident.onset, until) if wasted is None else wasted
        return Loss(until - incident.onset, "standstill", steps, steps is not None and not useless)
    if ended_at is None or not (incident.tells_end or incident.holds_end or incident.fatal):
        return None
    saves = (c for c in checkpoints if c.state == "ok" and began_at <= c.saved_at <= ended_at)
    good = max(saves, key=lambda c: c.saved_at, default=None)
    if good is None or ended_at <= good.saved_at:
        return None
    known = good.step is not None and bool(times) and times[-1][1] > good.step
    steps = times[-1][1] - good.step if known and good.step is not None else None
    return Loss(ended_at - good.saved_at, "work", steps)


def _made(times: Sequence[tuple[float, float]], since: float, until: float) -> float | None:
    """Steps that were made between two moments; ``None`` where the first is not remembered."""
    before = [step for at, step in times if at < since]
    during = [step for at, step in times if since <= at <= until]
    made = during[-1] - before[-1] if before and during else 0.0
    return made if made > 0 else None


def _not_made(times: Sequence[tuple[float, float]], since: float, until: float) -> float | None:
    """Steps that the time would have been enough for, at the pace before; ``None``: not known."""
    before = [mark for mark in times if mark[0] < since][-PACE_MARKS:]
    if len(before) < 3 or before[-1][0] <= before[0][0] or before[-1][1] <= before[0][1]:
        return None
    rate = (before[-1][1] - before[0][1]) / (before[-1][0] - before[0][0])
    steps = rate * (until - since)
    return steps if steps >= 1 else None


def loss_json(found: Loss | None, known: Price | None) -> dict[str, Any] | None:
    """``cost`` of an incident in JSON."""
    if found is None or known is None:
        return None
    return {
        "seconds": round(found.seconds, 1),
        "steps": None if found.steps is None else round(found.steps),
        "amount": round(known.amount(found.seconds), 4),
        "currency": known.currency,
        "what": found.what,
        "price_per_hour": known.per_hour,
        "price_from": known.told_by,
        "text": found.text(known),
    }


def ended_text(incident_name: str, found: Loss | None, known: Price | None) -> str:
    """``the hang cost 41 min, about 300 steps, 1.20 $``, for an incident that is over; empty: neither steps
    nor money are known."""
    if found is None or (known is None and found.steps is None):
        return ""
    return f"The {incident_name} cost {found.spent(known)}"


def status_json(
    cost: Cost,
    known: Price | None,
    *,
    run_s: float,
    box_since: float | None,
    now: float,
) -> dict[str, Any] | None:
    """``cost`` in the status of a run; ``None`` without a price.

    ``run_s``: how long the run has lasted. ``box_since``: when the box began to cost (epoch
    seconds); ``None``: not known.
    """
    if known is None:
        return None
    left = balance(cost, known, now)
    return {
        "price_per_hour": known.per_hour,
        "currency": known.currency,
        "price_from": known.told_by,
        "run_amount": round(known.amount(run_s), 4),
        "box_since": iso(box_since),
        "box_amount": None if box_since is None else round(known.amount(now - box_since), 4),
        "balance": None if left is None else round(left.left, 4),
        "balance_ends_at": None if left is None else iso(left.ends_at),
        "balance_hours": None if left is None else round(max(0.0, left.ends_at - now) / HOUR_S, 2),
        "text": _status_text(known, run_s, box_since, left, now),
    }


def _status_text(
    known: Price, run_s: float, box_since: float | None, left: Balance | None, now: float
) -> str:
    parts = [f"{known.rate} ({known.told_by}); this run {known.spent(run_s)}"]
    if box_since is not None:
        parts.append(f"the box so far {known.spent(now - box_since)}")
    if left is not None:
        until = ahead(left.ends_at, now) if left.ends_at > now else "now: it is used up"
        parts.append(f"balance {known.money(left.left)}, enough until {until}")
    return "; ".join(parts)
