"""``launch --stop NAME`` and ``launch --remove NAME``: what is done with a launch afterwards, when asked."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..engines.choice import engine
from ..system.errors import UsageError
from . import console
from .context import state
from .launch_folders import folders_of


def stop(args: argparse.Namespace) -> int:
    """Have the engine of a launch end it, with its time to save; exit 1 if it is not over then."""
    folder, kept = _kept(args, args.stopped)
    driver = engine(kept["place"])
    driver.end(kept["engine"]["id"])
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
