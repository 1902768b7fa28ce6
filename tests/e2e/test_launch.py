"""``middlewatch launch`` here: a real run of a job file, its record, its limits."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]

SECRET = "hf_wPzRkLmNqXvTbYcDfGhJsAeUiOkMnBvCx"


@pytest.fixture
def job(box: Any, program: Program) -> Path:
    python, script, *_ = program("trainer")
    path = Path(box.root, "job.toml")
    path.write_text(
        f"""[job]
command = {json.dumps([python, script, "none", "--steps", "30", "--sleep", "0.02"])}
model = "toy"
experiment = "launch"
pass_env = ["HF_TOKEN"]
checkpoints = "out"
[job.env]
TITLE = "zwei Wörter 训练"
""",
        encoding="utf-8",
    )
    box.extra_env["HF_TOKEN"] = SECRET
    return path


def test_it_is_shown_and_nothing_starts(box: Any, job: Path) -> None:
    done = box.command(
        "launch", str(job), "--print", "--json", "--max-time", "1h", "--", "--x", "1"
    )
    told = json.loads(done.stdout)
    assert told["commands"][0][:4] == ["timeout", "--signal=TERM", "--kill-after=90s", "3510s"]
    assert told["commands"][0][-2:] == ["--x", "1"]
    assert told["name"].startswith("toy-training-")
    assert not (box.state / "runs").exists()
    assert SECRET not in done.stdout


def test_it_runs_to_its_end_and_the_record_stays(box: Any, job: Path) -> None:
    git = ("git", "-C", str(box.root), "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run([*git[:3], "init", "-q"], check=True)
    (Path(box.root) / "notes.txt").write_text("one\n")
    subprocess.run([*git, "add", "notes.txt"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    (Path(box.root) / "notes.txt").write_text(f"two\ntoken = {SECRET}\n")
    told = json.loads(box.command("launch", str(job), "--json", "--name", "gpt").stdout)
    box.push(lambda p: p.title.startswith("[FINISHED] gpt"))
    text = Path(told["launch"]).read_text(encoding="utf-8")
    kept = json.loads(text)
    assert (kept["schema"], kept["run"], kept["place"]) == (
        "middlewatch/launch/v1",
        told["run"],
        "local",
    )
    assert kept["labels"] == {"model": "toy", "experiment": "launch"}
    assert {"HF_TOKEN", "TITLE"} <= set(kept["env_names"])
    assert kept["git"]["changed"] is True
    assert "+two" in kept["git"]["diff"]
    (script,) = (name for name in kept["scripts"] if name.endswith("trainer.py"))
    assert kept["scripts"][script].startswith("sha256:")
    assert SECRET not in text
    assert Path(told["launch"]).stat().st_mode & 0o077 == 0


def test_its_time_is_over(box: Any, program: Program) -> None:
    words = ("launch", "--json", "--name", "long", "--max-time", "1s")
    box.command(*words, "--", *program("trainer"), "none", "--sleep", "0.05")
    box.push(lambda p: "long" in p.title and p.title.startswith("["))


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("launch",), 2, "nothing to launch"),
        (("launch", "train.py"), 2, "a command stands behind --"),
        (("launch", "missing.toml"), 2, "cannot read missing.toml"),
        (("launch", "--", "no-such-one", "train.py"), 2, "there is no program no-such-one"),
        (("launch", "--max-time", "soon", "--", "true"), 2, "cannot read the time 'soon'"),
        (("launch", "--nodes", "2", "--", "true"), 2, "several machines need another place"),
        (("launch", "--on", "docker", "--", "true"), 2, "docker needs an image"),
        (("launch", "--on", "moon", "--", "true"), 2, "there is no 'moon'"),
        (("launch", "--status", "gpt"), 2, "there is no launch 'gpt'"),
        (
            ("launch", "--gpus", "-1", "--", "true"),
            2,
            "--gpus, --nodes and --again are numbers",
        ),
    ],
)
def test_mistakes(box: Any, words: tuple[str, ...], status: int, told: str) -> None:
    done = box.command(*words, check=False)
    assert (done.returncode, told in done.stderr) == (status, True), done.stderr


def test_a_model_that_does_not_fit_the_cards_is_refused(
    box: Any, job: Path, nvml_double: Any
) -> None:
    nvml_double.scenario(
        "driver_version = 550.54.15\n[gpu 0]\nname = A100\nuuid = GPU-0\nbus_id = 00000000:18:00.0\n"
        "mem_total = 42949672960\nmem_used = 0\n"
    )
    box.extra_env.update(nvml_double.env)
    job.write_text(job.read_text(encoding="utf-8") + '[size]\nparams = "7B"\n', encoding="utf-8")
    done = box.command("launch", str(job), "--gpus", "1", check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "memory of a GPU: " in done.stderr
    assert "this one has 42.9 GB" in done.stderr
    assert not (box.state / "runs").exists()
