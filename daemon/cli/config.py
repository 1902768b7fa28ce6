"""``config``: check the configuration, or show where each value comes from."""

from __future__ import annotations

import argparse

from ..config.load import rows
from ..system import jsonlines
from . import console
from .alert import check_url
from .context import configuration


def config(args: argparse.Namespace) -> int:
    """Check the configuration, or show every value with its origin. Raises ConfigError."""
    settings = configuration(args)
    if args.action == "check":
        urls = settings.alert_urls
        for number, url in enumerate(urls, 1):
            check_url(url, f"alert URL {number} ")
        data = {"ok": True, "path": settings.path or None, "alert_urls": len(urls)}
        if args.json:
            console.as_json(data)
        else:
            where = settings.path or "no file, all defaults"
            console.say(f"the configuration is fine ({where}; {len(urls)} alert URLs)")
        return 0
    values = [{"key": k, "value": v, "origin": o} for k, v, o in rows(settings)]
    if args.json:
        console.as_json(values)
    else:
        console.table(
            ("KEY", "VALUE", "FROM"),
            [(v["key"], jsonlines.dumps(v["value"]), v["origin"]) for v in values],
        )
    return 0
