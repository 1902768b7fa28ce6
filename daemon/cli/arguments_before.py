"""The commands before and around a run: what the platform does, and a rehearsal of the command."""

from __future__ import annotations

import argparse

from .parser import Add, Parser, json_option


def before(add: Add) -> None:
    """Add these commands."""
    sub = add(
        "platform",
        "platform:platform",
        "show what the platform of this box keeps, bills and ends, with source and month",
        "middlewatch platform runpod",
    )
    sub.add_argument("name", nargs="?", metavar="NAME", help="a platform; default: this box's")
    json_option(sub)
    sub = add(
        "smoke",
        "smoke:smoke",
        "rehearse a training command on the CPU: two batches, no trackers, bounded time and memory",
        "middlewatch smoke -- python train.py --config gpt.yaml",
    )
    sub.add_argument(
        "--args",
        metavar="WORDS",
        help='words to add that make it short, for a program of its own: --args="--max-steps 2"',
    )
    sub.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="end it after so many seconds (default: 300)",
    )
    sub.add_argument(
        "--memory",
        metavar="SIZE",
        help="most memory that it may take, like 8GiB (default: 80 %% of what is free)",
    )
    sub.add_argument(
        "--framework",
        choices=("transformers", "accelerate", "lightning", "nanogpt", "litgpt", "plain"),
        help="whose switches are used (default: told by the script)",
    )
    json_option(sub)
    sub.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD…", help="the command")


def gate(sub: Parser) -> None:
    """Add to ``run`` what is looked at before the start."""
    sub.add_argument("--save-size", metavar="SIZE", help="size of a save of the run, like 12GiB")
    sub.add_argument(
        "--saves",
        type=int,
        default=0,
        metavar="N",
        help="how many saves it will make and keep: it is not started where they do not fit",
    )
    sub.add_argument(
        "--force", action="store_true", help="start it even if it would fail by what is known"
    )
    sub.add_argument(
        "--again",
        type=int,
        default=0,
        metavar="N",
        help="start it again by itself, at most N times, after an end that allows it (default: never)",
    )


def going_on(sub: Parser) -> None:
    """Add to ``resume`` what concerns runs that are started again by themselves."""
    sub.add_argument(
        "--again",
        type=int,
        metavar="N",
        help="only set how often it may be started again by itself; 0: call it off",
    )
    sub.add_argument("--ordered", action="store_true", help=argparse.SUPPRESS)


def before_launch(sub: Parser) -> None:
    """Add to ``audit`` what a person means to start."""
    sub.add_argument("--save-size", metavar="SIZE", help="size of a save of the run, like 12GiB")
    sub.add_argument(
        "--saves", type=int, default=0, metavar="N", help="how many saves it will make and keep"
    )
    sub.add_argument(
        "--route",
        metavar="URL",
        action="append",
        default=[],
        help="an address that it fetches from: measured as the download will go (repeatable)",
    )
    sub.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- CMD…", help="the command to be started"
    )
