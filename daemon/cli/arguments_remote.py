"""The commands between a person's machine and a box."""

from __future__ import annotations

from .parser import Add, json_option


def between(add: Add) -> None:
    """Add these commands."""
    sub = add(
        "manifest",
        "manifest:manifest",
        "list what the runs of this box leave behind, with sizes and digests; pull asks it",
        "middlewatch manifest gpt --json",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: all runs")
    sub.add_argument(
        "--quick", action="store_true", help="read no file: only the digests that are known"
    )
    json_option(sub)
    sub = add(
        "pull",
        "pull:pull",
        "bring the results of a box home over ssh, prove the copy, and sign a receipt",
        "middlewatch pull box3:gpt results",
    )
    sub.add_argument(
        "source", metavar="HOST[:RUN]", help="a box as you type it after ssh; and a run"
    )
    sub.add_argument("dest", metavar="DEST", help="a folder here, made if it is not there")
    sub.add_argument(
        "--follow",
        action="store_true",
        help="bring each checkpoint home as soon as it is verified, until the run is over",
    )
    sub.add_argument(
        "--every",
        type=float,
        default=30.0,
        metavar="S",
        help="with --follow: seconds between two looks (default: 30)",
    )
    sub.add_argument(
        "--python", metavar="PATH", help="a Python with torch, to load checkpoints with"
    )
    sub.add_argument("--limit", metavar="SIZE", help="most bytes per second, like 20MiB")
    json_option(sub)
    sub = add(
        "teardown",
        "teardown:teardown",
        "say whether a box may be given back: pulled, loaded, approved; it never does it",
        "middlewatch teardown box3",
    )
    sub.add_argument("host", metavar="HOST", help="a box as you type it after ssh")
    sub.add_argument(
        "--verb",
        choices=("destroy", "stop"),
        default="destroy",
        help="what is to be done with it (default: destroy)",
    )
    sub.add_argument(
        "--dest",
        metavar="DEST",
        action="append",
        default=[],
        help="a folder that pull has brought results to, if not by this machine (repeatable)",
    )
    sub.add_argument(
        "--no-wait", action="store_true", help="do not wait until the box answers no more"
    )
    json_option(sub)
    sub = add(
        "deploy",
        "deploy:deploy",
        "bring middlewatch to a box over ssh, start it there and examine it",
        "middlewatch deploy box3 --alert urls",
    )
    sub.add_argument("host", metavar="HOST", help="a box as you type it after ssh")
    sub.add_argument(
        "--alert",
        metavar="FILE",
        help="a file with the alert URLs, one a line, - is standard input; without it those of "
        "$MIDDLEWATCH_ALERT_URLS",
    )
    sub.add_argument("--box-config", metavar="FILE", help="the configuration for the box (TOML)")
    sub.add_argument(
        "--wheels", metavar="DIR", help="wheels for the box, of scripts/wheelhouse; fetch nothing"
    )
    sub.add_argument(
        "--no-boot", dest="boot", action="store_false", help="do not start it with the box"
    )
    sub.add_argument("--remove", action="store_true", help="stop it and take everything of it away")
    sub.add_argument(
        "--yes", action="store_true", help="with --remove: also while a run is going on"
    )
    json_option(sub)
