"""The options of ``setup``: each answers one of its questions."""

from __future__ import annotations

from .parser import Add, json_option


def add_to(add: Add) -> None:
    """Add the command."""
    sub = add(
        "setup",
        "setup:setup",
        "ask three questions (phone, copies of checkpoints, start with the box), and make the phone ring",
        "middlewatch setup",
    )
    phone = sub.add_mutually_exclusive_group()
    phone.add_argument(
        "--alert",
        metavar="FILE",
        help="a file with the alert URLs, one a line, - is standard input; without it those of "
        "$MIDDLEWATCH_ALERT_URLS",
    )
    phone.add_argument("--ntfy", action="store_true", help="make a new topic of ntfy.sh")
    phone.add_argument("--no-alert", action="store_true", help="add nobody who is called")
    copies = sub.add_mutually_exclusive_group()
    copies.add_argument(
        "--mirror",
        metavar="PLACE",
        help="copy verified checkpoints to a folder, user@host:path (rsync) or remote:path (rclone)",
    )
    copies.add_argument("--no-mirror", action="store_true", help="make no copies")
    boot = sub.add_mutually_exclusive_group()
    boot.add_argument(
        "--boot", action="store_true", default=None, help="start the watch with the box"
    )
    boot.add_argument(
        "--no-boot", dest="boot", action="store_false", help="do not add a start with the box"
    )
    sub.add_argument(
        "--watch",
        action="store_true",
        help="find the runs of this box as well, now and later, as `middlewatch watch` does",
    )
    sub.add_argument(
        "--yes",
        action="store_true",
        help="ask nothing: what no option says stays as it is; without any phone a topic of ntfy.sh "
        "is made; the watch starts with the box",
    )
    json_option(sub)
