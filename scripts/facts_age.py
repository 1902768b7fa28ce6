"""Name the facts about platforms that are too old, and those that nobody has looked up.

    scripts/facts_age.py [--today 2027-01]

A fact that was read more than six months ago is an error: look it up again, then write the new
month (daemon/config/profiles). One that was never looked up is only named.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone

from middlewatch.daemon.config.platform_profiles import (
    OLD_MONTHS,
    ids,
    is_unchecked,
    old_facts,
    profile,
)
from middlewatch.daemon.system.clock import SystemClock


def main() -> int:
    """Exit status: 1 when a fact is too old."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--today", metavar="YYYY-MM", help="as if it were this month")
    told = parser.parse_args().today
    now = SystemClock().now()
    if told:
        now = datetime.strptime(told, "%Y-%m").replace(tzinfo=timezone.utc).timestamp()
    old = [*old_facts(now)]
    for name, what, month in old:
        print(f"daemon/config/profiles/{name}.toml: {what} was read in {month}: look it up again")
    known = [found for found in map(profile, ids()) if found is not None]
    unchecked = [one.name for one in known for row in one.rows() if is_unchecked(row)]
    if unchecked:
        shown = ", ".join(f"{n} {unchecked.count(n)}" for n in dict.fromkeys(unchecked))
        print(f"never looked up: {shown}")
    if old:
        print(f"{len(old)} facts are older than {OLD_MONTHS} months")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
