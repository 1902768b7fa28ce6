"""Verbs that people type: help, logs, silence, end, forget, alert."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ...fakes.talk import Talk

COMMAND = [sys.executable, "-m", "middlewatch.daemon"]
TRAIN = """
import itertools, time
for n in itertools.count(1):
    print(f"step {n}/9000 | train_loss {3 - n / 9000:.4f}", flush=True)
    time.sleep(0.1)
"""


def until(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 120
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return seen


class Box:
    """A real daemon, and commands in processes of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        self.env = kept | {
            "MIDDLEWATCH_STATE_DIR": str(root / "state"),
            "MIDDLEWATCH_CONFIG": str(root / "none.toml"),
        }

    def say(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=self.env,
            stdin=subprocess.DEVNULL,
            cwd=self.root,
        )

    def asks(self, *words: str) -> Any:
        done = self.say(*words, "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def train(self, name: str) -> str:
        """Start a training; its id, once it has reported."""
        (self.root / "train.py").write_text(TRAIN)
        done = self.say("run", "--name", name, "--json", "--", sys.executable, "train.py")
        run = json.loads(done.stdout)["run"]
        until(lambda: self.asks("status", run)["now"]["step"])
        return str(run)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    made = Box(tmp_path_factory.mktemp("verbs"))
    assert made.say("start").returncode == 0
    yield made
    made.say("stop")


@pytest.mark.parametrize("words", [("help",), ("help", "silence"), ("-V",)])
def test_help_is_a_verb_as_well(say: Any, words: tuple[str, ...]) -> None:
    status, told, _ = say(*words)
    assert (status, bool(told)) == (0, True)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("forgt",), "did you mean forget?"),
        (("statsu",), "did you mean status"),
        (("help", "check" + "points" + "s"), "did you mean checkpoints?"),
        (("alert", "tset"), "did you mean test?"),
        (("zzz",), "there are: "),
    ],
)
def test_a_mistyped_word_is_understood(say: Any, words: tuple[str, ...], hint: str) -> None:
    status, _, complaint = say(*words)
    assert status == 2
    assert hint in complaint


def test_silences_are_listed_and_end(box: Box) -> None:
    made = box.asks("silence", "--class", "disk_full", "--for", "2h")
    assert [s["id"] for s in box.asks("silence", "--list")] == [made["id"]]
    assert "disk_full" in box.say("silence", "--list").stdout
    assert box.say("silence", "--cancel", "nonsense").returncode == 2
    assert box.say("silence", "--cancel", made["id"]).returncode == 0
    assert box.asks("silence", "--list") == []


def test_a_run_is_shown_ended_and_forgotten(box: Box) -> None:
    run = box.train("gpt")
    shown = box.say("logs", "gpt", "-n", "3").stdout.splitlines()
    assert len(shown) == 3
    assert all(line.startswith("step ") for line in shown)
    refused = box.say("end", "gpt")
    assert refused.returncode == 4, "nobody approved it"
    assert "--yes" in refused.stderr
    assert "alive" in box.say("forget", "gpt").stderr
    assert box.say("end", "gpt", "--yes").returncode == 0
    until(lambda: box.asks("status", run)["ended_at"])
    told = box.asks("incidents", "--all")
    ends = [one for one in told if (one["run"], one["class"]) == (run, "sigterm_received")]
    (incident,) = ends
    assert incident["severity"] == "info"
    assert "as a person asked" in incident["summary"]
    assert box.say("end", "gpt", "--yes").returncode == 2, "it is over"
    folder = Path(box.asks("forget", "gpt")["folder"])
    assert (folder / "training_status.md").exists()
    assert run not in [row["run"] for row in box.asks("runs")]


def test_lines_that_come_are_followed(box: Box) -> None:
    box.train("follow")
    words = [*COMMAND, "logs", "follow", "-f", "-n", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=box.env) as reader:
        assert reader.stdout is not None
        steps = [int(reader.stdout.readline().split()[1].partition("/")[0]) for _ in range(5)]
        reader.kill()
    assert steps == list(range(steps[0], steps[0] + 5))
    assert box.say("end", "follow", "--signal", "KILL", "--yes").returncode == 0


