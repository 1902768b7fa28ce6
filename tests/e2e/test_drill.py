"""``middlewatch drill``: real trouble of a toy, through the real way to the phone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli.drill import KINDS


@pytest.fixture
def tmp() -> Iterator[Path]:
    """A short $TMPDIR of our own: other drills may be going on in /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="mw-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def drilled(box: Any, trouble: str, tmp: Path) -> tuple[int, dict[str, Any], str]:
    """(exit status, the report, what was said meanwhile)."""
    done = subprocess.run(
        [sys.executable, "-m", "middlewatch.daemon", "drill", trouble, "--json"],
        env={**box.env, "TMPDIR": str(tmp)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def nothing_is_left(tmp: Path) -> bool:
    """No folder, and no process that was started from it."""
    folders = list(tmp.glob("middlewatch-drill-*"))
    marked = os.fsencode(tmp / "middlewatch-drill-")
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return not folders and not any(marked in line for line in lines)


@pytest.mark.parametrize(
    "trouble",
    [
        "nan",
        "crash",
        pytest.param("disk", marks=pytest.mark.slow),
        pytest.param("oom", marks=pytest.mark.slow),
        pytest.param("hang", marks=pytest.mark.slow),
    ],
)
def test_a_drill(box: Any, receiver: Any, tmp: Path, trouble: str) -> None:
    status, report, said = drilled(box, trouble, tmp)
    assert (status, report["ok"], report["error"]) == (0, True, ""), (report, said)
    assert report["class"] in KINDS[trouble].classes
    assert report["told_after_s"] < KINDS[trouble].told_s
    (url,) = report["urls"]
    assert url["ok"]
    assert url["seconds"] >= report["told_after_s"]
    (push,) = receiver.pushes  # one trouble, one push
    assert push.title.startswith(f"[DRILL] [CRITICAL] drill-{trouble} on ")
    assert push.title == report["title"]
    assert push.body.startswith("This is a drill: ")
    assert "First step: " in push.body
    assert "loss_" not in push.body.partition("First step: ")[0], "no second trouble of the loss"
    box.until(lambda: nothing_is_left(tmp), "a clean box")


def test_an_url_that_does_not_answer_fails_the_drill(box: Any, receiver: Any, tmp: Path) -> None:
    box.extra_env["MIDDLEWATCH_ALERT_URLS"] = f"json://127.0.0.1:9/,{receiver.url}"
    status, report, _ = drilled(box, "nan", tmp)
    assert (status, report["ok"]) == (1, False)
    assert [url["ok"] for url in report["urls"]] == [False, True]
    assert report["urls"][0]["error"]


def test_an_url_that_was_given_to_the_daemon_is_called(box: Any, receiver: Any, tmp: Path) -> None:
    box.extra_env["MIDDLEWATCH_ALERT_URLS"] = ""
    box.command("alert", "add", receiver.url)
    status, report, _ = drilled(box, "crash", tmp)
    assert (status, [url["ok"] for url in report["urls"]]) == (0, [True])
    assert len(receiver.pushes) == 1


def test_nobody_to_tell_is_a_usage_error(box: Any) -> None:
    box.extra_env["MIDDLEWATCH_ALERT_URLS"] = ""
    done = box.command("drill", "nan", check=False)
    assert done.returncode == 2
    assert "no alert URL is set" in done.stderr


def test_the_daemon_that_watches_real_runs_knows_nothing_of_it(box: Any, tmp: Path) -> None:
    box.command("start")
    assert drilled(box, "nan", tmp)[0] == 0
    assert box.ask("runs") == []
    assert box.ask("outbox") == []
    assert box.ask("incidents", all=True) == []
