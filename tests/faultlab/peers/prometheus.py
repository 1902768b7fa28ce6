"""Prometheus with node_exporter and Alertmanager; it calls a webhook."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import ClassVar

from ..bench import Subject
from .monit import BY_PROCESS, BY_SCRIPT, ENDED, SILENT
from .peer import SILENT_LOG_S, Means, Peer, PeerAlarm, free_port
from .sinks import Arrival, WebSink

LOOP = """
while :; do
    for run in runs/*; do [ -e "$run" ] && sh "$run"; done >textfile/runs.prom.fresh
    mv textfile/runs.prom.fresh textfile/runs.prom
    sleep 5
done
"""
"""What a timer of systemd does elsewhere: the script of every run, every five seconds."""

FILESYSTEM = "node mixin of node_exporter: filesystem space and inodes"


class Prometheus(Peer):
    """The three programs of one box; the tuned ones with a textfile of the runs."""

    peer = "prometheus"
    install = "apt-get install prometheus prometheus-node-exporter prometheus-alertmanager"
    words: ClassVar = (
        Means(r"^RunGone|^RunUnknown", ENDED),
        Means(r"^RunSilent", SILENT),
        Means(r"^RunError", ("python_exception", "cuda_oom", "nccl_error", "xid", "segfault")),
        Means(r"^RunNan", ("loss_nan", "loss_inf", "val_loss_nan")),
        Means(r"^RunCheckpointOld", ("checkpoint_stale",)),
        Means(r"^RunMemoryHigh", ("memory_pressure",)),
        Means(r"^MemoryLow", ("memory_pressure",), box=True),
        Means(r"^SpaceAlmostGone", ("disk_full", "ckpt_write_failed", "saves_left")),
        Means(r"^SpaceRunningOut", ("saves_left", "disk_full")),
        Means(r"^Inodes", ("inode_exhausted",)),
        Means(r"^OomKill", ("cgroup_oom_kill", "host_oom_kill", "dataloader_worker_killed")),
        Means(r"^GpuGone", ("gpu_lost", "xid")),
        Means(r"^GpuEcc", ("cuda_ecc",)),
        Means(r"^InstanceDown|^Clock", box=True),
    )
    _default: ClassVar = dict.fromkeys(
        ("disk_full", "inode_exhausted", "saves_left", "ckpt_write_failed"), FILESYSTEM
    )
    claims: ClassVar = {
        "default": _default,
        "tuned": {
            **_default,
            **dict.fromkeys(
                (*BY_PROCESS, *BY_SCRIPT),
                "node_exporter: textfile collector; the script we wrote",
            ),
        },
    }
    rule_s: ClassVar = {
        "default": {
            "": 60 * 60.0,
            **dict.fromkeys(("disk_full", "ckpt_write_failed"), 30 * 60.0),
            "disk_growth": 60 * 60.0,
        },
        "tuned": {
            "": 30.0,
            **dict.fromkeys(SILENT, SILENT_LOG_S + 30.0),
            "next_save_has_no_room": 240 + 30.0,
            "disk_growth": 60 + 40.0,
            "inodes_growth": 60 + 40.0,
            "inodes_exhausted": 30 + 30.0,
        },
    }

    def needed(self) -> Iterable[str]:
        """Debian's names of the three."""
        return ("prometheus", "prometheus-node-exporter", "prometheus-alertmanager")

    def begin(self) -> None:
        """All three, on free ports, with their data in the scratch directory."""
        sink = WebSink()
        self.receive(sink)
        own, node, manager = free_port(), free_port(), free_port()
        values = {
            "folder": self.folder,
            "sink": sink.url,
            "prometheus": own,
            "node": node,
            "alertmanager": manager,
            "silent_s": SILENT_LOG_S,
        }
        for name in ("prometheus.yml", "alertmanager.yml", "rules.yml"):
            text = self.template(f"prometheus/{self.style}/{name}", **values)
            (self.folder / name).write_text(text)
        for name in ("textfile", "runs"):
            (self.folder / name).mkdir(exist_ok=True)
        self._launch_all(own, node, manager)

    def _launch_all(self, own: int, node: int, manager: int) -> None:
        self.launch(
            "prometheus-alertmanager",
            f"--config.file={self.folder / 'alertmanager.yml'}",
            f"--storage.path={self.folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{manager}",
            "--cluster.listen-address=",
        )
        self.launch(
            "prometheus-node-exporter",
            f"--web.listen-address=127.0.0.1:{node}",
            f"--collector.textfile.directory={self.folder / 'textfile'}",
        )
        self.launch(
            "prometheus",
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{own}",
        )
        if self.style == "tuned":
            self.launch("sh", "-c", LOOP, env={**self.env, "LC_ALL": "C"})

    def watch(self, subject: Subject) -> None:
        """The tuned one gets the script of this run."""
        if self.style == "tuned":
            script = self.folder / "runs" / subject.job.name
            fresh = self.folder / f"{subject.job.name}.fresh"
            fresh.write_text(f"exec {shlex.join(self.probe(subject))}\n")
            os.replace(fresh, script)

    def read(self, arrival: Arrival) -> Iterable[PeerAlarm]:
        """One call carries a group of alerts."""
        for alert in arrival.fields.get("alerts", ()):
            labels = alert["labels"]
            title = str(labels["alertname"])
            body = str(alert.get("annotations", {}).get("summary", ""))
            if alert["status"] == "resolved":
                told = self.told(arrival.at, title, f"resolved: {body}", "good")
                yield PeerAlarm(told.at, "good", title, told.body)
            else:
                severity = "page" if labels.get("severity") == "critical" else "warning"
                yield self.told(
                    arrival.at, title, body, "page" if severity == "page" else "warning"
                )
