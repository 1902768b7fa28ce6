"""What a box does to the service, done inside a container that systemd has booted.

Run by the guest's own Python with the installed package on its path; ``/in`` is shared with
the test, ``/in/report.json`` is the answer: steps in order, each with its seconds and, when it
failed, why. A step that fails does not keep the next ones from being tried.
"""

from __future__ import annotations

import http.server
import json
import os
import pwd
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from middlewatch.daemon.client import Client
from middlewatch.daemon.system.errors import DaemonUnreachable

IN = Path("/in")
PREFIX = Path("/opt/middlewatch")
COMMAND = str(PREFIX / "bin/middlewatch")
STATE = Path("/var/lib/middlewatch")
SOCKET = STATE / "middlewatch.sock"
UNIT = "middlewatch.service"
STATUS_DIR = Path("/srv/status")
DROP_IN = Path(f"/run/systemd/system/{UNIT}.d")
RECEIVER = ("127.0.0.1", 8099)
PATIENCE_S = 180.0
"""Until something that never comes is given up."""
LOOK_CAPS = 1 << 2 | 1 << 19 | 1 << 34
"""CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE and CAP_SYSLOG (which a container may not grant)."""
MAY_SPARE = 1 << 24
"""CAP_SYS_RESOURCE: without it nobody's OOM score can be lowered."""

TOY = """\
import itertools, time
for step in itertools.count(1):
    print(f"step {step} loss {2 + 1 / step:.4f}", flush=True)
    time.sleep(0.2)
"""

received: list[dict[str, Any]] = []
figures: dict[str, float] = {}
trainings: dict[str, int] = {}
children: set[int] = set()


# ------------------------------------------------------------------------ tools


def told(*words: str, fine: tuple[int, ...] = (0,)) -> str:
    """Output of a command that must end with a status in ``fine``."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    said = done.stdout + done.stderr
    assert done.returncode in fine, f"{' '.join(words)} ended with {done.returncode}: {said}"
    return said.strip()


def shown(name: str) -> str:
    """One property of the unit."""
    return told("systemctl", "show", "--property", name, "--value", UNIT)


def main_pid() -> int:
    return int(shown("MainPID"))


def ask(op: str) -> Any:
    return Client(str(SOCKET), timeout_s=PATIENCE_S).ask(op)


def answering(other_than: int = 0) -> int:
    """Pid of the daemon that answers on the socket; 0 when there is none, or the old one."""
    try:
        pid = int(ask("ping")["pid"])
    except DaemonUnreachable:
        return 0
    return 0 if pid == other_than else pid


def until(true: Callable[[], object], what: str) -> float:
    """Wait for something; how long it took, in seconds."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < PATIENCE_S, f"it never came: {what}"
        time.sleep(0.05)
    return round(time.monotonic() - began, 2)


def in_cgroup() -> set[int]:
    """Every process of the service."""
    try:
        text = Path("/sys/fs/cgroup", shown("ControlGroup").lstrip("/"), "cgroup.procs").read_text()
    except OSError:
        return set()
    return {int(word) for word in text.split()}


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def journal() -> str:
    return told("journalctl", "--unit", UNIT, "--output", "cat", "--no-pager")


def drop_in(name: str, text: str) -> None:
    DROP_IN.mkdir(parents=True, exist_ok=True)
    (DROP_IN / name).write_text(text)
    told("systemctl", "daemon-reload")


def run_named(name: str) -> Any:
    """What the daemon knows of a training."""
    (run,) = (r for r in ask("runs") if r["name"] == name)
    return run


def step_of(name: str) -> int:
    """How far the daemon has followed it."""
    return int(run_named(name)["now"]["step"] or 0)


