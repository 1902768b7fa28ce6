"""Verbs that people type: help, logs, silence, end, forget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
    (incident,) = box.asks("incidents", "--all")
    assert (incident["class"], incident["severity"]) == ("sigterm_received", "info")
    assert "as a person asked" in incident["summary"]
    assert box.say("end", "gpt", "--yes").returncode == 2, "it is over"
    folder = Path(box.asks("forget", "gpt")["folder"])
    assert (folder / "training_status.md").exists()
    assert box.asks("runs") == []


def test_lines_that_come_are_followed(box: Box) -> None:
    box.train("follow")
    words = [*COMMAND, "logs", "follow", "-f", "-n", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=box.env) as reader:
        assert reader.stdout is not None
        steps = [int(reader.stdout.readline().split()[1].partition("/")[0]) for _ in range(5)]
        reader.kill()
    assert steps == list(range(steps[0], steps[0] + 5))
    assert box.say("end", "follow", "--signal", "KILL", "--yes").returncode == 0
