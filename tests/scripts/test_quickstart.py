"""The quickstart from end to end, with the middlewatch of this environment (no download)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..fakes.receiver import Receiver

QUICKSTART = Path(__file__).resolve().parents[2] / "scripts" / "quickstart.py"


def start(
    folder: Path, python: str = sys.executable, *words: str, **variables: str
) -> subprocess.Popen[str]:
    command = [python, str(QUICKSTART), *(words or ("--installed",)), "--folder", str(folder)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder.parent,
        env={**os.environ, **variables},
    )


def left_behind(folder: Path) -> list[str]:
    """Command lines of processes whose environment names the folder."""
    mark = os.fsencode(folder)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return [command for command in found if command]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "q"


@pytest.fixture
def phone() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.mark.slow
def test_the_alert_arrives_and_nothing_is_left(folder: Path, phone: Receiver) -> None:
    url = f"{phone.url}secret"
    with start(folder, MIDDLEWATCH_ALERT_URLS=url) as process:
        out, _ = process.communicate(timeout=110)
    assert process.returncode == 0, out
    pushed = [push.data["title"] for push in phone.got if push.path == "/secret"]
    assert any("nan" in title.lower() for title in pushed), "the person's own phone rings as well"
    assert "url 2 (json://): delivered" in out
    assert "/secret" not in out
    assert out.rstrip().splitlines()[-1].split("#")[0].rstrip().endswith("run -- python train.py")
    assert "\x1b" not in out, "colours are for terminals"
    title = re.search(r"│ (\[CRITICAL\] quickstart on .*(?:nan|inf).*)", out, re.IGNORECASE)
    assert title, out
    told = re.search(r"to the push: (\d+\.\d) s", out)
    assert told
    assert float(told[1]) < 30
    for stage in ("[1/5]", "[2/5]", "[3/5]", "[4/5]", "[5/5]", "$ middlewatch incidents"):
        assert stage in out
    (page,) = folder.glob("state/runs/*/training_status.md")
    assert page.read_text().startswith("# quickstart")
    (index,) = folder.glob("state/runs/*/checkpoints_index.json")
    saved = json.loads(index.read_text())
    assert re.fullmatch(r"step-000[123]00\.safetensors", Path(saved["resume_from"]).name)
    assert "Traceback" not in (folder / "state" / "daemon.log").read_text()
    assert left_behind(folder) == []


def test_without_an_index_it_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": ""}
    # What the machine itself says about indexes does not count here.
    nowhere |= {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    kept = tmp_path / "kept"
    with start(folder, sys.executable, "--keep", str(kept), **nowhere) as process:
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 1, out
    (told,) = [line for line in out.splitlines() if line.startswith("FAILED in stage `install`")]
    assert [
        w for w in ("PIP_INDEX_URL", "https_proxy", "scripts/wheelhouse") if w not in told
    ] == []
    assert "Retrying" not in out, "the words of pip lie in a file"
    assert "127.0.0.1" in (folder / "pip.log").read_text()
    with start(folder, sys.executable, "--keep", str(kept), **nowhere) as process:
        assert "FAILED in stage `install`: pip reached" in process.communicate(timeout=300)[0]


def test_a_folder_of_somebody_else_is_not_installed_into(folder: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "bin").mkdir(parents=True)
    with start(folder, sys.executable, "--keep", str(theirs)) as process:
        out, _ = process.communicate(timeout=300)
    assert (process.returncode, "was not made by --keep" in out) == (1, True), out
    assert os.listdir(theirs) == ["bin"]


def test_a_failing_stage_says_its_name(folder: Path, tmp_path: Path) -> None:
    # A Python beside which no middlewatch lies.
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    with start(folder, str(python)) as process:
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "FAILED in stage `launch`: there is no" in out
    assert left_behind(folder) == []


def test_an_interrupted_quickstart_clears_up(folder: Path) -> None:
    with start(folder) as process:
        deadline = time.perf_counter() + 60
        while not (folder / "run" / "train.log").exists() and time.perf_counter() < deadline:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM, out
    assert "interrupted" in out
    assert left_behind(folder) == []
