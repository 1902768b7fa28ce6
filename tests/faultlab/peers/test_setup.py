"""What can be checked of the peers without running them: configurations, words, the script."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import get_args

import pytest

from ..bench import Bench, Job
from ..lab import Fault, NotRun
from .all import PEERS, peers
from .peer import PROBE, Peer, PeerAlarm, Style

SEEN = [
    # As they arrived from the real programs.
    ("monit", "monit alert --  Does not exist gpt", "process is not running", "silent_end"),
    ("monit", "monit alert --  Resource limit matched disk0", "space usage 89.5%", "disk_full"),
    ("monit", "monit alert --  Timestamp failed gpt-log", "modify/change time failed", "hang"),
    ("monit", "monit alert --  Status failed gpt-words", "the log says nan or inf", "loss_nan"),
    ("monit", "monit alert --  Resource limit matched lab", "loadavg (1min) of 9.1", None),
    ("netdata", "disk_space_usage", "CRITICAL: disk /x space utilization = 100%", "disk_full"),
    ("netdata", "lab_disk_inodes", "CRITICAL: disk /x inodes used = 99%", "inode_exhausted"),
    ("netdata", "10min_cpu_usage", "WARNING: average CPU utilization = 91%", None),
    ("prometheus", "RunSilent", "gpt has not logged for 125 s", "hang"),
    ("prometheus", "SpaceAlmostGone", "less than 10 % of /x is free", "disk_full"),
    ("gpuwatch", "❌ GPUs went idle — processes exited: 4242", "avg 0%", "silent_end"),
    ("gpuwatch", "All idle 5min", "host | avg 0%", "hang"),
    ("gpuwatch", "GPU1 ECC error — 2 new uncorrected volatile", "", "cuda_ecc"),
]


@pytest.mark.parametrize(("peer", "title", "body", "trouble"), SEEN)
def test_words_mean_a_class(peer: str, title: str, body: str, trouble: str | None) -> None:
    made = next(one for one in PEERS if one.peer == peer)("default")
    assert made.told(1.0, title, body, "page").trouble == trouble


@pytest.mark.parametrize(
    ("peer", "title"),
    [
        ("monit", "monit alert --  Resource limit succeeded disk0"),
        ("monit", "monit alert --  Exists gpt"),
        ("monit", "monit alert --  Instance changed lab"),
        ("gpuwatch", "🚀 Monitor started"),
        ("gpuwatch", "lab"),
    ],
)
def test_good_news_is_no_alarm(peer: str, title: str) -> None:
    made = next(one for one in PEERS if one.peer == peer)("default")
    assert made.told(1.0, title, "avg 98% | 61C", "page").severity == "good"


def test_an_alarm_is_read_kindly_and_once() -> None:
    fault = Fault("20", "kill", lambda bench: None, classes=frozenset({"process_killed"}))
    alarm = PeerAlarm(9.0, "page", "gone", fits=("silent_end", "process_killed"))
    assert alarm.for_row(fault).trouble == "process_killed"
    other = Fault("24", "disk", lambda bench: None, classes=frozenset({"disk_full"}))
    assert alarm.for_row(other).trouble is None


def test_the_alarm_of_another_row_is_dropped() -> None:
    root = Path(tempfile.mkdtemp(prefix="faultlab-test-"))
    peer = PEERS[0]("default")
    peer._bench = Bench(root, peer, "1")
    root.rmdir()
    own = f"cgroup faultlab-{os.getpid()}-{id(peer.bench):x}"
    told = [
        PeerAlarm(1.0, "page", f"{place} is full")
        for place in (root, f"{root}x", "/data", own, "cgroup faultlab-1-1f")
    ]
    assert [peer.foreign(alarm) for alarm in told] == [False, True, False, False, True]


@pytest.mark.parametrize(
    ("peer", "title", "box"),
    [
        ("monit", "Resource limit matched lab: loadavg (1min) of 9.1", True),
        ("monit", "Does not exist gpt: process is not running", False),
        ("netdata", "load_average_15", True),
        ("netdata", "oom_kill", True),
        ("netdata", "lab_oom_kill", False),
        ("prometheus", "MemoryLow", True),
        ("prometheus", "RunMemoryHigh", False),
    ],
)
def test_an_alarm_about_the_whole_box_is_known_as_such(peer: str, title: str, box: bool) -> None:
    made = next(one for one in PEERS if one.peer == peer)("default")
    assert made.told(1.0, title, "", "page").box is box


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.peer)
def test_what_is_claimed_can_be_said(peer: type[Peer], style: Style) -> None:
    said = {one for means in peer.words for one in means.fits}
    said |= {"process_killed", "host_oom_kill", "nccl_timeout", "stopped", "input_starved"}
    assert set(peer.claims[style]) <= said
    assert all(peer.claims[style].values())


def facts(tmp_path: Path, pid: int, log: str, *words: str) -> tuple[int, str]:
    (tmp_path / "pid").write_text(str(pid))
    (tmp_path / "log").write_text(log)
    command = ["/bin/sh", str(PROBE), *words, "gpt", *(str(tmp_path / n) for n in ("pid", "log"))]
    done = subprocess.run([*command, str(tmp_path)], text=True, capture_output=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_script_tells_facts(tmp_path: Path) -> None:
    _, told = facts(tmp_path, os.getpid(), "step 1 loss 2.5\nstep 2 loss: nan\n")
    assert 'run_alive{run="gpt"} 1\n' in told
    assert 'run_log_nan{run="gpt"} 1\n' in told
    assert 'run_log_errors{run="gpt"} 0\n' in told
    assert all(re.fullmatch(r'run_\w+\{run="gpt"\} \d+', line) for line in told.splitlines())


def test_the_script_sees_the_dead(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    _, told = facts(tmp_path, process.pid, "Traceback (most recent call last):\n")
    assert 'run_alive{run="gpt"} 0\n' in told
    assert 'run_log_errors{run="gpt"} 1\n' in told


def test_the_script_judges_what_it_is_asked(tmp_path: Path) -> None:
    log = "loss=inf\n"
    assert facts(tmp_path, os.getpid(), log, "--judge", "oom|memory")[0] == 0
    status, told = facts(tmp_path, os.getpid(), log, "--judge", "log_")
    assert (status, told) == (1, "gpt: the log says nan or inf; \n")


def configured(name: str, root: Path) -> Peer:
    """A peer whose files are written, with nothing started."""
    peer = peers()[name]()
    assert isinstance(peer, Peer)
    peer.launch = lambda *command, env=None: None  # type: ignore[method-assign]
    bench = Bench(root, peer, "1")
    try:
        peer.start(bench)
        # The folder of the saves is made by the job, later.
        saves = (root / "saves",)
        peer.run(bench, Job(("true",), "gpt", root, dict(os.environ), saves))
    except NotRun as reason:
        pytest.skip(str(reason))
    finally:
        bench.close()
    return peer


@pytest.mark.system
@pytest.mark.parametrize("style", get_args(Style))
def test_monit_takes_its_file(tmp_path: Path, style: str) -> None:
    peer = configured(f"monit-{style}", tmp_path)
    control = str(peer.folder / "monitrc")
    subprocess.run(["monit", "-t", "-c", control], check=True, capture_output=True)


@pytest.mark.system
@pytest.mark.parametrize("style", get_args(Style))
def test_prometheus_takes_its_files(tmp_path: Path, style: str) -> None:
    if shutil.which("promtool") is None or shutil.which("amtool") is None:
        pytest.skip("not installed: promtool and amtool; apt-get install prometheus")
    folder = configured(f"prometheus-{style}", tmp_path).folder
    checks = (["promtool", "check", "config", "prometheus.yml"], ["amtool", "check-config"])
    subprocess.run(checks[0], cwd=folder, check=True, capture_output=True)
    subprocess.run([*checks[1], "alertmanager.yml"], cwd=folder, check=True, capture_output=True)


def test_a_peer_that_is_missing_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    begun = time.monotonic()
    peer = peers()["netdata-default"]()
    with pytest.raises(NotRun, match="not installed: netdata, curl; apt-get install netdata"):
        peer.start(Bench(tmp_path, peer, "1"))
    assert time.monotonic() - begun < 5
