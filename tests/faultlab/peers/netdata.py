"""netdata: charts of a box with stock alarms; it calls a function of its user's."""

from __future__ import annotations

import getpass
import os
import shlex
from collections.abc import Iterable
from typing import ClassVar

from ..bench import Subject
from .monit import BY_PROCESS, BY_SCRIPT, ENDED, SILENT
from .peer import SILENT_LOG_S, Means, Peer, PeerAlarm, free_port
from .sinks import Arrival, WebSink

STOCK = "stock alarms, health.d: "


class Netdata(Peer):
    """One agent, its database in memory and on the scratch disk, its stock alarms on."""

    peer = "netdata"
    install = "apt-get install netdata"
    words: ClassVar = (
        Means(
            r"^disk_space_usage|^lab_disk_space", ("disk_full", "ckpt_write_failed", "saves_left")
        ),
        Means(r"^lab_disk_hours_left", ("saves_left", "disk_full")),
        Means(r"^(?:lab_)?disk_inode", ("inode_exhausted",)),
        Means(
            r"^lab_oom_kill",
            ("cgroup_oom_kill", "host_oom_kill", "dataloader_worker_killed"),
        ),
        Means(
            r"^oom_kill",
            ("cgroup_oom_kill", "host_oom_kill", "dataloader_worker_killed"),
            box=True,
        ),
        Means(r"^ram_", ("memory_pressure",), box=True),
        Means(r"^cgroup_ram|^lab_run_memory", ("memory_pressure",)),
        Means(r"^cgroup_10min_cpu", ("cpu_throttled",)),
        Means(r"^lab_run_alive", ENDED),
        Means(r"^lab_run_silent", SILENT),
        Means(r"^lab_run_error", ("python_exception", "cuda_oom", "nccl_error", "xid", "segfault")),
        Means(r"^lab_run_nan", ("loss_nan", "loss_inf", "val_loss_nan")),
        Means(r"^lab_run_checkpoint", ("checkpoint_stale",)),
        Means(r"^lab_run_gpus", ("gpu_lost", "xid")),
        Means(r"^lab_run_gpu_ecc", ("cuda_ecc",)),
    )
    _default: ClassVar = {
        **dict.fromkeys(("disk_full", "inode_exhausted", "ckpt_write_failed"), STOCK + "disks"),
        **dict.fromkeys(("cgroup_oom_kill", "host_oom_kill", "memory_pressure"), STOCK + "ram"),
        "cpu_throttled": STOCK + "cgroups, use of the CPU limit",
    }
    claims: ClassVar = {
        "default": _default,
        "tuned": {
            **_default,
            "saves_left": STOCK + "disks, the forecast that is commented out",
            **dict.fromkeys(
                (*BY_PROCESS, *BY_SCRIPT),
                "external plugins; the script we wrote",
            ),
        },
    }
    rule_s: ClassVar = {
        "default": {
            "": 2 * 60 + 15.0,
            **dict.fromkeys(("cgroup_oom_kill", "host_oom_kill"), 5 * 60 + 15.0),
            "cpu_throttled": 10 * 60 + 60.0,
            "memory_pressure": 30.0,
            "next_save_has_no_room": 240 + 2 * 60 + 15.0,
            "disk_growth": (30 + 2) * 60.0,  # 90 % after half an hour
            "inodes_growth": (30 + 2) * 60.0,
            "inodes_exhausted": 30 + 2 * 60 + 15.0,
        },
        "tuned": {
            "": 30.0,
            **dict.fromkeys(SILENT, SILENT_LOG_S + 30.0),
            "cpu_throttled": 10 * 60 + 60.0,
            "next_save_has_no_room": 180 + 30.0,
            "disk_growth": 12 * 60.0,  # compares with ten minutes before
            "inodes_growth": 20 * 60.0,
            "inodes_exhausted": 30 + 30.0,
        },
    }

    def needed(self) -> Iterable[str]:
        """The agent, and what its notification script sends with."""
        return ("netdata", "curl")

    def begin(self) -> None:
        """The agent in the foreground; its plugins are its children."""
        sink = WebSink()
        self.receive(sink)
        for name in ("etc/health.d", "lib", "cache", "log", "home", "plugins", "runs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        values = {
            "folder": self.folder,
            "port": free_port(),
            "sink": sink.url,
            "user": getpass.getuser(),
            "silent_s": SILENT_LOG_S,
        }
        etc = self.folder / "etc"
        for name in ("netdata.conf", "health_alarm_notify.conf"):
            (etc / name).write_text(self.template(f"netdata/{name}", **values))
        (etc / ".opt-out-from-anonymous-statistics").touch()
        if self.style == "tuned":
            for name in ("disks.conf", "runs.conf"):
                rules = self.template(f"netdata/{name}", **values)
                (etc / "health.d" / name).write_text(rules)
            plugin = self.folder / "plugins" / "runs.plugin"
            plugin.write_text(self.template("netdata/runs.plugin", **values))
            plugin.chmod(0o755)
        self.launch("netdata", "-D", "-c", str(etc / "netdata.conf"))

    def watch(self, subject: Subject) -> None:
        """The tuned one gets the script of this run."""
        if self.style == "tuned":
            fresh = self.folder / f"{subject.job.name}.fresh"
            fresh.write_text(f"exec {shlex.join(self.probe(subject))}\n")
            os.replace(fresh, self.folder / "runs" / subject.job.name)

    def read(self, arrival: Arrival) -> Iterable[PeerAlarm]:
        """One call is one change of an alarm's status."""
        told = {key: str(value) for key, value in arrival.fields.items()}
        body = f"{told.get('status')}: {told.get('info')} = {told.get('value')} ({told.get('chart')}, {told.get('family')})"
        title = told.get("name", "")
        status = told.get("status")
        if status in ("WARNING", "CRITICAL"):
            severity = "page" if status == "CRITICAL" else "warning"
            yield self.told(arrival.at, title, body, "page" if severity == "page" else "warning")
        else:
            yield PeerAlarm(arrival.at, "good", title, body)
