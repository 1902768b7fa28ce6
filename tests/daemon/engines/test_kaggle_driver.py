"""The engine of Kaggle: the real client against a server of ours on loopback."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.cli import main
from middlewatch.daemon.engines.choice import engine
from middlewatch.daemon.engines.kaggle import Driver
from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.job import Job, Kaggle, Main
from middlewatch.daemon.jobs.places import render
from middlewatch.daemon.system.errors import MiddlewatchError, UsageError

from ...fakes.kaggle_api import KaggleApi

SEARCHED = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
pytestmark = pytest.mark.skipif(
    shutil.which("kaggle", path=SEARCHED) is None,
    reason="the kaggle client is not installed (it needs Python 3.11)",
)


@pytest.fixture
def kaggle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KaggleApi]:
    with KaggleApi() as api:
        for key, value in api.environment().items():
            monkeypatch.setenv(key, value)
        for key in ("KAGGLE_API_TOKEN", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(key, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("PATH", SEARCHED)
        yield api


def launched(tmp_path: Path) -> tuple[Artefact, Path]:
    main = Main(command=("python", "train.py"), checkpoints="out", max_time_s=3600.0)
    job = Job(main, kaggle=Kaggle(owner="me", machine="NvidiaTeslaT4", datasets=("me/tokens",)))
    artefact = render("kaggle", job, Here("gpt.2-学-run", texts={"train.py": "print('训练')\n"}))
    folder = tmp_path / "launch"
    folder.mkdir(exist_ok=True)
    for file, text in artefact.files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return artefact, folder


def test_a_kernel_is_pushed_and_its_session_begins(kaggle: KaggleApi, tmp_path: Path) -> None:
    driver = engine("kaggle")
    assert driver.missing() == ("", "")
    artefact, folder = launched(tmp_path)
    begun = driver.start(artefact, folder)
    assert begun.id == "me/gpt-2-run/1"
    assert "https://www.kaggle.com/code/me/gpt-2-run" in begun.end
    (saved,) = kaggle.saved
    assert saved["text"] == artefact.files["kernel.py"]
    assert saved["sessionTimeoutSeconds"] == 3600
    assert saved["machineShape"] == "NvidiaTeslaT4"
    assert saved["datasetDataSources"] == ["me/tokens"]
    assert (saved["isPrivate"], saved["enableGpu"], saved["kernelType"]) == (True, True, "script")
    assert driver.start(artefact, folder).id == "me/gpt-2-run/2"


def test_what_kaggle_says_against_it_is_told(kaggle: KaggleApi, tmp_path: Path) -> None:
    kaggle.error = "Maximum weekly GPU quota of 30.00 hours reached."
    with pytest.raises(MiddlewatchError, match="weekly GPU quota"):
        Driver().start(*launched(tmp_path))
    kaggle.error, kaggle.invalid_datasets = "", ["me/tokens"]
    begun = Driver().start(*launched(tmp_path))
    assert "not valid dataset sources" in begun.details["said"]


@pytest.mark.parametrize(
    ("status", "failure", "standing", "reason"),
    [
        ("QUEUED", "", "waiting", "waits for a machine"),
        ("RUNNING", "", "running", ""),
        ("ERROR", "Your notebook tried to allocate more memory", "failed", "more memory"),
        ("CANCEL_ACKNOWLEDGED", "", "stopped", "by a person"),
    ],
)
def test_the_state_is_that_of_the_session(
    kaggle: KaggleApi, status: str, failure: str, standing: str, reason: str
) -> None:
    kaggle.status, kaggle.failure = status, failure
    state = Driver().state("me/gpt-2-run/3")
    assert state.standing == standing
    assert reason in state.reason
    assert kaggle.asked[-1][1]["versionLabel"] == "v3"


@pytest.mark.parametrize(
    ("end", "standing", "reason", "code"),
    [
        ({"exit_code": 0, "signal": None, "session_over": False}, "finished", "", 0),
        ({"exit_code": 3, "signal": None, "session_over": False}, "failed", "exit code 3", 3),
        ({"exit_code": None, "signal": 9, "session_over": False}, "failed", "signal 9", None),
        ({"exit_code": 0, "signal": None, "session_over": True}, "stopped", "session was over", 0),
        (None, "finished", "not known", None),
    ],
)
def test_how_the_command_ended_is_what_the_script_wrote(
    kaggle: KaggleApi, end: dict[str, object] | None, standing: str, reason: str, code: int | None
) -> None:
    kaggle.status = "COMPLETE"
    kaggle.files = {"out/large.pt": b"0" * 1000}
    if end:
        kaggle.files["exit.json"] = json.dumps(end).encode()
    state = Driver().state("me/gpt-2-run/1")
    assert (state.standing, state.exit_code) == (standing, code)
    assert reason in state.reason
    assert kaggle.fetched == (["exit.json"] if end else [])  # and nothing that is large


def test_the_output_is_fetched_for_replay(kaggle: KaggleApi, tmp_path: Path) -> None:
    lines = "".join(f"step {n} loss {2.5 - n / 100:.3f}\n" for n in range(1, 60))
    kaggle.files = {"output.log": lines.encode(), "out/step-7.pt": b"7"}
    (log,) = Driver().fetch("me/gpt-2-run/1", tmp_path / "fetched")
    assert log.read_text() == lines
    assert (tmp_path / "fetched" / "out" / "step-7.pt").read_bytes() == b"7"
    assert main(["replay", str(log)]) == 0
    kaggle.files = {}
    with pytest.raises(MiddlewatchError, match=r"no output\.log"):
        Driver().fetch("me/gpt-2-run/1", tmp_path / "other")


def test_what_the_client_cannot_do_is_said(kaggle: KaggleApi, tmp_path: Path) -> None:
    with pytest.raises(MiddlewatchError, match="cannot end a session") as told:
        Driver().end("me/gpt-2-run/1", tmp_path)
    assert "https://www.kaggle.com/code/me/gpt-2-run" in told.value.hint
    with pytest.raises(UsageError, match="no kernel of Kaggle"):
        Driver().state("--help")


def test_a_kernel_that_is_not_there(kaggle: KaggleApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kaggle, "answer", lambda name, asked: {}[name])
    with pytest.raises(MiddlewatchError, match="not found"):
        Driver().state("me/gpt-2-run/1")


def test_the_command_launches_with_the_files_that_it_names(
    kaggle: KaggleApi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MIDDLEWATCH_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "train.py").write_text("print('训练')\n", encoding="utf-8")
    job = tmp_path / "job.toml"
    job.write_text(
        '[job]\ncommand = ["python", "train.py"]\nmodel = "gpt2"\n[kaggle]\nowner = "me"\n',
        encoding="utf-8",
    )
    assert main(["launch", str(job), "--on", "kaggle"]) == 0
    (saved,) = kaggle.saved
    assert "print('训练')" in saved["text"]
    out = capsys.readouterr().out
    assert f"{saved['slug']}/1" in out
    assert "12 h at most" in out
