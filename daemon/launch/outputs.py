"""Find out where a run prints to, and how that can be read without touching the run.

A file is a log. For a pipe, the process that reads it is searched, and what that one writes
(``tee``, a shell redirection behind it). A terminal may be a tmux pane. Output that cannot be read
becomes a note for a person.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..parsers.event_files import is_event_file
from ..system.ownership import name_of
from ..system.processes import OpenFile, Process, Processes
from ..system.users import User, runner_of
from .homes import container_id, unit_of
from .log_files import NO_LOG, is_log_name, is_pipe, log_like, place
from .slurm import NODE_DAEMONS, job_output
from .terminals import recordings
from .tmux import Pane, Panes, attach_command

CONTAINER_LOG = "prints to its container's log"
"""How a note begins about a run that prints there."""
_READ_WHERE = "read where the daemon may open the socket of the docker engine"
HOPS = 4
"""Pipes that are followed one after the other: ``python | tee a | ts | tee b`` has three."""


@dataclass(frozen=True, slots=True)
class PipePane:
    """The arguments for :func:`.tmux.attach_tmux`, which copies a tmux pane into a log."""

    tty: str
    target: str
    """The pane's id, as ``tmux -t`` takes it."""
    log: str
    """The file proposed for the copy; tmux does not write to it yet."""
    socket: str
    owner: User
    """The user of the tmux server: only as this user it is spoken to."""
    since: str = ""
    """The command as typed, to find the start of the run in the scroll-back."""