class Phone:
    """A receiver on loopback."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        phone = self

        class Take(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                phone.titles.append(json.loads(body)["title"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Take)
        self.url = f"json://127.0.0.1:{self.server.server_address[1]}/secret"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def phone() -> Iterator[Phone]:
    made = Phone()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_what_no_route_took_is_said_by_those_who_ask_for_the_routes(
    tmp_path: Path, phone: Phone
) -> None:
    box = Box(tmp_path)
    config = tmp_path / "none.toml"
    config.write_text(
        f'[alerts]\nurls = ["pager={phone.url}"]\n[routes.pager]\nmin_severity = "critical"\n'
    )
    config.chmod(0o600)
    told = "1 push was kept back (no route takes it); the newest, "
    try:
        assert box.say("start").returncode == 0
        assert "kept back" not in box.say("alert", "list").stdout
        box.say("run", "--name", "short", "--", sys.executable, "-c", "print('step 1 | loss 2.0')")
        until(lambda: told in box.say("alert", "list").stdout)
        assert told in box.say("alert", "test").stdout
        assert told in box.say("status").stdout
        assert phone.titles == ["[TEST] middlewatch can reach you"]
    finally:
        box.say("stop")


def test_a_phone_that_is_set_later_is_called(tmp_path: Path, phone: Phone) -> None:
    box = Box(tmp_path)
    try:
        assert "no phone is set" in box.say("start").stdout
        assert "no phone is set" in box.say("alert", "test").stderr
        exported = Box(tmp_path)
        exported.env["MIDDLEWATCH_ALERT_URLS"] = phone.url
        assert "does not call an alert URL of this shell" in exported.say("start").stdout
        added = box.say("alert", "add", phone.url)
        assert added.returncode == 0, added.stderr
        assert "secret" not in added.stdout
        kept = tmp_path / "state" / "alert_urls"
        assert kept.stat().st_mode & 0o777 == 0o600
        tested = box.say("alert", "test")
        assert (tested.returncode, tested.stdout.count("delivered")) == (0, 1), tested.stderr
        assert phone.titles == ["[TEST] middlewatch can reach you"]
        assert "alert add" not in exported.say("start").stdout
        (row,) = box.asks("alert", "list")
        assert row.startswith("json:// (")
        assert box.say("alert", "remove", row.partition("(")[2][:-1]).returncode == 0
        assert box.asks("alert", "list") == []
    finally:
        box.say("stop")


def test_a_url_need_not_stand_on_a_command_line(tmp_path: Path, phone: Phone) -> None:
    box = Box(tmp_path)
    words = [*COMMAND, "alert", "add", "-"]
    subprocess.run(words, input=f"{phone.url}\n", text=True, env=box.env, check=True, timeout=300)
    kept = tmp_path / "state" / "alert_urls"
    assert kept.read_text() == f"{phone.url}\n"
    talk = Talk([*COMMAND, "alert", "add"], box.env, cwd=tmp_path)
    talk.answers(("URL (is not shown)", f"{phone.url}2"))
    status, shown = talk.ends()
    assert (status, "secret" in shown) == (0, False)
    assert kept.read_text() == f"{phone.url}\n{phone.url}2\n"


@pytest.mark.parametrize(
    "words",
    [
        ("add",),
        ("add", "-"),
        ("add", "foo://bar"),
        ("add", "no-url"),
        ("remove", "abc"),
        ("test", "json://localhost"),
    ],
    ids=" ".join,
)
def test_a_url_that_is_none_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    said = Box(tmp_path).say("alert", *words)
    assert said.returncode == 2
    assert said.stderr.count("\n") >= 2, "the complaint and a hint"
    assert not (tmp_path / "state" / "alert_urls").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("run", "--", sys.executable, "tra" + "n.py"), "did you mean train.py?"),
        (("run", "--", "bash", "nowhere.sh"), "there is no nowhere.sh"),
        (("watch", "--log", "nowhere.log"), "touch "),
        (("verify", "nowhere.pt"), "there is no nowhere.pt"),
        (("silence", "--class", "disk_ful", "--for", "1h"), "did you mean disk_full"),
    ],
    ids=lambda given: " ".join(given[-2:]) if isinstance(given, tuple) else "",
)
def test_what_is_not_there_is_refused(tmp_path: Path, words: tuple[str, ...], hint: str) -> None:
    (tmp_path / "train.py").touch()
    said = Box(tmp_path).say(*words)
    assert (said.returncode, hint in said.stderr) == (2, True), said.stderr
    assert not (tmp_path / "state" / "runs").exists()


def test_a_url_of_no_service_is_no_fine_configuration(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.env["MIDDLEWATCH_ALERT_URLS"] = "foo://secret"
    said = box.say("config", "check")
    assert (said.returncode, "secret" in said.stderr) == (2, False)


def test_what_is_named_later_is_followed_as_well(tmp_path: Path) -> None:
    box = Box(tmp_path)
    try:
        run = box.train("gpt")
        pid = str(box.asks("status", run)["pid"])
        (tmp_path / "more.log").touch()
        (tmp_path / "out").mkdir()
        more = ("--log", "more.log", "--checkpoints", "out")
        assert "more.log" in box.say("watch", "--pid", pid, *more).stdout
        status = box.asks("status", run)
        assert str(tmp_path / "more.log") in [log["path"] for log in status["logs"]]
        assert status["checkpoint_dirs"] == [str(tmp_path / "out")]
        assert "all is known" in box.say("watch", "--pid", pid, *more).stdout
        assert box.say("end", run, "--signal", "KILL", "--yes").returncode == 0
    finally:
        box.say("stop")


@pytest.mark.parametrize(
    "words",
    [
        ("bash", "-c", "OMP_NUM_THREADS=1 python train.py"),
        (sys.executable, "-m", "timeit"),
        ("bash", "-x", "run.sh"),
        ("env", "python", "elsewhere.py"),
    ],
    ids=" ".join,
)
def test_what_may_be_no_script_is_started(words: tuple[str, ...], tmp_path: Path) -> None:
    box = Box(tmp_path)
    (tmp_path / "run.sh").touch()
    try:
        started = box.say("run", "--", *words)
        assert started.returncode == 0, started.stderr
    finally:
        box.say("stop")
