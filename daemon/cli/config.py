"""``config``: check the configuration, or show where each value comes from."""

from __future__ import annotations

import argparse

from ..box.platform_report import BARE, own_file
from ..config.load import rows
from ..config.platform_profiles import profile
from ..report.routes import unknown_tags
from ..system import jsonlines
from ..system.errors import ConfigError
from . import console
from .alert import check_url
from .context import configuration


def config(args: argparse.Namespace) -> int:
    """Check the configuration, or show every value with its origin. Raises ConfigError."""
    settings = configuration(args)
    if args.action == "check":
        profile(BARE, own_file(settings))  # reads the person's platforms.toml, if there is one
        urls = settings.alert_urls
        for number, url in enumerate(urls, 1):
            check_url(url, f"alert URL {number} ")
        if unknown := unknown_tags(urls, settings.routes):
            raise ConfigError(
                f"an alert URL has the tag {unknown[0]!r}, and no section [routes.{unknown[0]}] says what "
                "such URLs get",
                f'write one, like [routes.{unknown[0]}] and min_severity = "critical"',
            )
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
