"""All attempts of one run as one history: what ended each, what it cost and what was lost. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def chain_of(runs: Sequence[Row], run: str) -> list[Row]:
    """The attempts that ``run`` belongs to, oldest first: what it goes on from, and what goes on from it.
    Where two go on from one, the one that began last counts."""
    known = {one["run"]: one for one in runs}
    chain = [known[run]]
    while (before := chain[0].get("resumed_from")) in known and known[before] not in chain:
        chain.insert(0, known[before])
    while later := [one for one in runs if one.get("resumed_from") == chain[-1]["run"]]:
        newest = max(later, key=lambda one: str(one["started_at"]))
        if newest in chain:
            break
        chain.append(newest)
    return chain


def history(chain: Sequence[Row], incidents: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """The shape of ``history --json``. ``incidents``: all of each run, by its id."""
    attempts = [_attempt(n, one, incidents[one["run"]]) for n, one in enumerate(chain, 1)]
    costs = [one["cost"] for one in chain if one.get("cost")]
    return {
        "run": chain[-1]["run"],
        "name": chain[-1]["name"],
        "state": chain[-1]["state"],
        "step": chain[-1]["now"]["step"],
        "attempts": attempts,
        "lost": lost(attempts),
        "cost": None
        if not costs
        else {
            "amount": round(sum(one["run_amount"] for one in costs), 4),
            "currency": costs[-1]["currency"],
        },
        "again": chain[-1].get("again"),
    }


def _attempt(number: int, run: Row, incidents: Sequence[Row]) -> dict[str, Any]:
    points = run["curve"]["points"]
    mine = sorted(incidents, key=lambda one: str(one["opened_at"]))
    ended = _ended_by(run, mine)
    return {
        "attempt": number,
        "run": run["run"],
        "state": run["state"],
        "started_at": run["started_at"],
        "ended_at": run["ended_at"],
        "exit": run["exit"],
        "first_step": points[0][0] if points else None,
        "last_step": run["now"]["step"],
        "last_loss": run["now"]["values"].get("train_loss"),
        "ended_by": ended["class"] if ended else None,
        "cost": None if not run.get("cost") else run["cost"]["run_amount"],
        "incidents": [
            {
                key: one[key]
                for key in ("id", "class", "severity", "state", "opened_at", "resolved_at")
            }
            | {"summary": one["summary"], "lost": one.get("lost")}
            for one in mine
        ],
    }


def _ended_by(run: Row, incidents: Sequence[Row]) -> Row | None:
    """The incident that ended it: the first whose loss is the work since the last save, else the first
    critical one that was seen at its end."""
    if run["state"] != "failed":
        return None
    known = [one for one in incidents if one["severity"] == "critical"] or list(incidents)
    work = [one for one in known if (one.get("lost") or {}).get("what") == "work"]
    return next(iter(work or known[::-1]), None)


def lost(attempts: Iterable[Row]) -> list[dict[str, Any]]:
    """What was lost by each cause, the largest first. The work since the last save of an attempt is lost
    once, by what ended it, also where several incidents tell of that end."""
    found: dict[str, dict[str, Any]] = {}
    for attempt in attempts:
        told = False
        for one in attempt["incidents"]:
            loss = one["lost"]
            if not loss or (loss["what"] == "work" and told):
                continue
            told = told or loss["what"] == "work"
            row = found.setdefault(
                one["class"], {"class": one["class"], "times": 0, "seconds": 0.0, "steps": None}
            )
            row["times"] += 1
            row["seconds"] = round(row["seconds"] + loss["seconds"], 1)
            if loss["steps"] is not None:
                row["steps"] = (row["steps"] or 0) + loss["steps"]
    return sorted(found.values(), key=lambda row: -float(row["seconds"]))
