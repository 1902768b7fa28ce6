"""Every command with its options and an example; handlers are named, not imported."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from middlewatch import __version__

Parser = argparse.ArgumentParser
Add = Callable[..., Parser]


def build() -> Parser:
    """The whole command line."""
    parser = Parser(
        prog="middlewatch",
        description="Stands the night watch over GPU training on rented boxes.",
        epilog="example: middlewatch run --name gpt -- python train.py --max_steps 5000\n"
        "exit codes: 0 fine, 1 the answer is bad, 2 usage, 3 no daemon, 4 refused, 5 internal",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"middlewatch {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, handler: str, text: str, example: str, **more: Any) -> Parser:
        sub = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example: {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **more,
        )
        sub.set_defaults(handler=handler)
        sub.add_argument("--state-dir", metavar="DIR", help="where the daemon keeps its state")
        sub.add_argument("--config", metavar="FILE", help="configuration file (TOML)")
        return sub

    _service(add)
    _runs(add)
    _shows(add)
    _checks(add)
    _keeping(add)
    return parser


def _json(sub: Parser) -> None:
    sub.add_argument("--json", action="store_true", help="print JSON")


def _service(add: Add) -> None:
    add(
        "daemon",
        "daemon:daemon",
        "watch in the foreground: what systemd runs",
        "middlewatch daemon",
    )
    sub = add(
        "start",
        "daemon:start",
        "start the daemon detached (no systemd needed)",
        "middlewatch start",
    )
    _json(sub)
    sub = add("stop", "daemon:stop", "stop the daemon; runs go on", "middlewatch stop")
    _json(sub)


def _runs(add: Add) -> None:
    sub = add(
        "run",
        "run:run",
        "start a command that outlives this session, and watch it",
        "middlewatch run --name gpt --checkpoints out -- python train.py",
    )
    sub.add_argument("--name", help="name of the run (default: from the command)")
    sub.add_argument("--log", metavar="FILE", help="where its output goes")
    sub.add_argument(
        "--checkpoints",
        metavar="DIR",
        action="append",
        default=[],
        help="where it saves (repeatable)",
    )
    sub.add_argument("--via", choices=("setsid", "tmux", "systemd"), help="how to detach it")
    sub.add_argument(
        "--keep-buffering",
        action="store_true",
        help="do not set PYTHONUNBUFFERED or line buffering",
    )
    _json(sub)
    sub.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD…", help="the command")
    sub = add(
        "watch",
        "watch:watch",
        "watch a run that is already going; with no option, find the runs of this box",
        "middlewatch watch --pid 4711 --log train.log",
    )
    sub.add_argument("--pid", type=int, help="process of the run")
    sub.add_argument(
        "--log", metavar="FILE", action="append", default=[], help="its log (repeatable)"
    )
    sub.add_argument(
        "--checkpoints",
        metavar="DIR",
        action="append",
        default=[],
        help="where it saves (repeatable)",
    )
    sub.add_argument("--name", help="name of the run")
    _json(sub)
    sub = add(
        "resume",
        "resume:resume",
        "say how a run that ended goes on from its last good checkpoint, or let it go on",
        "middlewatch resume gpt --exec",
    )
    sub.add_argument(
        "run", nargs="?", help="id or name; default: the newest that failed and was not resumed"
    )
    sub.add_argument(
        "--from",
        dest="from_path",
        metavar="PATH",
        help="from this checkpoint instead of the newest that passed",
    )
    sub.add_argument(
        "--exec",
        dest="execute",
        action="store_true",
        help="start it under watch, once the checkpoint has passed again",
    )
    sub.add_argument(
        "--force",
        action="store_true",
        help="even if the handbook advises against a retry after this class",
    )
    _json(sub)


def _shows(add: Add) -> None:
    sub = add("runs", "runs:runs", "list the runs it knows", "middlewatch runs --json")
    _json(sub)
    sub = add("status", "status:status", "show what is true now", "middlewatch status gpt")
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument(
        "--oneline", action="store_true", help="one line, exit 1 when an incident needs attention"
    )
    _json(sub)
    sub = add(
        "incidents", "incidents:incidents", "list incidents", "middlewatch incidents --all --json"
    )
    sub.add_argument("--run", help="only of this run")
    sub.add_argument("--all", action="store_true", help="resolved ones too")
    sub.add_argument("--follow", action="store_true", help="keep printing changes as they happen")
    _json(sub)
    sub = add(
        "ack", "ack:ack", "acknowledge an incident: no more reminders", "middlewatch ack 3fa2c1"
    )
    sub.add_argument("id", help="id of the incident")
    _json(sub)
    sub = add(
        "silence",
        "silence:silence",
        "push nothing about a run or a class for a while",
        "middlewatch silence --run gpt --class disk_full --for 2h",
    )
    sub.add_argument("--run", help="only of this run")
    sub.add_argument("--class", dest="trouble", metavar="CLASS", help="only of this class")
    sub.add_argument("--for", dest="duration", required=True, metavar="TIME", help="30m, 2h, 1d")
    _json(sub)
    sub = add(
        "checkpoints",
        "checkpoints:checkpoints",
        "show the checkpoint index",
        "middlewatch checkpoints gpt",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument(
        "--rescan", action="store_true", help="ignore known verdicts: verify what is on disk"
    )
    sub.add_argument("--dir", metavar="DIR", help="with --rescan: this folder, and no run")
    _json(sub)
    sub = add(
        "explain",
        "explain:explain",
        "open the handbook at a class or an incident",
        "middlewatch explain cuda_oom",
    )
    sub.add_argument(
        "what", nargs="?", help="class, rule or incident id; default: an index by topic"
    )
    _json(sub)
    sub = add("tui", "tui:tui", "attach the terminal screen", "ssh -t box middlewatch tui")
    sub.add_argument("host", nargs="*", help="other boxes (not in this version)")


def _checks(add: Add) -> None:
    sub = add(
        "verify",
        "verify:verify",
        "check whether checkpoints are whole and finite, and with --deep whether torch loads them",
        "middlewatch verify out/",
    )
    sub.add_argument("path", nargs="+", help="files or folders")
    sub.add_argument(
        "--deep",
        action="store_true",
        help="let torch load them too, in the python of the run that saved them if that lives",
    )
    sub.add_argument(
        "--level",
        choices=("structure", "checksum", "finite"),
        help="how far to go: headers and sizes, checksums of all data, finite numbers (finite)",
    )
    sub.add_argument("--python", metavar="PATH", help="the python whose torch loads (with --deep)")
    _json(sub)
    sub = add(
        "replay",
        "replay:replay",
        "read finished logs and say what happened; needs no daemon",
        "middlewatch replay train.log --json --metrics",
    )
    sub.add_argument(
        "file",
        nargs="*",
        metavar="FILE",
        help="log files, packed or not (gzip, xz, zstd, bzip2); - is standard input",
    )
    sub.add_argument(
        "--run",
        nargs="?",
        const="",
        metavar="NAME",
        help="the files are ranks, or rotated parts, of one run: judge them together",
    )
    sub.add_argument("--metrics", action="store_true", help="print every metric too (with --json)")
    sub.add_argument(
        "--quick",
        action="store_true",
        help="look for troubles only, at the speed of a text search: no losses, no curve",
    )
    _json(sub)
    sub = add(
        "audit",
        "audit:audit",
        "look over a fresh box: what it has, and what can be watched here",
        "middlewatch audit --json",
    )
    _json(sub)
    sub = add(
        "alert", "alert:alert", "send a test push to every alert URL", "middlewatch alert test"
    )
    sub.add_argument("action", choices=("test",), help="what to do")
    _json(sub)
    sub = add(
        "drill",
        "drill:drill",
        "put a toy run into real trouble and push it to every alert URL, marked as a drill",
        "middlewatch drill nan",
    )
    sub.add_argument(
        "trouble", choices=("nan", "hang", "oom", "disk", "crash"), help="what goes wrong"
    )
    _json(sub)
    sub = add(
        "config",
        "config:config",
        "check the configuration, or show every value and where it came from",
        "middlewatch config check",
    )
    sub.add_argument("action", choices=("check", "show"), help="what to do")
    _json(sub)


def _keeping(add: Add) -> None:
    sub = add(
        "prune",
        "prune:prune",
        "propose which checkpoints may be deleted; --apply deletes them",
        "middlewatch prune --dir out --keep-latest 2 --every 5000",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("--dir", metavar="DIR", help="a folder of checkpoints instead of a run")
    sub.add_argument(
        "--keep-latest", type=int, default=3, metavar="N", help="newest verified ones (3)"
    )
    sub.add_argument("--keep-best", type=int, default=1, metavar="K", help="best verified ones (1)")
    sub.add_argument(
        "--every",
        type=float,
        default=0.0,
        metavar="M",
        help="the first verified one at or past every M-th step",
    )
    sub.add_argument("--damaged", action="store_true", help="propose damaged ones too")
    sub.add_argument("--apply", action="store_true", help="delete, after asking")
    sub.add_argument("--yes", action="store_true", help="do not ask")
    _json(sub)
    sub = add(
        "mirror",
        "mirror:mirror",
        "copy verified checkpoints to a second place and read them back there",
        "middlewatch mirror gpt --to /mnt/durable",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("--dir", metavar="DIR", help="a folder of checkpoints instead of a run")
    sub.add_argument(
        "--to",
        metavar="DEST",
        help="a folder, user@host:path (rsync) or remote:path (rclone); "
        "default: [mirror] to of the configuration",
    )
    sub.add_argument("--best-only", action="store_true", help="the best one only")
    sub.add_argument("--check", action="store_true", help="read back the copies that are there too")
    sub.add_argument("--limit", metavar="SIZE", help="bytes sent per second at most, like 20MiB")
    _json(sub)
