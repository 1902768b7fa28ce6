"""The command line: arguments in, exit status out.

Exit codes: 0 fine, 1 the command worked and reports something bad (a damaged checkpoint, an open
incident), 2 wrong usage or configuration, 3 the daemon is not reachable, 4 refused for safety,
5 internal error, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence

from ..system.errors import MiddlewatchError, UsageError
from .arguments import build
from .parser import Parser, parsed


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    ``argv``: the words after the program name, by default those of this process. Only the module
    of the command that runs is imported. Raises SystemExit for wrong usage, as argparse does.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # the terminal may not encode all characters
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build()
    args = parsed(parser, words)
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
        _no_more_output()  # the reader (head, less) closed the pipe
        return 0
    except OSError as error:
        refused = _of_the_box(error)
        return _bug() if refused is None else refused
    except Exception:  # noqa: BLE001 - a bug, whatever its type, has an exit status
        return _bug()
    return status


def _no_more_output() -> None:
    """Python must not try again at its exit what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug() -> int:
    """Print the traceback of what is no mistake of a person; the exit status."""
    from .console import complain

    for line in traceback.format_exc().splitlines():
        complain(line)
    complain("middlewatch: internal error, please report it with the lines above")
    return 5


def _of_the_box(error: OSError) -> int | None:
    """Say what the box refuses that no command has a better word for; ``None`` for any other error."""
    from .console import complain

    reason = error.strerror or str(error)
    told = f"{os.fsdecode(error.filename)}: {reason}" if error.filename else reason
    if error.errno in (errno.ENOSPC, errno.EDQUOT) and not error.filename:
        _no_more_output()
        told, hint = f"cannot write: {reason}", "make room, or send the output elsewhere"
    elif error.errno in (errno.EACCES, errno.EPERM):
        hint = "do it as the user whose it is, or with sudo"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        hint = "make room there (df -h, df -i), or name another place"
    else:
        try:
            os.getcwd()
        except FileNotFoundError:
            told, hint = "the working folder is not there any more", "go to another one: cd"
        else:
            return None
    complain(f"middlewatch: {told}")
    complain(f"  {hint}")
    return UsageError.exit_code


def _help(parser: Parser, args: Namespace) -> int:
    """Print the help of all, or with ``help COMMAND`` of one command."""
    commands = getattr(args, "commands", None)
    topic = getattr(args, "topic", None)
    if commands is not None and topic is not None and topic not in commands:
        parser.error(f"invalid choice: {topic!r} (choose from {', '.join(commands)})")
    (commands[topic] if commands is not None and topic else parser).print_help()
    return 2 if commands is None else 0