class Receiver(http.server.BaseHTTPRequestHandler):
    """The phone."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


# ------------------------------------------------------------------------ steps


def it_installs() -> None:
    """As docs/install.md says, but with wheels' contents that lie there already."""
    told(sys.executable, "-m", "venv", "--without-pip", str(PREFIX))
    (site,) = PREFIX.glob("lib/python3*/site-packages")
    (site / "here.pth").write_text("/site\n/deps\n")
    script = (Path("/site/bin/middlewatch")).read_text().partition("\n")[2]
    Path(COMMAND).write_text(f"#!{PREFIX}/bin/python\n{script}")
    Path(COMMAND).chmod(0o755)
    settings = Path("/etc/middlewatch/environment")
    settings.parent.mkdir()
    settings.write_text(f"MIDDLEWATCH_ALERT_URLS=json://{RECEIVER[0]}:{RECEIVER[1]}/\n")
    settings.chmod(0o600)
    (settings.parent / "config.toml").write_text(f'[watch]\nstatus_dir = "{STATUS_DIR}"\n')
    STATUS_DIR.mkdir()
    drop_in("status.conf", f"[Service]\nReadWritePaths={STATUS_DIR}\n")
    shutil.copy(IN / UNIT, "/etc/systemd/system")
    assert told("systemd-analyze", "verify", f"/etc/systemd/system/{UNIT}") == ""
    if Path("/nvml").exists():
        driver = 'Environment=LD_LIBRARY_PATH=/nvml "FAKE_NVML_SCENARIO=/nvml/nvml.scenario"'
        drop_in("driver.conf", f"[Service]\n{driver}\n")


def starting_returns_when_it_is_ready() -> None:
    began = time.monotonic()
    told("systemctl", "enable", "--now", UNIT)
    figures["start"] = round(time.monotonic() - began, 2)
    assert ask("ping")["pid"] == main_pid()  # at once: ready means ready
    assert shown("ActiveState") == "active"
    assert shown("StatusText").startswith("watching"), shown("StatusText")
    assert "already runs" in told(COMMAND, "start")


def it_is_modest_and_confined() -> None:
    pid = main_pid()
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    granted = int(Path("/proc/1/status").read_text().partition("CapBnd:")[2].split()[0], 16)
    assert int(status["CapEff"], 16) == LOOK_CAPS & granted, status["CapEff"]
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"
    figures["rss_mib"] = round(int(status["VmRSS"].split()[0]) / 1024, 1)
    assert os.getpriority(os.PRIO_PROCESS, pid) >= 5
    if granted & MAY_SPARE:
        assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "-500"
    mode = STATE.stat().st_mode & 0o777
    assert mode == 0o700, oct(mode)


def it_sees_the_gpus() -> None:
    if not Path("/nvml").exists():
        return
    took = until(lambda: len(ask("overview")["box"]["gpus"]) == 2, "two GPUs")
    figures["gpus"] = took
    assert len(in_cgroup()) > 1, "the NVML child is one of the service's processes"


def it_reads_the_kernel_log() -> None:
    if not Path("/dev/kmsg").is_char_device():
        return
    states = {one["source"]: (one["state"], one["detail"]) for one in ask("overview")["watch"]}
    assert states["kernel_log"][0] == "ok", states


def it_watches_what_it_may_only_read() -> None:
    """A run of root that logs to /tmp, and one of somebody else with a closed home."""
    toy = IN / "toy.py"
    toy.write_text(TOY)
    python = ("/usr/bin/python3", str(toy))
    ranked = ("env", "RANK=3", "LOCAL_RANK=3", "WORLD_SIZE=8", *python)
    words = ("run", "--json", "--name", "ours", "--log", "/tmp/ours.log", "--", *ranked)
    trainings["ours"] = json.loads(told(COMMAND, *words))["pid"]
    nobody = pwd.getpwnam("nobody")
    home = Path("/home/anna")
    home.mkdir(mode=0o700)
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    with (home / "train.log").open("wb") as log:
        theirs = subprocess.Popen(
            python, stdout=log, stderr=log, user=nobody.pw_uid, group=nobody.pw_gid, cwd="/tmp"
        )
    trainings["theirs"] = theirs.pid
    found = json.loads(
        told(COMMAND, "watch", "--json", "--name", "theirs", "--pid", str(theirs.pid))
    )
    assert found[0]["logs"] == [str(home / "train.log")], found
    until(lambda: min(map(step_of, trainings)) >= 5, "steps of both runs")
    second = STATUS_DIR / run_named("ours")["run"] / "training_status.md"
    until(second.exists, "the second status page")
    # The environment of a process with more rights than its own; read again while it is young,
    # because `env` sets it only a moment after its start.
    until(
        lambda: [process["rank"] for process in run_named("ours")["processes"]] == [3],
        "the rank of a run of root",
    )


