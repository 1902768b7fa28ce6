"""The options of ``queue``: a file of cells, each executed once."""

from __future__ import annotations

from .parser import Add, json_option


def queueing(add: Add) -> None:
    """Add the command."""
    sub = add(
        "queue",
        "queue:queue",
        "execute the cells of a file one after another, or one on each GPU, each once",
        "middlewatch queue sweep.txt --each-gpu",
    )
    sub.add_argument("file", metavar="FILE", help="the queue file: NAME: COMMAND, a cell a line")
    how = sub.add_mutually_exclusive_group()
    how.add_argument("--at-once", type=int, metavar="N", help="so many cells at once (default: 1)")
    how.add_argument(
        "--each-gpu",
        action="store_true",
        help="a cell on each GPU: CUDA_VISIBLE_DEVICES is set for each",
    )
    sub.add_argument(
        "--shard",
        metavar="I/N",
        help="only the cells of this box, the I-th of N with the same file",
    )
    sub.add_argument(
        "--wait", action="store_true", help="wait for the end; exit 1 if a cell has failed"
    )
    sub.add_argument(
        "--force", action="store_true", help="start cells that cannot start, by what is known"
    )
    what = sub.add_mutually_exclusive_group()
    what.add_argument(
        "--status", action="store_true", help="show where every cell is, start nothing"
    )
    what.add_argument(
        "--print",
        action="store_true",
        dest="shown",
        help="show what would be started, start nothing",
    )
    what.add_argument(
        "--retry",
        nargs="+",
        metavar="NAME",
        help="start these cells again; failed: all that have failed or are lost",
    )
    what.add_argument(
        "--stop", action="store_true", help="start no further cell; those that run go on"
    )
    json_option(sub)
