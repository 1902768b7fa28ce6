"""The arguments of ``alert``: who is called, and the rules of the person."""

from __future__ import annotations

from .parser import Add, json_option


def alerting(add: Add) -> None:
    """Add the command."""
    sub = add(
        "alert",
        "alert:alert",
        "say who is called when something breaks: add a URL, remove or list them, send a test push; "
        "show your own rules, or what they would have told about an old log",
        "middlewatch alert add ntfys://ntfy.sh/YOUR-OWN-TOPIC",
    )
    actions = ("test", "add", "remove", "list", "rules")
    sub.add_argument("action", choices=actions, help="what to do")
    told = "an Apprise URL; add: - reads it from standard input, none asks for it; remove: or its fingerprint"
    told += "; rules: `test FILE` plays a finished log through your rules (exit 1 if one would have been told)"
    sub.gathers = "url"
    sub.add_argument("url", nargs="*", metavar="URL", help=told)
    sub.add_argument(
        "--step-time",
        default="",
        metavar="TIME",
        help="with rules test: how long a step takes, for a log without times: 1.5s",
    )
    json_option(sub)
