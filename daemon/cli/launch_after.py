"""What is asked of a launch afterwards: ``launch --status NAME``, ``--fetch``, ``--stop`` and ``--remove``."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from ..engines.choice import engine
from ..engines.engine import Fetching
from ..system.errors import UsageError
from . import console
from .context import state
from .launch_folders import folders_of


def done(args: argparse.Namespace) -> int:
    """What was asked for."""
    if args.asked:
        return status(args)
    if args.fetched:
        return fetch(args)
    return stop(args) if args.stopped else remove(args)


def status(args: argparse.Namespace) -> int:
    """What the engine says of a launch now; exit 1 if it failed."""
    folder, kept = _kept(args, args.asked)
    now = engine(kept["place"]).state(kept["engine"]["id"])
    if args.json:
        answer = {"name": args.asked, "place": kept["place"], "id": kept["engine"]["id"]}
        told = {"standing": now.standing, "reason": now.reason, "exit_code": now.exit_code}
        console.as_json({**answer, **told, "details": dict(now.details), "launch": str(folder)})
    else:
        console.say(f"{args.asked}: {now.standing}{', ' if now.reason else ''}{now.reason}")
        for what in ("log", "look", "end"):
            if kept["engine"].get(what):
                console.say(f"  {what:<12} {kept['engine'][what]}")
    return int(now.standing == "failed")


def fetch(args: argparse.Namespace) -> int:
    """Bring what the job printed and wrote into the folder of its launch."""
    folder, kept = _kept(args, args.fetched)
    driver = engine(kept["place"])
    if not isinstance(driver, Fetching):
        where = kept["engine"].get("log") or kept["engine"].get("look") or "where it was started"
        raise UsageError(f"nothing has to be fetched with --on {kept['place']}", f"see: {where}")
    files = driver.fetch(kept["engine"]["id"], folder)
    if args.json:
        console.as_json({"name": args.fetched, "files": [str(path) for path in files]})
    else:
        for path in files:
            console.say(f"{path}")
        console.say(
            f"  what happened: middlewatch replay {' '.join(map(shlex.quote, map(str, files)))}"
        )
    return 0


def stop(args: argparse.Namespace) -> int:
    """Have the engine of a launch end it, with its time to save; exit 1 if it is not over then."""
    folder, kept = _kept(args, args.stopped)
    driver = engine(kept["place"])
    driver.end(kept["engine"]["id"], folder)
    now = driver.state(kept["engine"]["id"])
    over = now.standing not in ("running", "waiting")
    if args.json:
        answer = {"name": args.stopped, "standing": now.standing, "reason": now.reason}
        console.as_json({**answer, "exit_code": now.exit_code, "launch": str(folder)})
    else:
        console.say(f"{args.stopped}: {now.standing}, {now.reason}")
    return 0 if over else 1


def remove(args: argparse.Namespace) -> int:
    """Remove the containers of a launch that is over, once their log and status are beside its record."""
    folder, kept = _kept(args, args.removed)
    if kept["place"] != "docker":
        raise UsageError(
            f"{args.removed} was launched with --on {kept['place']}: there is no container to remove",
            "only what was launched with --on docker leaves one",
        )
    from ..engines.docker import Driver
    from ..engines.docker_remove import remove as removed

    names = [one["name"] for one in kept["engine"]["details"]["containers"]]
    saved = removed(Driver(), kept["engine"]["id"], names, folder)
    if args.json:
        console.as_json({"name": args.removed, "containers": [one._asdict() for one in saved]})
        return 0
    for one in saved:
        gone = "it was removed before" if one.was_gone else "removed"
        console.say(f"{one.name}: {gone}")
        console.say(f"  log          {one.log or 'not kept'}")
        console.say(f"  status       {one.status or 'not kept'}")
    return 0


def _kept(args: argparse.Namespace, name: str) -> tuple[Path, dict[str, Any]]:
    """Folder and record of the newest launch of this name that an engine took. Raises UsageError."""
    for folder in folders_of(state(args), name):
        try:
            kept = json.loads((folder / "launch.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UsageError(f"{folder}/launch.json cannot be read: {error}") from None
        if kept.get("name") == name and kept.get("engine", {}).get("id"):
            return folder, kept
    raise UsageError(
        f"there is no launch {name!r} that an engine has taken",
        "what was started here is ended with: middlewatch end RUN",
    )
