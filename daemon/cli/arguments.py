"""Every command with its options and an example.

A handler is given as ``module:function`` and imported only when its command runs.
"""

from __future__ import annotations

import argparse
from typing import Any

from middlewatch import __version__

from . import setup_arguments
from .arguments_alert import alerting
from .arguments_before import before, before_launch, gate, going_on
from .arguments_keeping import keeping
from .arguments_launch import launching
from .arguments_new import beginning
from .arguments_queue import queueing
from .arguments_remote import between
from .arguments_showing import showing
from .arguments_size import sizing
from .parser import Add, Parser, json_option


def build() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="middlewatch",
        description="Watches long GPU trainings on rented boxes.",
        epilog="example: middlewatch run --name gpt -- python train.py --max_steps 5000\n"
        "--json, --state-dir DIR and --config FILE may stand before or after the command\n"
        "exit codes: 0 fine, 1 something bad is reported, 2 wrong usage or configuration,\n"
        "  3 the daemon is not reachable, 4 refused for safety, 5 internal error",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"middlewatch {__version__}")
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
        sub.set_defaults(handler=handler, parser=sub)
        sub.example = example
        sub.add_argument("--state-dir", metavar="DIR", help="where the daemon keeps its state")
        sub.add_argument("--config", metavar="FILE", help="configuration file (TOML)")
        return sub

    helps = commands.add_parser(
        "help",
        help="show the help of a command",
        epilog="example: middlewatch help watch",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    helps.add_argument("topic", nargs="?", metavar="COMMAND", help="its name")
    helps.set_defaults(commands=commands.choices)
    _service(add)
    _runs(add)
    _shows(add)
    _checks(add)
    for part in (before, sizing, launching, beginning, queueing, keeping, between):
        part(add)
    return parser


def _signal(text: str) -> str:
    """``sigterm`` and ``SIGTERM`` as ``TERM``."""
    return text.upper().removeprefix("SIG")


def _service(add: Add) -> None:
    setup_arguments.add_to(add)
    add(
        "daemon",
        "daemon:daemon",
        "watch in the foreground (the command for a systemd service)",
        "middlewatch daemon",
    )
    sub = add(
        "start",
        "daemon:start",
        "start the daemon detached (no systemd needed)",
        "middlewatch start",
    )
    json_option(sub)
    sub = add("stop", "daemon:stop", "stop the daemon; the runs continue", "middlewatch stop")
    json_option(sub)


def _runs(add: Add) -> None:
    sub = add(
        "run",
        "run:run",
        "start a command that outlives this session, and watch it",
        "middlewatch run --name gpt --checkpoints out -- python train.py",
    )
    sub.add_argument("--name", help="name of the run (default: from the command)")
    sub.add_argument("--log", metavar="FILE", help="file for the output of the command")
    sub.add_argument(
        "--checkpoints",
        metavar="DIR",
        action="append",
        default=[],
        help="folder in which it saves checkpoints (repeatable)",
    )
    sub.add_argument("--via", choices=("setsid", "tmux", "systemd"), help="how to detach it")
    sub.add_argument(
        "--keep-buffering",
        action="store_true",
        help="do not set PYTHONUNBUFFERED or line buffering",
    )
    gate(sub)
    json_option(sub)
    sub.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD…", help="the command")
    sub = add(
        "watch",
        "watch:watch",
        "watch a run that is already going; with no option, find the runs of this box, now and later",
        "middlewatch watch --pid 4711 --log train.log",
    )
    sub.add_argument("--pid", type=int, help="process id of the run")
    sub.add_argument(
        "--log", metavar="FILE", action="append", default=[], help="log of the run (repeatable)"
    )
    sub.add_argument(
        "--checkpoints",
        metavar="DIR",
        action="append",
        default=[],
        help="folder in which it saves checkpoints (repeatable)",
    )
    sub.add_argument("--name", help="name of the run")
    sub.add_argument(
        "--once",
        action="store_true",
        help="find the runs of this moment only; ends an earlier watch for new ones",
    )
    json_option(sub)
    sub = add(
        "resume",
        "resume:resume",
        "show how to resume a run from its last good checkpoint; --exec resumes it",
        "middlewatch resume gpt --exec",
    )
    sub.add_argument(
        "run", nargs="?", help="id or name; default: the newest that failed and was not resumed"
    )
    sub.add_argument(
        "--from",
        dest="from_path",
        metavar="PATH",
        help="resume from this checkpoint instead of the newest that was verified",
    )
    sub.add_argument(
        "--exec",
        dest="execute",
        action="store_true",
        help="verify the checkpoint again, then start the run under watch",
    )
    sub.add_argument(
        "--force",
        action="store_true",
        help="resume even if the handbook advises against a retry after this class of trouble, "
        "or if it is not known whether the command loads a checkpoint",
    )
    going_on(sub)
    json_option(sub)


def _shows(add: Add) -> None:
    sub = add("runs", "runs:runs", "list the runs that the daemon knows", "middlewatch runs --json")
    json_option(sub)
    sub = add("status", "status:status", "show the state of a run now", "middlewatch status gpt")
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument(
        "--oneline", action="store_true", help="one line; exit 1 when an incident is open"
    )
    sub.add_argument(
        "--follow",
        action="store_true",
        help="with --json: the whole state, then a JSON patch for each change, until it ends",
    )
    json_option(sub)
    sub = add(
        "incidents", "incidents:incidents", "list incidents", "middlewatch incidents --all --json"
    )
    sub.add_argument("--run", help="only incidents of this run")
    sub.add_argument("--all", action="store_true", help="show resolved incidents too")
    sub.add_argument("--follow", action="store_true", help="keep printing changes as they happen")
    json_option(sub)
    sub = add(
        "ack", "ack:ack", "acknowledge an incident: no more reminders", "middlewatch ack 3fa2c1"
    )
    sub.add_argument("id", help="id of the incident, as `middlewatch incidents` shows it")
    json_option(sub)
    sub = add(
        "silence",
        "silence:silence",
        "send no push about a run or a class of trouble for a while; --list shows the silences",
        "middlewatch silence --run gpt --class disk_full --for 2h",
    )
    sub.add_argument("--run", help="only pushes about this run")
    sub.add_argument("--class", dest="trouble", metavar="CLASS", help="only pushes of this class")
    sub.add_argument("--all", action="store_true", help="every push")
    sub.add_argument("--for", dest="duration", metavar="TIME", help="for how long: 30m, 2h, 1d")
    sub.add_argument("--list", action="store_true", help="show the silences and their ids")
    sub.add_argument("--cancel", metavar="ID", help="end a silence now")
    json_option(sub)
    sub = add(
        "logs",
        "logs:logs",
        "print the newest lines of a run's log; --follow goes on",
        "middlewatch logs gpt -f",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("-n", "--lines", type=int, default=20, help="how many lines (default: 20)")
    sub.add_argument("-f", "--follow", action="store_true", help="keep printing what comes")
    sub.add_argument("--file", metavar="TEXT", help="the log with this text in its path")
    json_option(sub)
    sub = add(
        "end",
        "end:end",
        "end a run: a signal to its process group, after asking",
        "middlewatch end gpt",
    )
    sub.add_argument("run", help="id or name")
    sub.add_argument(
        "--signal",
        type=_signal,
        choices=("TERM", "INT", "KILL", "USR1"),
        default="TERM",
        help="default: TERM",
    )
    sub.add_argument("--yes", action="store_true", help="do not ask")
    sub.add_argument(
        "--wait",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds for it to end (default: 30, as torchrun gives its ranks)",
    )
    json_option(sub)
    sub = add(
        "forget",
        "end:forget",
        "take a run that is over off the list; no file is deleted",
        "middlewatch forget gpt",
    )
    sub.add_argument("run", help="id or name")
    json_option(sub)
    sub = add(
        "checkpoints",
        "checkpoints:checkpoints",
        "show the checkpoint index",
        "middlewatch checkpoints gpt",
    )
    sub.add_argument("run", nargs="?", help="id or name; default: the newest living run")
    sub.add_argument("--rescan", action="store_true", help="verify everything on disk again")
    sub.add_argument("--dir", metavar="DIR", help="with --rescan: this folder instead of a run")
    json_option(sub)
    sub = add(
        "explain",
        "explain:explain",
        "show the handbook page of a class of trouble, a rule or an incident",
        "middlewatch explain cuda_oom",
    )
    sub.add_argument(
        "what", nargs="?", help="class, rule or incident id; default: all pages by topic"
    )
    json_option(sub)
    sub = add(
        "evidence",
        "evidence:evidence",
        "show what the run and the box looked like when an incident was pushed",
        "middlewatch evidence 3fa2c1 --out 3fa2c1.tar.gz",
    )
    sub.add_argument("id", help="id of the incident, as `middlewatch incidents` shows it")
    sub.add_argument(
        "--out",
        metavar="FILE",
        help="write it to FILE.txt, or to FILE.tar.gz with the picture of the loss and the facts",
    )
    json_option(sub)
    sub = add(
        "watchbox",
        "watchbox:watchbox",
        "from another machine: ask over ssh whether a box still answers, and push when it does not",
        "middlewatch watchbox root@box3",
    )
    sub.add_argument("host", metavar="HOST", help="user@host, as for ssh")
    sub.add_argument(
        "--every", default="30s", metavar="TIME", help="time between two looks (default: 30s)"
    )
    sub.add_argument(
        "--after", default="3m", metavar="TIME", help="silence after which it is told (default: 3m)"
    )
    sub.add_argument(
        "--command",
        default="",
        metavar="PATH",
        help="middlewatch on the box, where it is neither in PATH nor where `deploy` puts it",
    )
    json_option(sub)
    showing(add)


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
        help="load them with torch too, with the Python of the run that saved them if it is there",
    )
    sub.add_argument(
        "--level",
        choices=("structure", "checksum", "finite"),
        help="how much to check: structure (headers and sizes), checksum (all data too), "
        "finite (no NaN or infinity too; the default)",
    )
    sub.add_argument("--python", metavar="PATH", help="with --deep: the Python to load with")
    sub.add_argument(
        "--quarantine",
        action="store_true",
        help="rename what is corrupt or incomplete to NAME.quarantined, so that no trainer resumes from it",
    )
    json_option(sub)
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
        help="log files, also compressed ones (gzip, xz, zstd, bzip2); - is standard input",
    )
    sub.add_argument(
        "--run",
        nargs="?",
        const="",
        metavar="NAME",
        help="judge the files together: they are logs of the ranks of one run, or rotated parts",
    )
    for name, what in (
        ("--metrics", "print every metric too (with --json)"),
        ("--quick", "look for troubles only, as fast as a text search: no losses, no curve"),
        ("--whole", "judge every report one by one, also where nothing happens for long"),
    ):
        sub.add_argument(name, action="store_true", help=what)
    json_option(sub)
    sub = add(
        "audit",
        "audit:audit",
        "examine a new box: what it has, what can be watched on it, and whether a command fits it",
        "middlewatch audit --save-size 12GiB --saves 20 -- torchrun --nproc_per_node 8 train.py",
    )
    before_launch(sub)
    json_option(sub)
    sub = add(
        "doctor",
        "doctor:doctor",
        "examine the watch itself: its disk, store, memory, workers, sources, rules and pushes",
        "middlewatch doctor --json",
    )
    json_option(sub)
    alerting(add)
    sub = add(
        "drill",
        "drill:drill",
        "start a toy run that gets into real trouble, and push that, marked as a drill",
        "middlewatch drill nan",
    )
    sub.add_argument(
        "trouble", choices=("nan", "hang", "oom", "disk", "crash"), help="what goes wrong"
    )
    json_option(sub)
    sub = add(
        "config",
        "config:config",
        "check the configuration, or show every value and where it comes from",
        "middlewatch config check",
    )
    sub.add_argument("action", choices=("check", "show"), help="what to do")
    json_option(sub)
