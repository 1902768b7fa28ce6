"""Asking a box over a real sshd on loopback, whose daemon is a real one; told to a real receiver."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli.watchbox import Calls, Far, NoAnswer, Watch
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.report.box_words import BoxAnswer
from middlewatch.daemon.report.messages import Message
from middlewatch.daemon.system.clock import Clock
from middlewatch.daemon.system.errors import UsageError

from ...fakes.clock import FakeClock
from ...fakes.receiver import Receiver

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PROGRAM = [sys.executable, "-m", "middlewatch.daemon"]
PATIENCE_S = 120.0


def wait(what: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


class Sshd:
    """A throwaway sshd; ``ssh`` is how it is reached."""

    def __init__(self, home: Path) -> None:
        home.chmod(0o700)
        self.home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        for key in ("host", "id"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / key)]
            subprocess.run(command, check=True)
        shutil.copy(home / "id.pub", home / "authorized_keys")
        lines = [f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {home}/host", "UsePAM no"]
        lines += [f"AuthorizedKeysFile {home}/authorized_keys", "StrictModes no", "PidFile none"]
        lines += ["PermitRootLogin prohibit-password"]
        (home / "sshd_config").write_text("\n".join(lines) + "\n")
        options = ["UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no", "LogLevel=ERROR"]
        self.ssh = ["ssh", "-F", "/dev/null", "-p", str(port), "-i", str(home / "id")]
        self.ssh += [word for option in options for word in ("-o", option)]
        self.start()

    def start(self) -> None:
        assert SSHD is not None
        os.makedirs("/run/sshd", exist_ok=True) if os.geteuid() == 0 else None
        command = [SSHD, "-D", "-e", "-f", str(self.home / "sshd_config")]
        self.child = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def lets_nobody_in(self) -> str:
        """Why it does not, after a while; empty where it does."""
        until = time.monotonic() + PATIENCE_S / 4
        tried = [*self.ssh, "-o", "BatchMode=yes", f"{getpass.getuser()}@127.0.0.1", "true"]
        while True:
            done = subprocess.run(tried, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return ""
            if time.monotonic() > until:
                return done.stderr.strip() or "it does not say why"
            time.sleep(0.05)

    def stop(self) -> None:
        self.child.kill()
        self.child.wait()


@pytest.fixture
def sshd(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sshd]:
    for tool in ("ssh", "ssh-keygen"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if SSHD is None:
        pytest.skip("sshd is not installed")
    made = Sshd(tmp_path_factory.mktemp("sshd"))
    monkeypatch.setenv("RSYNC_RSH", shlex.join(made.ssh))
    if refused := made.lets_nobody_in():
        made.stop()
        pytest.skip(f"sshd does not let us in: {refused}")
    yield made
    made.stop()


@pytest.fixture
def far_box(tmp_path: Path) -> Iterator[Path]:
    """A program that stands for `middlewatch` on a box with a running daemon."""
    state = tmp_path / "far"
    script = tmp_path / "middlewatch"
    words = shlex.join([*PROGRAM, "--state-dir", str(state)])
    path = os.environ.get("PYTHONPATH", "")
    # Not in the home folder, where a checkout may lie that is called like the package.
    script.write_text(
        f'#!/bin/sh\ncd /\nPYTHONPATH={shlex.quote(path)} MIDDLEWATCH_ALERT_URLS= exec {words} "$@"\n'
    )
    script.chmod(0o755)
    subprocess.run([script, "start"], check=True, capture_output=True, timeout=PATIENCE_S)
    yield script
    subprocess.run([script, "stop"], check=False, capture_output=True, timeout=PATIENCE_S)


@pytest.mark.slow
def test_a_box_that_falls_silent_is_told_once_and_once_when_it_is_back(
    sshd: Sshd, far_box: Path, tmp_path: Path
) -> None:
    receiver = Receiver()
    config = tmp_path / "near.toml"
    config.write_text(f'[alerts]\nhost = "laptop"\nurls = ["{receiver.url}"]\n')
    config.chmod(0o600)
    host = f"{getpass.getuser()}@127.0.0.1"
    command = [*PROGRAM, "watchbox", host, "--every", "5s", "--after", "5s", "--json"]
    command += ["--command", str(far_box)]
    command += ["--config", str(config), "--state-dir", str(tmp_path / "near")]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert watch.stdout is not None
        first = json.loads(watch.stdout.readline())
        assert (first["why"], first["runs"], first["pushed"]) == ("", {}, "")
        sshd.stop()
        wait(lambda: receiver.got)
        time.sleep(6)  # one more look: it is not told again
        log = tmp_path / "train.log"
        log.write_text("step 1 loss 2.0\n")
        subprocess.run(
            [far_box, "watch", "--log", str(log), "--name", "gpt"], check=True, timeout=60
        )
        sshd.start()
        wait(lambda: len(receiver.got) > 1)
    finally:
        watch.send_signal(signal.SIGINT)
        assert watch.wait(30) == 130
        watch.stdout.close() if watch.stdout else None
        receiver.close()
    silent, back = (got.data for got in receiver.got)
    assert silent["title"].startswith(f"[CRITICAL] {host}: no answer for ")
    assert "Why: ssh: " in silent["message"]
    assert "Asked over ssh from laptop." in silent["message"]
    assert back["title"].startswith(f"[BACK] {host} answers again after ")
    assert "Run: gpt" in back["message"]
    assert "No trouble was found since." in back["message"]


def test_why_there_is_no_answer(sshd: Sshd, far_box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = f"{getpass.getuser()}@127.0.0.1"
    assert wait(lambda: _looks(Far(host, str(far_box)))).runs == {}
    subprocess.run(["cp", far_box, far_box.with_name("silent")], check=True)
    far_box.with_name("silent").write_text("#!/bin/sh\nexit 127\n")
    with pytest.raises(NoAnswer, match="name its path with --command"):
        Far(host, str(far_box.with_name("silent"))).look(0.0)
    subprocess.run([far_box, "stop"], check=True, capture_output=True, timeout=PATIENCE_S)
    with pytest.raises(NoAnswer, match="the box answers, its daemon does not"):
        Far(host, str(far_box)).look(0.0)
    with pytest.raises(NoAnswer, match="no JSON"):
        Far(host, shutil.which("true") or "true").look(0.0)
    sshd.stop()
    with pytest.raises(NoAnswer, match=r"ssh: .*refused"):
        Far(host, str(far_box)).look(0.0)
    monkeypatch.setenv("RSYNC_RSH", "/nowhere/ssh")
    with pytest.raises(UsageError, match="cannot be started"):
        Far(host).look(0.0)
    with pytest.raises(UsageError, match="no name of a box"):
        Far("-oProxyCommand=x").look(0.0)


def _looks(far: Far) -> BoxAnswer | None:
    try:
        return far.look(0.0)
    except NoAnswer:
        return None


@dataclass(slots=True)
class Fickle(Far):
    """A box that answers as the test says."""

    answers: bool = True
    runs: dict[str, tuple[str, float | None]] = field(default_factory=dict)

    def look(self, now: float) -> BoxAnswer:
        if not self.answers:
            raise NoAnswer("gone")
        return BoxAnswer(dict(self.runs), now)

    def found_since(self, since: float) -> list[dict[str, Any]]:
        return [{"severity": "critical", "summary": "disk full", "id": "a1"}]


def watching(box: Fickle, clock: FakeClock) -> Watch:
    last = BoxAnswer(dict(box.runs), clock.now())
    return Watch(box, "laptop", 180.0, last, clock.monotonic())


def titles(watch: Watch, clock: FakeClock, looks: int) -> list[str]:
    told: list[str] = []
    for _ in range(looks):
        clock.jump(30.0)
        here: Clock = clock
        message = watch.look(here)
        told += [message.title] if message is not None else []
    return told


def test_short_gaps_are_not_told() -> None:
    box, clock = Fickle("box3"), FakeClock()
    watch = watching(box, clock)
    for _ in range(20):
        box.answers = False
        assert titles(watch, clock, 5) == []
        box.answers = True
        assert titles(watch, clock, 1) == []


def test_a_night_of_silence_is_one_push_and_its_end_one() -> None:
    box, clock = (
        Fickle("box3", runs={"gpt": ("running", 100.0), "old": ("finished", 9.0)}),
        FakeClock(),
    )
    watch = watching(box, clock)
    box.answers = False
    assert titles(watch, clock, 1000) == ["[CRITICAL] box3: no answer for 3 min"]
    box.answers = True
    box.runs = {"gpt": ("failed", 170.0), "old": ("finished", 9.0), "new": ("running", 1.0)}
    clock.jump(30.0)
    message = watch.look(clock)
    assert message is not None
    assert message.title == "[BACK] box3 answers again after 8 h 20 min"
    assert "Run: gpt: running, now failed, step 100 to 170" in message.body
    assert "Run: new, running at step 1, new" in message.body
    assert "Found since: critical disk full (a1)" in message.body
    assert titles(watch, clock, 5) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Apprise's own imports
def test_what_no_service_took_is_tried_again_and_nothing_twice() -> None:
    first, second = Receiver(), Receiver()
    try:
        for mode, seen in (("ladder", [0, 1]), ("all", [1, 1])):
            first.got.clear()
            second.got.clear()
            text = f'[alerts]\nmode = "{mode}"\n'
            calls = Calls([first.url, second.url], parse(text, "c"))
            first.status = second.status = 500
            calls.add(Message("t", "b", "failure"), 1e9)
            failed = calls.send()
            assert [line.partition(":")[0] for line in failed] == ["url 1 (json", "url 2 (json"]
            second.status = 200
            assert len(calls.send()) == 1
            first.status = 200
            assert calls.send() == []
            assert calls.send() == []
            taken = [
                [got for got in one.got if got.data["title"] == "t"] for one in (first, second)
            ]
            # The tries that failed came as well: two at the first, one at the second.
            assert [len(taken[0]) - 2, len(taken[1]) - 1] == seen
    finally:
        first.close()
        second.close()