@dataclass(slots=True)
class Outputs:
    """Logs in the order in which they were found, and notes on output that cannot be read."""

    logs: list[str] = field(default_factory=list)
    log_via: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    pipe_pane: PipePane | None = None
    pane: Pane | None = None

    def add_log(self, process: Process, file: OpenFile) -> None:
        """Add a regular file as a log: by its path, or by /proc if the path is another file.

        A named pipe is none: what is read from it is lost for who it is meant for, as the engine that
        gets the output of a container through one.
        """
        if is_pipe(file):
            return
        path, via = place(process, file)
        if via:
            self.log_via.setdefault(path, via)
        if path not in self.logs:
            self.logs.append(path)

    def add_note(self, text: str) -> None:
        """Add a note, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)


class OutputFinder:
    """Finds the outputs of processes, in one snapshot of the processes of the box."""

    def __init__(self, processes: Processes, log_dir: str | None) -> None:
        self._processes = processes
        self._log_dir = log_dir
        self._panes = Panes()

    def outputs(self, holders: Sequence[Process], name: str) -> Outputs:
        """Outputs of ``holders``, the main process and the ranks of one run.

        ``name`` is the name of the run, for the file name of a proposed copy of a tmux pane.
        """
        found = Outputs()
        for process in holders:
            if not process.files:
                found.add_note(
                    f"open files of process {process.pid} are not readable: run as its user"
                )
            for fd in (1, 2):
                file = process.file(fd)
                if file is not None:
                    self._follow(process, file, found, name, HOPS)
        if not found.logs:
            for process in holders:
                for file in log_like(process):
                    found.add_log(process, file)
        if not found.logs and not found.notes:
            found.add_note(f"{NO_LOG}: only GPU, CPU and disk are watched")
        return found

    def _follow(
        self, process: Process, file: OpenFile, found: Outputs, name: str, hops: int
    ) -> None:
        """Follow one stdout or stderr through at most ``hops`` pipes to a file or terminal."""
        if file.regular:
            if not file.only_named:
                found.add_log(process, file)
        elif file.target.startswith("pipe:["):
            self._pipe(process, file, found, name, hops)
        elif file.target.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
            self._terminal(process, file.target, found, name)
        elif file.target.startswith("socket:["):
            unit = unit_of(process)
            where = f"the journal: journalctl -fu {unit}" if unit else "a socket"
            found.add_note(f"prints to {where}; that cannot be followed as a file")

    def _pipe(self, process: Process, file: OpenFile, found: Outputs, name: str, hops: int) -> None:
        """Find the processes that read the pipe, and add the logs that they write."""
        container = container_id(process)
        if container:
            found.add_note(f"{CONTAINER_LOG} (docker logs -f {container[:12]}): {_READ_WHERE}")
        readers = self._processes.pipe_readers(file.target)
        if not readers and not container:
            found.add_note(
                f"prints to a pipe ({file.target}) whose reader cannot be seen: "
                "another user's process, or the container's log (docker logs)"
            )
        for reader in readers:
            if reader.comm in NODE_DAEMONS:
                self._slurm(process, found, name, hops)
                continue
            kept = [f for f in reader.files if f.regular and f.writable and f.fd > 2]
            named = kept if reader.comm == "tee" else [f for f in kept if is_log_name(f.target)]
            for other in named:
                found.add_log(reader, other)
            out = reader.file(1)
            if out is None or hops == 0 or out.target == file.target:
                continue
            if out.regular or (not named and not container):
                self._follow(reader, out, found, name, hops - 1)

    def _slurm(self, process: Process, found: Outputs, name: str, hops: int) -> None:
        """The output of a task of ``srun``: Slurm carries it to where the job prints to."""
        source = job_output(process, self._processes)
        out = source.file(1) if source is not None else None
        if source is not None and out is not None and hops:
            self._follow(source, out, found, name, hops - 1)
        else:
            job = process.environ.get("SLURM_JOB_ID", "JOB")
            found.add_note(
                "its output goes through Slurm to the host of the job script: "
                f"scontrol show job {job} names the file (StdOut), --log FILE watches it"
            )

    def _terminal(self, process: Process, tty: str, found: Outputs, name: str) -> None:
        """Find what records a terminal, or note how to copy it: in tmux and screen only."""
        environ = process.environ
        kept = recordings(process, self._processes)
        for holder, file in kept:
            found.add_log(holder, file)
        if kept:
            return
        runner = runner_of(process.pid, self._processes.proc)
        pane = None
        # The terminals of another container have the same names as ours, and its paths, too.
        if runner is not None and not process.is_elsewhere:
            pane, refused = self._panes.of(tty, runner, environ.get("TMUX", ""))
            for note in refused:
                found.add_note(note)
        if pane is None:
            whose = "" if runner is None or runner[0] == os.geteuid() else name_of(runner[0])
            screen, log = environ.get("STY"), self._log(process, name, None)
            found.add_note(_plain_terminal(tty, screen, log, whose))
            return
        found.pane = pane
        if pane.piped:
            self._piped_pane(pane, found)
            return
        log = self._log(process, name, pane.owner)
        typed = " ".join(process.argv[1:]) or " ".join(process.argv)
        if pane.owner.is_us or pane.owner.home:
            found.pipe_pane = PipePane(tty, pane.id, log, pane.socket, pane.owner, typed)
        found.add_note(
            f"prints to terminal {tty} (tmux session {pane.session}, pane {pane.id}): "
            f"to follow it: {attach_command(pane, log)}"
        )

    def _piped_pane(self, pane: Pane, found: Outputs) -> None:
        """The pane has a ``pipe-pane`` already: find its file, if the tmux server has only one."""
        copies: dict[str, tuple[Process, OpenFile]] = {}
        for child in self._processes.descendants(pane.server_pid):
            runner = runner_of(child.pid, self._processes.proc)
            if runner is None or runner[0] != pane.owner.uid:
                continue  # the server says itself which process it is
            source, sink = child.file(0), child.file(1)
            fed = source is not None and source.target.startswith("socket:[")
            if fed and sink is not None and sink.regular and sink.writable:
                copies.setdefault(sink.target, (child, sink))
        if len(copies) == 1:
            found.add_log(*next(iter(copies.values())))
        else:
            found.add_note(f"tmux pane {pane.id} is piped already; the target was not found")

    def _log(self, process: Process, name: str, owner: User | None) -> str:
        """Where a copy of the terminal may lie: with us, or with the user whose tmux writes it."""
        file = f"{name.replace('/', '-')}.tmux.log"
        if owner is not None and not owner.is_us:
            return f"{owner.home or '/tmp'}/.local/state/middlewatch/panes/{file}"
        folder = self._log_dir
        if folder is None and _is_ours(process, self._processes.proc):
            folder = process.outside(process.cwd)
        if folder is None or not os.access(folder, os.W_OK):
            folder = str(Path.home())
        return str(Path(folder, file))


def _is_ours(process: Process, proc: str) -> bool:
    runner = runner_of(process.pid, proc)
    return runner is not None and runner[0] == os.geteuid()


def _plain_terminal(tty: str, screen: str | None, log: str, whose: str) -> str:
    if screen:
        command = f"screen -S {shlex.quote(screen)} -X"
        by = f"as {whose}: " if whose else ""
        return (
            f"prints to terminal {tty} (screen {screen}): to follow it: "
            f"{by}{command} logfile {shlex.quote(log)} && {command} log on"
        )
    return (
        f"prints to terminal {tty}, which nothing else can read, and ends with it (SIGHUP); "
        "next time: middlewatch run -- CMD"
    )


def event_files(process: Process) -> list[str]:
    """The event files for TensorBoard that a process has open."""
    opened = (file.target.removesuffix(" (deleted)") for file in process.files)
    return [path for path in opened if is_event_file(path)]