def it_takes_its_own_blinkers_for_no_trouble() -> None:
    """Its view of the file systems is read-only; the file systems are not."""
    until(lambda: ask("overview")["box"]["disks"], "the disks")
    disks = ask("overview")["box"]["disks"]
    assert [d["mount"] for d in disks if d["read_only"]] == []
    assert "/" in [d["mount"] for d in disks], disks


def kill_9_is_survived() -> None:
    old, before = main_pid(), in_cgroup()
    steps = step_of("ours")
    os.kill(old, signal.SIGKILL)
    figures["back_after_kill"] = until(lambda: answering(old), "a new daemon after kill -9")
    assert main_pid() == answering() != old
    assert shown("NRestarts") == "1"
    assert [pid for pid in before if alive(pid)] == [], "children of the old daemon"
    assert all(alive(pid) for pid in trainings.values()), "the runs go on"
    until(lambda: step_of("ours") > steps, "the run followed by the new daemon")


def a_daemon_that_hangs_is_replaced() -> None:
    drop_in("watchdog.conf", "[Service]\nWatchdogSec=6\n")
    told("systemctl", "restart", UNIT)
    old = main_pid()
    time.sleep(8)  # longer than the watchdog: a healthy daemon must not lose its life
    assert answering() == old, "the watchdog bit a healthy daemon"
    os.kill(old, signal.SIGSTOP)
    took = until(lambda: answering(old), "a new daemon after SIGSTOP")
    figures["back_after_hang"] = took
    assert not alive(old)
    said = journal()
    assert "Watchdog timeout" in said
    assert "most recent call first" in said, "the stack of the hung daemon is in the journal"
    assert all(alive(pid) for pid in trainings.values()), "the runs go on"


def the_phone_is_told() -> None:
    os.kill(trainings.pop("ours"), signal.SIGKILL)
    figures["push_after_death"] = until(lambda: received, "a push about the killed run")
    assert "ours" in json.dumps(received)


def stopping_is_clean() -> None:
    pids = in_cgroup()
    figures["processes"] = len(pids)
    began = time.monotonic()
    told("systemctl", "stop", UNIT)
    figures["stop"] = round(time.monotonic() - began, 2)
    told_by_systemd = [shown(p) for p in ("ActiveState", "Result", "ExecMainStatus")]
    assert told_by_systemd == ["inactive", "success", "0"]
    assert not SOCKET.exists()
    assert [pid for pid in pids if alive(pid)] == []
    assert all(alive(pid) for pid in trainings.values()), "the runs go on"
    told(COMMAND, "status", fine=(3,))


def the_journal_tells_the_story() -> None:
    said = journal()
    assert "watching 0 runs" in said
    assert "watching 2 runs" in said, "the restarted daemon knew its runs"
    assert said.count(" stopped\n") == 2, "one restart, one stop"
    for bad in ("a bug in middlewatch", "Operation not permitted", "Read-only file system"):
        assert bad not in said
    assert RECEIVER[0] not in said, "alert URLs are never printed"


STEPS = (
    it_installs,
    starting_returns_when_it_is_ready,
    it_is_modest_and_confined,
    it_sees_the_gpus,
    it_reads_the_kernel_log,
    it_watches_what_it_may_only_read,
    it_takes_its_own_blinkers_for_no_trouble,
    kill_9_is_survived,
    a_daemon_that_hangs_is_replaced,
    the_phone_is_told,
    stopping_is_clean,
    the_journal_tells_the_story,
)


def main() -> None:
    server = socketserver.ThreadingTCPServer(RECEIVER, Receiver)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    steps = []
    for step in STEPS:
        began, problem = time.monotonic(), ""
        try:
            step()
        except Exception:  # noqa: BLE001 (every step reports, whatever became of the one before)
            problem = traceback.format_exc()
        steps.append(
            {"step": step.__name__, "s": round(time.monotonic() - began, 2), "problem": problem}
        )
    report = {"steps": steps, "figures": figures, "journal": journal()}
    (IN / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
