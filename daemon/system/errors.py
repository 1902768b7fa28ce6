"""The errors that a person can see, each with its exit code.

MiddlewatchError
├── UsageError          2   wrong usage or configuration
│   └── ConfigError     2   the configuration file
├── DaemonUnreachable   3   no daemon answers on the control socket
├── Refused             4   refused for safety
└── Unsupported         5   not available on this box (normally handled inside the daemon)

Exit codes: 0 fine, 1 the command worked and reports something bad, 2 to 4 as above, 5 bug.
"""

from __future__ import annotations


class MiddlewatchError(Exception):
    """Base of all. ``str()`` is a sentence for a person; ``hint`` says what to do, or is empty."""

    exit_code = 5

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(MiddlewatchError):
    """The command line cannot be carried out as given."""

    exit_code = 2


class ConfigError(UsageError):
    """The configuration is wrong or cannot be read."""


class DaemonUnreachable(MiddlewatchError):
    """No daemon answers on the control socket."""

    exit_code = 3


class Refused(MiddlewatchError):
    """Refused for safety."""

    exit_code = 4


class Unsupported(MiddlewatchError):
    """This box does not have what a source reads (such as a GPU). That is not a failure."""
