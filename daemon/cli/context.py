"""What most commands need: the state directory, the configuration, the daemon."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..client import Client
from ..config.load import load
from ..config.paths import StateDir, config_file, state_dir
from ..config.schema import Config
from ..system.errors import ConfigError, UsageError
from . import console


def state(args: argparse.Namespace) -> StateDir:
    """The state directory that the command works on."""
    return StateDir(state_dir(args.state_dir))


def taken_state(args: argparse.Namespace) -> StateDir:
    """The state directory, made if it is not there, and for nobody else to open.

    What had to be changed for that is told. Raises UsageError when it cannot be used, and Refused
    when others may have put something there.
    """
    where = state(args)
    try:
        for words in where.take():
            console.complain(f"middlewatch: {words}")
    except OSError as error:
        raise UsageError(
            f"the state directory {where.root} cannot be used: {error.strerror or error}",
            "name another with --state-dir or $MIDDLEWATCH_STATE_DIR",
        ) from error
    return where


def configuration(args: argparse.Namespace) -> Config:
    """The configuration. Raises ConfigError; a file given by ``--config`` must exist."""
    if args.config:
        path = Path(args.config)
        if not path.exists():
            from .named_files import near  # loads what knows checkpoints

            raise ConfigError(
                f"{path}: no such configuration file",
                near(path) or "name one with --config, or leave it out: then the defaults hold",
            )
        return load(path)
    return load(config_file())


PATIENCE_S = 20.0
"""Seconds until a daemon that holds its socket open counts as one that does not answer. On a box where
everything waits for a CPU one answer has taken more than 5 s; a daemon that is gone is known at once."""


def client(args: argparse.Namespace, timeout_s: float = PATIENCE_S) -> Client:
    """A client of the daemon of this state directory; it connects when it is used."""
    return Client(str(state(args).socket), timeout_s)
