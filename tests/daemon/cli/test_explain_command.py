"""``middlewatch explain``: the handbook at three in the morning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli import main
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.handbook import TOPICS, pages
from middlewatch.sentinels.kit import Severity, handbook


@pytest.fixture(autouse=True)
def nothing_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDDLEWATCH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MIDDLEWATCH_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*words: str) -> tuple[int, str, str]:
        status = main(("explain", *words))
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def test_a_class(say: Any) -> None:
    status, told, _ = say("nccl_timeout")
    assert status == 0
    lines = told.splitlines()
    assert lines[0].startswith("nccl_timeout: ")
    for head in ("Symptom", "Confirm", "Cause", "Remedy", "Not", "Retry", "See"):
        assert head in lines
    assert "  1. [safe]   " in told
    assert "[costly] " in told
    assert any(line.startswith("  $ grep ") for line in lines)
    assert "rule crash" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_it_fits_the_terminal_but_leaves_commands_whole(
    say: Any, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for name, entry in pages().items():
        told = say(name)[1]
        assert all(f"  $ {c.command}\n" in told for c in entry.checks if c.command)
        wide = [ln for ln in told.splitlines() if len(ln) > min(columns, 110)]
        assert [ln for ln in wide if not ln.startswith("  $ ")] == []


def test_a_class_wins_over_the_rule_of_the_same_name(say: Any) -> None:
    assert json.loads(say("hang", "--json")[1])["kind"] == "class"
    assert json.loads(say("crash", "--json")[1])["kind"] == "rule"


def test_a_rule(say: Any) -> None:
    status, told, _ = say("crash")
    assert status == 0
    assert "[sentinels.crash]" in told
    assert "python_exception" in told
    assert "Decides" in told.splitlines()
    assert "Remedy" not in told.splitlines()


def test_json(say: Any) -> None:
    shown = json.loads(say("cgroup_oom_kill", "--json")[1])
    assert (shown["id"], shown["rule"], shown["topic"]) == ("cgroup_oom_kill", "host_oom", "memory")
    assert shown["incident"] is None
    assert shown["retry"] == "after_change"
    assert shown["steps"][0]["safe"] is True
    assert all(c["command"] and c["expect"] for c in shown["checks"])
    assert shown["sections"]["Symptom"]
    assert "memory_pressure" in shown["see"]
    everything = json.loads(say("--json")[1])
    assert [e["id"] for e in everything] == list(pages())
    assert all(e["steps"] and e["retry"] for e in everything)


def test_the_index_is_by_topic_and_names_every_page(say: Any) -> None:
    status, told, _ = say()
    assert status == 0
    lines = told.splitlines()
    heads = [line for line in lines if line in TOPICS]
    assert heads == list(TOPICS)
    first = {line.split()[0] for line in lines if line.startswith("  ")}
    assert {*pages(), *handbook()} <= first


@pytest.mark.parametrize(
    ("word", "near"),
    [("cuda_omm", "cuda_oom"), ("nccl-timeout", "nccl_timeout"), ("HANG", "hang")],
)
def test_a_slip_of_the_finger(say: Any, word: str, near: str) -> None:
    status, told, complaint = say(word)
    assert (status, told) == (2, "")
    assert f"did you mean {near}" in complaint


@pytest.mark.parametrize("word", ["qqqqqq", "../../qqqqqq", "", "8d516f", "\x1b[31m"])
def test_an_unknown_word(say: Any, word: str) -> None:
    status, told, complaint = say(word)
    assert (status, told) == (2, "")
    assert "middlewatch explain" in complaint
    assert "\x1b" not in complaint


def keep(root: Path, trouble: str, sentinel: str) -> None:
    state = StateDir(root / "state")
    state.root.mkdir()
    one = Incident(
        "3fa2c1", "gpt-1", trouble, sentinel, "k", Severity.CRITICAL, "open", 1e9, 1e9, "it broke"
    )  # fmt: skip
    store = Store(state.store, state.reserve, root)
    store.put("incident", one.id, one.to_json(), 1e9)
    store.close()


def test_an_incident_of_a_daemon_that_is_gone(say: Any, tmp_path: Path) -> None:
    keep(tmp_path, "segfault", "crash")
    status, told, _ = say("3fa2c1")
    assert status == 0
    assert "it broke" in told
    assert "segfault: " in told
    shown = json.loads(say("3fa2c1", "--json")[1])
    assert shown["id"] == "segfault"
    assert shown["incident"]["remedy"]["id"] == "segfault"
    assert shown["incident"]["remedy"]["first_step"] == shown["steps"][0]["text"]


@pytest.mark.parametrize("sentinel", ["crash", "of_tomorrow"])
def test_an_incident_of_another_version(say: Any, tmp_path: Path, sentinel: str) -> None:
    keep(tmp_path, "class_of_tomorrow", sentinel)
    status, told, complaint = say("3fa2c1")
    if sentinel == "crash":
        assert (status, told.count("crash: ")) == (0, 1)
    else:
        assert status == 2
        assert "class_of_tomorrow" in complaint


def test_colour_only_on_a_terminal_that_wants_it(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("middlewatch.daemon.cli.console.coloured", lambda: True)
    assert "\x1b[32m[safe]" in say("hang")[1]
