from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli import console
from middlewatch.daemon.cli.arguments import build
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.system.store import Store
from middlewatch.daemon.text import rows
from middlewatch.sentinels.kit import Severity

from ...fakes.injections import Injection, injections, obeyed

COMMAND = [sys.executable, "-m", "middlewatch.daemon"]


def process(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, timeout=300, check=False, **more
    )


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A real daemon with one run under watch (a log); its state directory."""
    root = tmp_path_factory.mktemp("daemon")
    state, log = root / "state", root / "train.log"
    log.write_text("".join(f"step {n}/100 | train_loss 2.5\n" for n in range(1, 40)))
    env = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
    env |= {"MIDDLEWATCH_STATE_DIR": str(state), "MIDDLEWATCH_CONFIG": str(root / "none.toml")}
    started = process("start", "--json", env=env)
    assert started.returncode == 0, started.stderr
    watched = process("watch", "--log", str(log), "--name", "gpt", "--json", env=env)
    assert watched.returncode == 0, watched.stderr
    yield state
    stopped = process("stop", env=env)
    assert stopped.returncode == 0, stopped.stderr
    assert not (state / "middlewatch.sock").exists()


# ------------------------------------------------------------------------ help and usage


def commands() -> list[str]:
    action = next(a for a in build()._actions if isinstance(a, argparse._SubParsersAction))
    return list(action.choices)


@pytest.mark.parametrize("command", commands())
def test_every_command_helps(say: Any, command: str) -> None:
    status, told, _ = say(command, "--help")
    assert status == 0
    assert "\nexample: " in told
    assert f"middlewatch {command}" in told.split("example: ")[1]


def test_the_whole_list_is_there() -> None:
    assert set(commands()) == {
        "daemon", "start", "stop", "run", "watch", "runs", "status", "incidents", "ack",
        "silence", "checkpoints", "verify", "replay", "audit", "explain", "alert", "tui", "config",
        "drill", "resume", "prune", "mirror", "doctor", "logs", "end", "forget", "help", "setup",
        "completion", "manifest", "pull", "teardown", "deploy", "platform", "smoke", "size", "evidence",
        "watchbox", "report", "relay", "launch", "queue", "new", "metrics", "history",
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("status", "--nonsense"),
        ("run",),
        ("run", "--"),
        ("ack",),
        ("silence",),
        ("silence", "--for", "a while"),
        ("silence", "--for", "2 h"),
        ("silence", "--for", "2h"),
        ("silence", "--class", "disk_ful", "--for", "2h"),
        ("end",),
        ("help", "nonsense"),
        ("alert", "test"),
        ("watch", "--log", "/"),
        ("watch", "--pid", "4194304"),
        ("verify", "x", "--python", "/bin/true"),
        ("tui", "otherbox"),
        ("explain", "nonsense"),
        ("replay", "/nowhere.log"),
        ("config", "check", "--config", "/nowhere.toml"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_2(say: Any, words: tuple[str, ...]) -> None:
    status, told, complaint = say(*words)
    assert status == 2
    assert told or complaint
    assert "Traceback" not in complaint


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("status",),
        ("status", "gpt", "--json"),
        ("incidents",),
        ("incidents", "--json"),
        ("incidents", "--follow"),
        ("ack", "3fa2c1"),
        ("silence", "--all", "--for", "2h"),
        ("silence", "--list"),
        ("logs", "gpt"),
        ("end", "gpt"),
        ("forget", "gpt"),
        ("checkpoints",),
    ],
    ids=" ".join,
)
def test_no_daemon_is_exit_3_with_a_hint(say: Any, words: tuple[str, ...]) -> None:
    status, _, complaint = say(*words)
    assert status == 3
    assert "middlewatch start" in complaint


def test_stopping_what_does_not_run_is_fine(say: Any) -> None:
    status, told, _ = say("stop", "--json")
    assert (status, json.loads(told)) == (0, {"stopped": False, "pid": None})


def test_a_bug_of_ours_is_exit_5(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("middlewatch.daemon.cli.explain.handbook", lambda: 1 / 0)
    status, _, complaint = say("explain")
    assert status == 5
    assert "ZeroDivisionError" in complaint
    assert "internal error" in complaint


# ------------------------------------------------------------------------ configuration


def test_config_check_and_show(say: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(say("config", "check", "--json")[1]) == {
        "ok": True,
        "path": None,
        "alert_urls": 0,
    }
    file = tmp_path / "config.toml"
    file.write_text("[alerts]\nurls = ['json://bob:hunter22@example.org/']\nhost = '机器三'\n")
    monkeypatch.setenv("MIDDLEWATCH_ALERT_URLS", "ntfy://topic12")
    status, told, _ = say("config", "show", "--json")
    values = {v["key"]: (v["value"], v["origin"]) for v in json.loads(told)}
    assert status == 0
    assert values["alerts.host"] == ("机器三", f"{file}:3")
    assert values["alerts.urls (all)"][0] == "2 set"
    for words in (("config", "show"), ("config", "check"), ("config", "show", "--json")):
        _, told, complaint = say(*words)
        assert "hunter22" not in told + complaint
        assert "topic12" not in told + complaint


def test_config_check_of_a_typo(say: Any, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[sentinels.hang]\nfloor = 3\n")
    status, _, complaint = say("config", "check")
    assert status == 2
    assert f"{file}:2: unknown key 'sentinels.hang.floor'; did you mean 'floor_s'?" in complaint
    for words in (("daemon",), ("start",), ("audit",), ("replay", "x.log"), ("alert", "test")):
        assert say(*words)[0] == 2


# ------------------------------------------------------------------------ the state directory


@pytest.mark.parametrize("command", [("daemon",), ("start",), ("run", "--", "true")], ids=" ".join)
def test_a_state_directory_that_cannot_be_one(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "file"
    file.touch()
    done = process(command[0], "--state-dir", str(file), *command[1:])
    assert done.returncode == 2
    assert f"the state directory {file} cannot be used" in done.stderr
    assert "--state-dir" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("bad", ["file/below", "x" * 300])
def test_other_state_directories_that_cannot_be_one(say: Any, tmp_path: Path, bad: str) -> None:
    (tmp_path / "file").touch()
    for words in (("start",), ("run", "--", "true"), ("watch", "--log", "/dev/null")):
        status, _, complaint = say(words[0], "--state-dir", str(tmp_path / bad), *words[1:])
        assert (status, "cannot be used" in complaint) == (2, True)
    assert say("runs", "--state-dir", str(tmp_path / bad))[0] == 3


def test_a_state_directory_whose_socket_would_be_too_long(tmp_path: Path) -> None:
    done = process("daemon", "--state-dir", str(tmp_path / ("x" * 120)))
    assert done.returncode == 2
    assert "shorter --state-dir" in done.stderr


def test_incidents_of_a_daemon_that_is_gone(say: Any, tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    state.root.mkdir()
    store = Store(state.store, state.reserve, tmp_path)
    for name, phase in (("a1", "open"), ("b2", "resolved")):
        one = Incident(name, "gpt-1", "loss_nan", "nan_loss", "k", Severity.CRITICAL, "open", 1.0, 2.0, "nan")  # fmt: skip
        store.put("incident", name, one.to_json() | {"state": phase}, 1.0)
    store.close()
    status, told, complaint = say("incidents", "--json")
    assert status == 3
    assert [i["id"] for i in json.loads(told)] == ["a1"]
    assert "no daemon answers" in complaint
    assert [i["id"] for i in json.loads(say("incidents", "--all", "--json")[1])] == ["a1", "b2"]
    assert json.loads(say("incidents", "--run", "other", "--json")[1]) == []
    assert "loss_nan" in say("incidents")[1]
    assert say("explain", "b2")[0] == 0
    state.store.write_bytes(b"no database" * 999)
    assert say("incidents", "--json")[:2] == (3, "[]\n")


# ------------------------------------------------------------------------ with a daemon


def at(state: Path, *words: str) -> tuple[str, ...]:
    return (words[0], "--state-dir", str(state), *words[1:])


def test_what_a_daemon_answers_is_json(say: Any, daemon: Path) -> None:
    status, told, _ = say(*at(daemon, "runs", "--json"))
    (run,) = json.loads(told)
    assert (status, run["name"]) == (0, "gpt")
    status, told, _ = say(*at(daemon, "status", "gpt", "--json"))
    shown = json.loads(told)
    assert (status, shown["run"], shown["now"]["total"]) == (0, run["run"], 100)
    assert json.loads(say(*at(daemon, "incidents", "--json"))[1]) == []
    index = json.loads(say(*at(daemon, "checkpoints", "gpt", "--json"))[1])
    assert index["schema"] == "middlewatch/checkpoints/v1"
    made = json.loads(say(*at(daemon, "silence", "--for", "30m", "--run", "gpt", "--json"))[1])
    assert (made["run"], made["class"]) == (run["run"], "")
    again = json.loads(say(*at(daemon, "start", "--json"))[1])
    assert again["started"] is False


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("status",),
        ("status", "--oneline"),
        ("incidents", "--all"),
        ("checkpoints",),
        ("silence", "--all", "--for", "1m"),
        ("start",),
    ],
    ids=" ".join,
)
def test_words_for_a_person(say: Any, daemon: Path, words: tuple[str, ...]) -> None:
    status, told, complaint = say(*at(daemon, *words))
    assert (status, complaint) == (0, "")
    assert told.strip()
    assert "\x1b" not in told


@pytest.mark.parametrize(
    "words",
    [
        ("status", "nonsense"),
        ("checkpoints", "nonsense"),
        ("incidents", "--run", "nonsense"),
        ("incidents", "--run", "nonsense", "--follow"),
        ("silence", "--run", "nonsense", "--for", "1h"),
        ("silence", "--for", "0s"),
        ("silence", "--for", "999999999999999999d"),
        ("ack", "nonsense"),
        ("explain", "nonsense"),
    ],
    ids=" ".join,
)
def test_an_unknown_run_or_incident_is_exit_2(
    say: Any, daemon: Path, words: tuple[str, ...]
) -> None:
    status, _, complaint = say(*at(daemon, *words))
    assert status == 2
    assert "Traceback" not in complaint


def test_a_second_daemon_is_refused(daemon: Path) -> None:
    done = process(*at(daemon, "daemon"))
    assert done.returncode == 4
    assert "already watches" in done.stderr
    assert "middlewatch stop" in done.stderr


def test_the_same_log_is_watched_once(say: Any, daemon: Path) -> None:
    log = str(daemon.parent / "train.log")
    status, told, _ = say(*at(daemon, "watch", "--log", log, "--json"))
    (one,) = json.loads(told)
    assert (status, one["new"]) == (0, False)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        [],
        "x",
        {"name": 3},
        {"name": "x", "logs": "/a.log"},
        {"name": "x", "logs": ["a.log"]},
        {"name": "x", "logs": [1]},
        {"name": "x", "pid": "7"},
        {"name": "x", "pid": True},
        {"name": "x", "ranks": [{"pid": 1}]},
        {"name": "x", "ranks": [7]},
        {"name": "x", "log_via": "y"},
        {"name": "x", "id": "../../etc"},
        {"name": "x", "started_at": None},
    ],
    ids=str,
)
def test_a_run_that_makes_no_sense_is_refused(daemon: Path, spec: Any) -> None:
    from middlewatch.daemon.client import Client, RemoteError

    asked = Client(str(daemon / "middlewatch.sock"))
    with pytest.raises(RemoteError) as caught:
        asked.ask("watch", spec=spec)
    assert caught.value.exit_code == 2
    assert len(asked.ask("runs")) == 1


def connected(pid: int) -> bool:
    """Does it hold a socket? Ours has a single one, to the daemon."""
    with contextlib.suppress(OSError):  # it opens and closes others meanwhile
        return any("socket:" in os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_following_says_what_is_known_and_ends_with_its_reader(daemon: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, *at(daemon, "incidents", "--follow", "--all", "--run", "gpt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as follower:
        try:
            while not connected(follower.pid):
                assert follower.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                follower.wait(0.5)
            follower.send_signal(2)
            _, complaint = follower.communicate(timeout=300)
        finally:
            follower.kill()
    assert (follower.returncode, complaint) == (130, b"")


# ------------------------------------------------------------------------ output


def test_a_reader_that_has_had_enough(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n} | train_loss 2.5\n" for n in range(20000)))
    done = subprocess.run(
        ["sh", "-c", '"$@" | head -n 1', "sh", *COMMAND, "replay", "--json", "--metrics", log],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert json.loads(done.stdout)["type"] == "metric"
    assert done.stderr == ""


def test_a_terminal_that_knows_no_chinese(tmp_path: Path) -> None:
    (tmp_path / "训练.log").write_text("RuntimeError: 显存不足\n", encoding="utf-8")
    done = process(
        "replay",
        str(tmp_path / "训练.log"),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode in (0, 1), done.stderr
    assert "??.log  1 lines" in done.stdout


@pytest.mark.parametrize("one", injections(), ids=lambda one: one.name)
def test_nothing_that_others_wrote_steers_the_terminal(
    one: Injection, capsys: pytest.CaptureFixture[str]
) -> None:
    console.say(f"run {one.text}", console.paint(one.text))
    console.complain(one.text)
    console.table(("NAME",), [(one.text,)])
    console.print_rows([rows.row(one.text)])
    out, err = capsys.readouterr()
    assert len([*out.splitlines(), *err.splitlines()]) == 5
    assert obeyed(out + err) == []


@pytest.mark.parametrize("one", injections(), ids=lambda one: one.name)
def test_json_is_exact_and_steers_nothing(
    one: Injection, capsys: pytest.CaptureFixture[str]
) -> None:
    console.as_json({"name": one.text})
    console.as_line({"name": one.text})
    shown = capsys.readouterr().out
    assert obeyed(shown) == []
    for line in shown.splitlines():
        # Bytes that were no text are a question mark each: JSON has no way to say them.
        assert json.loads(line) == {"name": one.text.encode("utf-8", "replace").decode()}


def test_colours_of_ours_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    console.say("it is ", console.paint("failed", width=8), ".")
    assert capsys.readouterr().out == "it is   \x1b[31;1mfailed\x1b[0m.\n"


def test_text_is_safe_on_a_terminal() -> None:
    assert console.clean("a\x1b[31mb\nc\udcff\u202e") == "a [31mb c  "
    assert console.width("损失") == 4
    assert console.width("e\u0301") == 1
    for text in ("\u0780\u07a6", "\U0001f468\u200d\U0001f469", "a\u0488", "损失 loss"):
        assert console.width(text) == rows.width_of(rows.row(text))


def test_columns_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(("A", "B"), [("损失", 1), ("x", 22)])
    assert capsys.readouterr().out == "A     B\n损失  1\nx     22\n"


def test_the_offline_reader_changes_nothing(say: Any, tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    state.root.mkdir()
    db = sqlite3.connect(state.store)
    db.execute("create table other (x)")
    db.close()
    before = state.store.read_bytes()
    assert say("incidents", "--json")[:2] == (3, "[]\n")
    assert state.store.read_bytes() == before
