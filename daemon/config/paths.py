"""The paths of all files that middlewatch owns: configuration and state directory."""

from __future__ import annotations

import os
from pathlib import Path

from ..system.private import close_files, make_private, take_folder

MEMORY = "/dev/shm"
"""Where the files of a push lie while it is sent: ``/tmp`` may be full, or read-only under systemd."""


def _home(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable)
    return Path(value).absolute() if value else Path.home() / fallback


def config_file() -> Path:
    """``$MIDDLEWATCH_CONFIG``, else /etc (root) or the user's configuration folder."""
    named = os.environ.get("MIDDLEWATCH_CONFIG")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/etc/middlewatch/config.toml")
    return _home("XDG_CONFIG_HOME", ".config") / "middlewatch" / "config.toml"


def state_dir(given: str | None = None) -> Path:
    """``--state-dir``, ``$MIDDLEWATCH_STATE_DIR``, else /var/lib (root) or the user's own."""
    named = given or os.environ.get("MIDDLEWATCH_STATE_DIR")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/middlewatch")
    return _home("XDG_STATE_HOME", ".local/state") / "middlewatch"


_OTHER_NAMES = (
    *("daemon.log", "daemon.log.1", "mirror.json", "panes", "runs", "boxes", "alert_urls"),
    *("evidence", "answer_key", "mirror-trees.sqlite", "queues", "launches"),
    *("reserve", "reserve-1", "reserve-2", "reserve-3"),
)
"""What the state directory may hold without a store: these names are used elsewhere, too."""


class StateDir:
    """The layout of the state directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = root / "middlewatch.sqlite"
        self.socket = root / "middlewatch.sock"
        self.lock = root / "middlewatch.lock"
        self.daemon_log = root / "daemon.log"
        self.reserve = root / "reserve"
        self.panes = root / "panes"
        self.alert_urls = root / "alert_urls"
        self.answer_key = root / "answer_key"
        self.evidence = root / "evidence"

    def take(self) -> list[str]:
        """Make the folder, for nobody else to open; sentences about what had to be changed.

        Raises OSError, and Refused for one that others own, or where they may have put something.
        """
        marks = (self.lock.name, self.store.name, self.socket.name)
        return take_folder(self.root, marks, _OTHER_NAMES)

    def close_to_others(self) -> None:
        """Take the rights that older versions gave to others away from what is in the folder."""
        close_files(str(self.root), 2)

    def make_run(self, run_id: str) -> Path:
        """The folder of one run, made if it is not there. Raises OSError and Refused."""
        make_private(self.root / "runs")
        make_private(self.run(run_id))
        return self.run(run_id)

    def make_panes(self) -> Path:
        """The folder for copies of tmux panes, made as well."""
        make_private(self.panes)
        return self.panes

    def run(self, run_id: str) -> Path:
        """Folder of one run: status page, index, log, exit record."""
        return self.root / "runs" / run_id

    def evidence_of(self, incident: str) -> Path:
        """The facts of one incident, as they were when it was pushed."""
        return self.evidence / f"{incident}.json"

    def status_page(self, run_id: str) -> Path:
        """The run's ``training_status.md``."""
        return self.run(run_id) / "training_status.md"

    def checkpoint_index(self, run_id: str) -> Path:
        """The run's ``checkpoints_index.json``."""
        return self.run(run_id) / "checkpoints_index.json"
