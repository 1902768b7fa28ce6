"""monit: process, file and filesystem checks of one box; it sends mail."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from ..bench import Subject
from .peer import SILENT_LOG_S, Means, Peer, PeerAlarm, end_session
from .sinks import Arrival, MailSink

DEFAULT_RUN = """
check process {run} with pidfile "{pidfile}"

check file {run}-log with path "{log}"
    if timestamp > 15 minutes then alert
"""
DEFAULT_DISK = """
check filesystem {disk} with path "{folder}"
    if space usage > 80% for 5 times within 15 cycles then alert
    if inode usage > 99% then alert
"""
TUNED_RUN = """
check process {run} with pidfile "{pidfile}"
    if does not exist then alert

check file {run}-log with path "{log}"
    if timestamp > {silent_s} seconds then alert
"""
TUNED_PROBE = """
check program {run}-{question} with path "{probe}" timeout 20 seconds
    if status != 0 then alert
"""
QUESTIONS = {"words": "log_", "memory": "oom|memory", "saves": "checkpoint", "gpus": "gpu"}
"""Names of the script's checks: a program check mails once, a content check with every match."""
TUNED_DISK = """
check filesystem {disk} with path "{folder}"
    if space usage > 80% then alert
    if inode usage > 80% then alert
"""

ENDED = ("silent_end", "python_exception", "segfault", "process_killed", "cgroup_oom_kill")
SILENT = ("hang", "stopped", "storage_stall", "input_starved", "not_exiting")
BY_SCRIPT = (
    *("loss_nan", "loss_inf", "cuda_oom", "nccl_error", "nccl_timeout", "xid"),
    *("checkpoint_stale", "gpu_lost", "cuda_ecc", "cgroup_oom_kill", "host_oom_kill"),
    "memory_pressure",
)
"""What the script of the hour looks for, in every peer that can take one."""
BY_PROCESS = ("silent_end", "python_exception", "segfault", "process_killed", *SILENT)
"""What a process check and the age of the log can see."""
DISK = "monit manual, SERVICE TESTS: filesystem space and inode usage"
PROCESS = "monit manual, check process: existence"


class Monit(Peer):
    """monit 5, in the foreground; rewritten and restarted when a job is added."""

    peer = "monit"
    install = "apt-get install monit"
    words: ClassVar = (
        Means(r"^monit alert --\s+(?:\S+ )*?(?:succeeded|exists|instance changed)\b", (), "good"),
        Means(r"^monit alert --\s+(?:action done|monit instance)", (), "good"),
        Means(r"process is not running|does not exist|is a zombie", ENDED),
        Means(r"space usage", ("disk_full", "ckpt_write_failed", "saves_left")),
        Means(r"inode usage", ("inode_exhausted",)),
        Means(r"modify/change time|timestamp failed", SILENT),
        Means(
            r"the log has an error",
            ("python_exception", "cuda_oom", "nccl_error", "xid", "segfault"),
        ),
        Means(r"says nan or inf", ("loss_nan", "loss_inf", "val_loss_nan")),
        Means(r"killed for memory", ("cgroup_oom_kill", "host_oom_kill")),
        Means(r"memory of the cgroup", ("memory_pressure",)),
        Means(r"memory usage", ("memory_pressure",), box=True),
        Means(r"newest checkpoint", ("checkpoint_stale",)),
        Means(r"GPUs: \d+ of", ("gpu_lost", "xid")),
        Means(r"ECC errors", ("cuda_ecc",)),
        Means(r"loadavg|cpu usage|swap usage", box=True),
    )
    _default: ClassVar = {
        **dict.fromkeys(BY_PROCESS[:4], PROCESS),
        **dict.fromkeys(("disk_full", "inode_exhausted", "ckpt_write_failed"), DISK),
        **dict.fromkeys(SILENT, "monitrc, example of a file's timestamp: older than 15 minutes"),
        "memory_pressure": "monitrc, example of check system: memory usage",
    }
    claims: ClassVar = {
        "default": _default,
        "tuned": {
            **_default,
            **dict.fromkeys(BY_SCRIPT, "monit manual, check program: the script we wrote"),
        },
    }
    rule_s: ClassVar = {
        "default": {
            "": 130.0,
            **dict.fromkeys(SILENT, 15 * 60 + 120.0),
            **dict.fromkeys(("disk_full", "ckpt_write_failed"), 5 * 120 + 10.0),
            "next_save_has_no_room": 180 + 5 * 120 + 10.0,
            "disk_growth": (20 + 10) * 60.0,  # 80 % after twenty minutes, then five looks
            "inodes_growth": 40 * 60.0,
            "inodes_exhausted": 30 + 130.0,
        },
        "tuned": {
            "": 30.0,
            **dict.fromkeys(SILENT, SILENT_LOG_S + 25.0),
            "next_save_has_no_room": 180 + 30.0,
            "disk_growth": 20 * 60.0,
            "inodes_growth": 20 * 60.0,
            "inodes_exhausted": 30 + 30.0,
        },
    }

    def needed(self) -> Iterable[str]:
        """The daemon."""
        return ("monit",)

    def begin(self) -> None:
        """Mail arrives here; the daemon waits for its first job."""
        self._mail = MailSink()
        self.receive(self._mail)

    def watch(self, subject: Subject) -> None:
        """Write the configuration for all jobs and (re)start, as ``monit reload`` does."""
        control = self.folder / "monitrc"
        text = self.template(
            f"monit/{self.style}.monitrc",
            folder=self.folder,
            port=self._mail.port,
            checks="".join(self._checks()),
        )
        control.write_text(text)
        control.chmod(0o600)
        while self._programs:
            end_session(self._programs.pop())
        self.launch("monit", "-I", "-c", str(control))

    def _checks(self) -> Iterable[str]:
        run, disk_check = (
            (DEFAULT_RUN, DEFAULT_DISK) if self.style == "default" else (TUNED_RUN, TUNED_DISK)
        )
        disks: dict[int, Path] = {}
        for subject in self.subjects:
            name = subject.job.name
            yield run.format(
                run=name,
                pidfile=self.pid_file(subject),
                log=subject.log,
                silent_s=SILENT_LOG_S,
            )
            for question, facts in QUESTIONS.items() if self.style == "tuned" else ():
                words = self.probe(subject)
                words[2:2] = ["--judge", facts]
                yield TUNED_PROBE.format(run=name, question=question, probe=shlex.join(words))
            for folder in self.saves(subject):
                disk = mount_point(folder)
                disks.setdefault(os.stat(disk).st_dev, disk)
        for number, folder in enumerate(disks.values()):
            yield disk_check.format(disk=f"disk{number}", folder=folder)

    def read(self, arrival: Arrival) -> Iterable[PeerAlarm]:
        """One mail is one alarm; monit knows no severities, a mail is a mail."""
        title, text = str(arrival.fields["title"]), str(arrival.fields["text"])
        yield self.told(arrival.at, title, text, "page")


def mount_point(folder: Path) -> Path:
    """What monit wants for a filesystem: the directory it is mounted on. The folder of a run
    that has not saved yet need not be there."""
    at = folder.resolve()
    while not at.is_mount():
        at = at.parent
    return at
