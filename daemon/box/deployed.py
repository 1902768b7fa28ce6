"""The part of ``deploy`` that runs on the box: where to install, and how to leave without a trace.

``python -m middlewatch.daemon.box.deployed place`` prints where; ``leave`` takes back the start with the
box. Both print one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ..config.load import load
from ..config.paths import StateDir, config_file, state_dir
from ..config.schema import Config
from ..system.mounts import readable_table
from ..system.store import Store
from .at_boot import AtBoot, Failed, Wanted, way
from .durability import PathDurability
from .platforms import recognise

LEAST_BYTES = 400 << 20
_NEVER = ("/proc", "/sys", "/dev", "/run", "/etc", "/boot", "/tmp")


def place(home: str) -> dict[str, Any]:
    """Where it outlives a stop: the home folder, unless that is known not to, and another place is."""
    places = PathDurability.of_box(Config())
    own = places.of(home)
    names = [one.name for one in places.platforms]
    told = {"place": f"{home}/.middlewatch", "why": own.words, "survives_stop": own.survives_stop}
    if own.survives_stop is False:
        for mount in readable_table():
            if mount.read_only or mount.point == "/" or mount.point.startswith(_NEVER):
                continue
            there = places.of(mount.point)
            if there.survives_stop and os.access(mount.point, os.W_OK) and _roomy(mount.point):
                told = {"place": f"{mount.point}/.middlewatch", "why": there.words}
                told["survives_stop"] = True
                break
    places.close()
    return {**told, "platforms": names}


def _roomy(path: str) -> bool:
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize >= LEAST_BYTES


def leave() -> dict[str, Any]:
    """Take away what starts the watch with the box, unless a person has changed it."""
    config = load(config_file())
    boot = way(
        Wanted((f"{sys.prefix}/bin/middlewatch",)), recognise(name=config.platform.name), os.environ
    )
    notes = _taken_back(boot)
    where = StateDir(state_dir())
    store = Store(where.store, where.reserve)
    store.fallback.unlink(missing_ok=True)
    store.close()
    return {"by": boot.by, "notes": notes}


def _taken_back(boot: AtBoot) -> list[str]:
    try:
        return boot.take_back()
    except (Failed, OSError) as error:
        return [f"the start with the box could not be taken back: {error}"]


def main(words: list[str]) -> int:
    """Answer on standard output."""
    answer = leave() if words[:1] == ["leave"] else place(words[1])
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
