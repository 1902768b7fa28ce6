"""The command line: arguments in, exit status out.

Exit codes: 0 fine, 1 the command worked and reports something bad (a damaged checkpoint, an open
incident), 2 wrong usage or configuration, 3 the daemon is not reachable, 4 refused for safety,
5 internal error, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from ..system.errors import MiddlewatchError
from .arguments import build


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    ``argv``: the words after the program name, by default those of this process. Only the module
    of the command that runs is imported. Raises SystemExit for wrong usage, as argparse does.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # the terminal may not encode all characters
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build()
    args = parser.parse_args(words)
    if getattr(args, "handler", None) is None:
        return _help(parser, args)
    module, _, function = args.handler.partition(":")
    handler = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    try:
        status = int(handler(args) or 0)
        sys.stdout.flush()
    except MiddlewatchError as error:
        from .console import complain  # imported here: a command that does well may not need it

        complain(f"middlewatch: {error}")
        if error.hint:
            complain(f"  {error.hint}")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, less) closed the pipe; Python must not report that at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # noqa: BLE001 - a bug, whatever its type, has an exit status
        from .console import complain

        for line in traceback.format_exc().splitlines():
            complain(line)
        complain("middlewatch: internal error, please report it with the lines above")
        return 5
    return status


def _help(parser: ArgumentParser, args: Namespace) -> int:
    """Print the help of all, or with ``help COMMAND`` of one command."""
    commands = getattr(args, "commands", None)
    topic = getattr(args, "topic", None)
    if commands is not None and topic is not None and topic not in commands:
        parser.error(f"invalid choice: {topic!r} (choose from {', '.join(commands)})")
    (commands[topic] if commands is not None and topic else parser).print_help()
    return 2 if commands is None else 0
