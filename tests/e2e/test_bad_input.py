"""Bad input gets a clear error or a finding; nothing is lost and the daemon lives."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]


def test_an_unknown_key_is_named_with_its_line_and_nearest_name(box: Any) -> None:
    box.configure('[alerts]\nmin_severity = "critical"\n\n[sentinels.hang]\nflor_s = 30\n')
    for words in (("config", "check"), ("start",), ("daemon",)):
        done = box.command(*words, check=False)
        assert done.returncode == 2, words
        assert "config.toml:5" in done.stderr
        assert "did you mean 'floor_s'?" in done.stderr


def test_a_log_of_100_megabytes_in_one_line(box: Any) -> None:
    log = box.root / "train.log"
    log.write_bytes(b"step 1/9 loss 2.0\n")
    box.command("watch", "--log", str(log))
    box.steps(1)
    with log.open("ab") as out:
        for _ in range(100):
            out.write(b"x" * (1 << 20))
        out.write(b"\nstep 2/9 loss 1.9\n")
    box.steps(2)
    daemon = box.ask("overview")["daemon"]
    assert daemon["rss_bytes"] < 80 << 20
    assert box.status()["logs"][0]["lines"] == 3
    assert box.receiver.pushes == []


def test_binary_garbage(box: Any) -> None:
    log = box.root / "train.log"
    log.write_bytes(os.urandom(4 << 20) + b"\nstep 7/9 loss 1.5\n")
    box.command("watch", "--log", str(log))
    box.steps(7)
    assert box.receiver.pushes == []
    box.command("status", check=False)


def test_a_log_that_is_a_directory(box: Any, program: Program) -> None:
    done = box.command("watch", "--log", str(box.root), check=False)
    assert done.returncode == 2
    assert "is a directory" in done.stderr
    done = box.command("run", "--log", str(box.root), "--", "true", check=False)
    assert done.returncode == 2
    assert "is a directory" in done.stderr


def test_a_log_that_becomes_a_directory_is_a_finding(box: Any, program: Program) -> None:
    box.configure("[sentinels.blind]\nfor_s = 1\n")
    log = box.root / "later.log"
    process = box.spawn(*program("trainer"), "none", stdout=subprocess.DEVNULL)
    box.command("watch", "--pid", str(process.pid), "--log", str(log))
    log.mkdir()
    box.until(lambda: "irectory" in box.status()["logs"][0]["detail"])
    one = box.incident("blind")
    assert "later.log" in one["summary"]


def test_an_unreadable_log(box: Any, program: Program) -> None:
    """Root reads everything, unless it lacks the capability to: so the daemon does here."""
    box.configure("[sentinels.blind]\nfor_s = 1\n")
    powers = "-dac_override,-dac_read_search"
    without = ["setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}"]
    if os.geteuid() != 0:
        pytest.skip("needs root: the command of anybody else refuses such a log")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv (util-linux) is not installed")
    log = box.root / "secret.log"
    log.write_text("step 1/9 loss 1.0\n")
    log.chmod(0)
    process = box.spawn(*program("trainer"), "none", stdout=subprocess.DEVNULL)
    daemon = subprocess.Popen(
        [*without, sys.executable, "-m", "middlewatch.daemon", "daemon"],
        env=box.env,
        cwd="/",
        stderr=subprocess.PIPE,
    )
    try:
        box.until(lambda: box.ask("ping"))
        box.command("watch", "--pid", str(process.pid), "--log", str(log))
        one = box.incident("blind")
        assert "Permission denied" in one["summary"]
        box.until(lambda: box.status()["processes"])
        assert box.status()["state"] in ("running", "unknown")
    finally:
        daemon.terminate()
        daemon.communicate(timeout=120)


def test_a_state_directory_that_cannot_be_written(box: Any) -> None:
    in_the_way = box.root / "file"
    in_the_way.write_text("x")
    for words in (("start",), ("daemon",), ("run", "--", "true")):
        done = box.command(*words, "--state-dir", str(in_the_way / "state"), check=False)
        if words[0] == "run":
            done = box.command(
                "run", "--state-dir", str(in_the_way / "s"), "--", "true", check=False
            )
        assert done.returncode == 2, done.stderr
        assert "--state-dir" in done.stderr


@pytest.mark.system
def test_a_read_only_state_directory(box: Any, tmp_path: Path) -> None:
    folder = tmp_path / "readonly"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], check=False
    )
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs")
    try:
        done = box.command("start", "--state-dir", str(folder / "state"), check=False)
        assert done.returncode == 2
        assert "Read-only file system" in done.stderr
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_socket_path_that_is_in_use_or_too_long(box: Any) -> None:
    """A stale socket is replaced; a foreign listener does not fool us; a long path is told."""
    box.state.mkdir(parents=True)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(box.state / "middlewatch.sock"))
    stale.close()
    box.command("start")
    assert box.ask("ping")["pid"]
    long = box.root / ("x" * 100)
    done = box.command("start", "--state-dir", str(long), check=False)
    assert done.returncode != 0
    assert "too long for a socket" in done.stderr


def test_no_permission_on_the_process(box: Any, program: Program) -> None:
    done = box.command("watch", "--pid", "999999999", check=False)
    assert done.returncode == 2
    assert "999999999" in done.stderr


def test_the_receiver_is_down_for_a_while(box: Any, program: Program) -> None:
    """The push waits in the outbox, over a kill of the daemon as well."""
    url = box.receiver.url
    box.extra_env["MIDDLEWATCH_ALERT_URLS"] = "json://127.0.0.1:9/"
    box.run(*program("trainer"), "nan", "--at", "10", "--sleep", "0.05", name="gpt")
    box.until(lambda: box.ask("overview")["daemon"]["alert_trouble"], "the failed push")
    os.kill(box.ask("ping")["pid"], 9)
    box.extra_env["MIDDLEWATCH_ALERT_URLS"] = url
    box.command("start")
    push = box.push(lambda p: "[CRITICAL] gpt on" in p.title)
    assert "loss is" in push.title
    box.until(lambda: box.ask("outbox")[0]["sent_at"], "the receiver's answer")
    assert len(box.receiver.pushes) == 1


def test_garbage_on_the_control_socket(box: Any) -> None:
    box.command("start")
    for data in (b"\xff\x00\n", b"{}\n", b"[1]\n", b"x" * (3 << 20), b'{"op":"watch"}\n'):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(str(box.state / "middlewatch.sock"))
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                sock.recv(4096)
            except OSError:
                pass
    assert box.ask("ping")["pid"]
