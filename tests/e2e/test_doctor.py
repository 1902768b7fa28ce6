"""``middlewatch doctor`` on a real daemon: what is well, what is odd, and what is broken in ourselves."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..fakes.box import is_alive

Program = Callable[[str], list[str]]
SOON = "[sentinels.blind]\nfor_s = 1\n"

BROKEN = """
    from dataclasses import replace
    from middlewatch.daemon.cli import main
    from middlewatch.daemon.parsers.reader import LogReader
    from middlewatch.daemon.report import messages
    from middlewatch.daemon.service import publishing
    from middlewatch.sentinels import loss_plateau, lr_zero
    from middlewatch.sentinels.kit import Step

    def endless(view, limits):
        while True:
            pass

    def wrong(*args, **more):
        raise ZeroDivisionError("a mistake that was put here by a test")

    lr_zero.SENTINEL = replace(lr_zero.SENTINEL, check=endless, every_tick=True, accumulators=())
    loss_plateau.SENTINEL = replace(
        loss_plateau.SENTINEL, check=wrong, on=(Step,), every_tick=True, accumulators=()
    )
    publishing.page = wrong
    messages.compose = wrong
    judge = LogReader._judge

    def choosy(self, piece):
        if b"poison" in piece:
            raise ZeroDivisionError("a mistake that was put here by a test")
        return judge(self, piece)

    LogReader._judge = choosy
    raise SystemExit(main(["daemon"]))
"""
"""A daemon with mistakes: a rule that never ends, one that raises, a parser, the page, the words."""


def doctor(box: Any) -> tuple[int, dict[str, Any]]:
    done = box.command("doctor", "--json", check=False)
    return done.returncode, json.loads(done.stdout)


def check(report: dict[str, Any], what: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in report["checks"] if one["what"] == what)
    return found


def start(box: Any, program: Program, name: str, trouble: str = "key_error") -> str:
    out = box.root / "saves" / name
    out.mkdir(parents=True)
    words = (*program("twelve"), trouble, str(out), str(out.with_suffix(".go")))
    options = ("--checkpoints", str(out), "--log", str(out.with_suffix(".log")))
    return str(box.run(*words, name=name, options=options))


def test_without_a_daemon(box: Any) -> None:
    status, report = doctor(box)
    assert status == 3
    assert (report["running"], report["verdict"]) == (False, "bad")
    assert check(report, "daemon")["step"] == "middlewatch start"
    assert not box.state.exists(), "it looks, and makes nothing"


def test_a_watch_that_is_well(box: Any, program: Program) -> None:
    run = start(box, program, "gpt")
    box.steps(2, run)
    box.until(lambda: doctor(box)[0] == 0, "a verdict without a doubt")
    status, report = doctor(box)
    assert (status, report["verdict"], report["running"]) == (0, "ok", True)
    assert report["pid"] == box.ask("ping")["pid"]
    assert report["state"]["path"] == str(box.state)
    assert report["runs"] == {"living": 1, "known": 1}
    own = report["footprint"]
    assert 0 < own["pss_bytes"] <= own["rss_bytes"]
    assert 0 < own["descriptors"] < own["descriptors_limit"]
    true = {row["source"].partition(":")[0] for row in report["sources"] if row["true_at"]}
    assert {"log_tail", "processes", "checkpoint_dir", "own"} <= true
    told = box.command("doctor").stdout
    assert all(f"{one['what']}: " in told for one in report["checks"])


def test_a_daemon_that_does_not_answer(box: Any) -> None:
    box.command("start")
    pid = box.ask("ping")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        status, report = doctor(box)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert status == 3
    assert f"pid {pid} is there (state T" in check(report, "daemon")["detail"]


def test_mistakes_of_ours_cost_only_themselves(box: Any, program: Program, tmp_path: Path) -> None:
    """A rule that loops for ever, one that raises, a parser, the page and the words of pushes."""
    box.configure(SOON)
    gpt, other = start(box, program, "gpt"), start(box, program, "other", "healthy")
    box.steps(2, other)
    box.command("stop")
    script = tmp_path / "broken_daemon.py"
    script.write_text(textwrap.dedent(BROKEN))
    daemon = box.spawn(sys.executable, str(script))
    with (box.root / "saves" / "gpt.log").open("a") as log:
        log.write("one line of poison\n")
    box.until(
        lambda: {"rule", "parser", "page"} <= {p["kind"] for p in box.ask("doctor")["parts"]},
        "three kinds of failures",
    )
    box.push(lambda p: "rule loss_plateau fails" in p.title, "the push about the rule that raises")
    box.push(lambda p: "rule lr_zero fails" in p.title, "the push about the rule that loops")
    (box.root / "saves" / "gpt.go").touch()
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), "the push of the run")
    assert "KeyError: 'columns'" in push.title, "read behind the poison, judged beside the loop"
    assert box.until(lambda: box.status(gpt)["ended_at"], "the end of the run")
    index = json.loads((box.state / "runs" / gpt / "checkpoints_index.json").read_text())
    assert index["run"] == gpt, "written although the page fails"
    before = box.status(other)["now"]["step"]
    box.until(lambda: box.status(other)["now"]["step"] > before, "the other run goes on")
    status, report = doctor(box)
    assert (status, report["verdict"]) == (1, "bad")
    parts = {(p["kind"], p["name"]): p for p in report["parts"]}
    assert "did not end" in parts["rule", f"lr_zero of {other}"]["error"]
    assert parts["rule", f"lr_zero of {other}"]["tried_again_at"]
    assert "ZeroDivisionError" in parts["rule", f"loss_plateau of {other}"]["error"]
    assert "ZeroDivisionError" in parts["page", other]["error"]
    assert parts["parser", f"{box.root}/saves/gpt.log of {gpt}"]["failures"] == 1
    assert {kind for kind, _ in parts} >= {"message"}
    box.push(lambda p: "the watch itself" in p.title, "the push about the other parts")
    assert is_alive(daemon.pid)
