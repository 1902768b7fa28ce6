"""The errors a person can meet, each with its exit code.

MiddlewatchError
├── UsageError          2   wrong usage or configuration
│   └── ConfigError     2   the configuration file
├── DaemonUnreachable   3   nobody answers on the control socket
├── Refused             4   refused for safety
└── Unsupported         5   not to be had on this box (inside: a source that is absent)

Exit codes: 0 fine, 1 it worked and the answer is bad, 2 to 4 as above, 5 internal error.
"""

from __future__ import annotations


class MiddlewatchError(Exception):
    """Base of all. ``str()`` is a sentence for a person; ``hint`` says what to do."""

    exit_code = 5

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(MiddlewatchError):
    """The command line makes no sense as given."""

    exit_code = 2


class ConfigError(UsageError):
    """The configuration cannot be read as it stands."""


class DaemonUnreachable(MiddlewatchError):
    """No daemon answers on the control socket."""

    exit_code = 3


class Refused(MiddlewatchError):
    """Refused for safety."""

    exit_code = 4


class Unsupported(MiddlewatchError):
    """This box does not have the thing at all: an absence, not a failure."""
