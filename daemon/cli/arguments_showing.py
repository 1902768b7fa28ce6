"""The commands that show a run to a person: the screen, the report."""

from __future__ import annotations

from .parser import Add, json_option


def showing(add: Add) -> None:
    """Add these commands."""
    sub = add("tui", "tui:tui", "open the terminal screen", "middlewatch tui box3 box4")
    sub.add_argument(
        "host", nargs="*", help="other boxes, as you type them after ssh; default: this one"
    )
    sub.add_argument(
        "--theme",
        choices=("terminal", "dark", "light", "colour-blind", "mono"),
        default="",
        help="colours to begin with (default: the terminal's own; with NO_COLOR none)",
    )
    sub.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    sub.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    sub.add_argument(
        "--web",
        action="store_true",
        help="open it to a browser on this box (needs `pip install 'middlewatch[web]'`)",
    )
    sub.add_argument("--port", type=int, default=8000, metavar="N", help="of --web (8000)")
    sub = add(
        "metrics",
        "metrics:metrics",
        "print the numbers of a run over a window of time or steps",
        "middlewatch metrics gpt --since 2h --csv",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("--since", metavar="TIME", help="how far back: 30m, 2h, 1d (default: all)")
    sub.add_argument("--step", metavar="A:B", help="only these steps: 1000:2000, 1000: or :2000")
    sub.add_argument("--csv", action="store_true", help="a line for each report, with a head")
    json_option(sub)
    sub = add(
        "history",
        "history:show",
        "show all attempts of a run as one: what ended each, what was lost, what it cost",
        "middlewatch history gpt",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    json_option(sub)
    sub = add(
        "report",
        "report:report",
        "write one run as a page: progress, curve, incidents, checkpoints, box, cost",
        "middlewatch report gpt --html",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    kind = sub.add_mutually_exclusive_group()
    kind.add_argument(
        "--html", action="store_true", help="one page that asks for nothing else (default)"
    )
    kind.add_argument("--md", action="store_true", help="Markdown")
    kind.add_argument("--png", action="store_true", help="a picture of the loss alone")
    sub.add_argument(
        "--out", metavar="FILE", help="default: RUN.html, RUN.md or RUN.png; - is standard output"
    )
    add(
        "relay",
        "relay:relay",
        "hand the messages of the daemon's socket on; `tui HOST` asks for it over ssh",
        "ssh box3 middlewatch relay",
    )
