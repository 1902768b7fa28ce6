"""Start a cell once: first the intent, then the claim of its command, then what is known of its process."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..config.run_spec import Rank, RunSpec, run_id
from ..config.secrets import mask_words
from ..jobs import local
from ..jobs.job import Job, Main
from ..launch.checkpoint_args import from_argv
from ..launch.start import launch, line_buffered
from ..system import procfs
from ..system.errors import MiddlewatchError, UsageError
from ..system.private import open_private
from . import claims, pins
from .cells import Cell
from .ownership import own
from .places import QueuePlace
from .roster import Attempt, CellState
from .store import QueueStore
from .surroundings import environment

SAVE_BEFORE_END_S = 90.0
"""Seconds between TERM and KILL at the end of ``@max-time``, as for ``middlewatch launch``."""


class Starter:
    """Starts cells of one queue. ``base``: the environment that cells get, beside their own."""

    def __init__(
        self,
        place: QueuePlace,
        store: QueueStore,
        base: Mapping[str, str],
    ) -> None:
        self._place, self._store, self._base = place, store, base
        self._boot = procfs.boot_id()

    def _note(self, kind: str, cell: CellState, **fields: object) -> None:
        self._store.note(kind, cell=cell.name, **fields)

    def start(self, cell: Cell, state: CellState, gpus: Sequence[str] | None) -> None:
        """Start the cell. Whatever goes wrong stands in the journal. Raises OSError if that cannot be written."""
        try:
            owner = own(cell.dir, self._mine(), state.takes_over)
            os.makedirs(cell.trackers, exist_ok=True)  # W&B writes to a missing one nowhere
            words, path = self._words(cell, state)
        except OSError as error:
            self._note("failed", state, how=f"{cell.dir}: {error.strerror or error}")
            return
        if owner is not None:
            who = owner.get("host") or "another box"
            self._note("elsewhere", state, how=f"{who} has it ({owner.get('state_dir', '?')})")
            return
        run, folder = self._run_folder(cell)
        attempt = Attempt(
            run=run,
            digest=cell.digest,
            boot=self._boot,
            exit_file=str(folder / "exit.json"),
            log=str(folder / "output.log"),
            claim=str(self._place.claims / run),
            intent_at=self._store.clock.now(),
            gpus=tuple(gpus or ()),
        )
        self._note(
            "intent",
            state,
            run=run,
            digest=cell.digest,
            boot=attempt.boot,
            exit_file=attempt.exit_file,
            log=attempt.log,
            claim=attempt.claim,
            gpus=list(attempt.gpus),
        )
        env = environment(cell, self._place.name, self._base, gpus)
        if path:
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [*path, env.get("PYTHONPATH", "")]))
        self._launch(cell, state, attempt, words, env)

    def _launch(
        self, cell: Cell, state: CellState, attempt: Attempt, words: list[str], env: dict[str, str]
    ) -> None:
        env["PYTHONUNBUFFERED"] = "1"
        command = line_buffered(words, Path(cell.settings.workdir), env)
        if cell.settings.max_time_s:
            main = Main(max_time_s=cell.settings.max_time_s, save_before_end_s=SAVE_BEFORE_END_S)
            command = list(local.limited(Job(main=main), command))
        try:
            launched = launch(
                claims.claiming(Path(attempt.claim), command),
                name=cell.name,
                log=attempt.log,
                exit_file=attempt.exit_file,
                cwd=cell.settings.workdir,
                keep_buffering=True,  # the claim is no program to buffer; the command has it already
                env=env,
            )
        except UsageError as error:
            if claims.give_up(attempt.claim):
                self._note("void", state, run=attempt.run)
                self._note("failed", state, how=str(error))
            return
        except MiddlewatchError:
            return  # it may be on its way: the next turn finds out
        self._note(
            "started",
            state,
            run=attempt.run,
            pid=launched.pid,
            ticks=launched.start_ticks,
            supervisor=launched.supervisor_pid,
            supervisor_ticks=procfs.start_ticks(launched.supervisor_pid),
        )

    def _mine(self) -> dict[str, str]:
        return {
            "queue": self._store.roster.uid,
            "host": socket.gethostname(),
            "state_dir": str(self._place.state.root),
        }

    def _words(self, cell: Cell, state: CellState) -> tuple[list[str], list[str]]:
        """The command, from copies where a script was changed since; folders for PYTHONPATH."""
        known = self._store.roster.pins.get(state.pins, {})
        other = pins.changed(known)
        if not other:
            return list(cell.words), []
        names = ", ".join(sorted(os.path.basename(one) for one in other))
        if not cell.settings.pinned:
            text = f"{names} changed after this cell was queued: the new one is run"
            self._note("note", state, text=text)
            return list(cell.words), []
        text = f"{names} changed after this cell was queued: the copy of then is run"
        self._note("note", state, text=text)
        copies = self._place.scripts / state.pins
        return pins.from_copies(cell.words, cell.settings.workdir, known, copies)

    def _run_folder(self, cell: Cell) -> tuple[str, Path]:
        """A new run, with the files that only we may open."""
        where = self._place.state
        run = run_id(cell.name)
        while where.run(run).exists():
            run = run_id(cell.name)
        folder = where.make_run(run)
        for name in ("exit.json", "output.log"):
            os.close(open_private(folder / name, os.O_WRONLY))
        return run, folder

    # -- what became of it --------------------------------------------------------------

    def look(self, state: CellState) -> None:
        """See what is true of the last start of a cell, and write down what is new."""
        attempt = state.last
        if attempt is None:
            return
        known = state.standing == "running"
        seen = claims.look(attempt, self._boot) if known else claims.resolve(attempt, self._boot)
        if seen.what == "ended" and seen.exit is not None:
            self._note(
                "ended",
                state,
                run=attempt.run,
                pid=seen.exit.pid,
                ticks=seen.exit.start_ticks,
                exit_code=seen.exit.exit_code,
                signal=seen.exit.signal,
                started_at=seen.exit.started_at,
                ended_at=seen.exit.ended_at,
            )
        elif seen.what == "void":
            self._note("void", state, run=attempt.run)
        elif seen.what == "lost":
            reboot = attempt.boot != self._boot
            self._note("lost", state, run=attempt.run, how=seen.how, reboot=reboot)
        elif seen.what == "running" and not known and seen.pid is not None:
            supervisor = claims.supervisor_of(attempt.exit_file)
            self._note(
                "started",
                state,
                run=attempt.run,
                pid=seen.pid,
                ticks=seen.ticks,
                supervisor=supervisor,
                supervisor_ticks=procfs.start_ticks(supervisor) if supervisor else None,
            )


def spec_of(state: CellState, attempt: Attempt, cell: Cell | None, names: Sequence[str]) -> RunSpec:
    """The run as the daemon is told of it. ``cell``: its line, if the file still has it as it was started;
    else the command is known with what looks like a secret hidden. ``names``: of the environment."""
    words = cell.words if cell is not None and cell.digest == attempt.digest else state.words
    cwd = cell.settings.workdir if cell is not None else state.dir
    pid, ticks = attempt.pid or 0, attempt.ticks or 0
    return RunSpec(
        name=state.name,
        pid=pid,
        start_ticks=ticks,
        ranks=(Rank(pid, ticks),),
        command=tuple(words),
        cwd=cwd,
        env_names=tuple(sorted(names)),
        logs=(attempt.log,),
        checkpoint_dirs=tuple(from_argv(words, cwd)) or (state.dir,),
        exit_file=attempt.exit_file,
        started_at=attempt.started_at or attempt.intent_at,
        home="setsid",
        uid=os.geteuid(),
        gid=os.getegid(),
        id=attempt.run,
    )


def shown(words: Sequence[str]) -> list[str]:
    """A command for people and for the journal."""
    return list(mask_words(words))
