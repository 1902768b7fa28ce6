"""The kernel for Kaggle: by golden files, and its script is run with folders of a test for those of Kaggle.

The golden files are written anew by ``python tests/daemon/jobs/test_kaggle_kernel.py``.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.job import Job, Kaggle, Main
from middlewatch.daemon.jobs.kaggle import artefact, slug_of
from middlewatch.daemon.jobs.kaggle_runner import literal
from middlewatch.daemon.jobs.read import parse
from middlewatch.daemon.system.errors import UsageError

FOLDER = Path(__file__).with_name("kaggle")
TRAIN = "# 训练\nimport sys\nprint('step 1 loss 2.5', sys.argv[1:])\n"
JOBS = {
    "gpu": """
        [job]
        command = ["python", "train.py", "--lr", "3e-4"]
        model = "gpt2-124m"
        checkpoints = "out"
        env = {TOKENIZERS_PARALLELISM = "false"}
        pass_env = ["HF_TOKEN"]
        [kaggle]
        owner = "me"
        machine = "NvidiaTeslaT4"
        datasets = ["me/tokens"]
        kernels = ["me/gpt2-124m-first"]
        """,
    "tpu": """
        [job]
        command = ["python", "train.py"]
        max_time_s = "2h"
        checkpoints = "/kaggle/working/out"
        [kaggle]
        owner = "me"
        accelerator = "tpu"
        public = true
        internet = false
        """,
}


def made(name: str) -> Artefact:
    here = Here(
        "gpt2-124m-training-20261127-0304", texts={"train.py": TRAIN, "conf/a.txt": "'''\\"}
    )
    return artefact(parse(JOBS[name], "job.toml"), here)


def written() -> Iterator[tuple[Path, str]]:
    for name in JOBS:
        one = made(name)
        for file, text in one.files.items():
            yield FOLDER / f"{name}.{file}.txt", text  # .txt: no tool formats it
        lines = [*(" ".join(words) for words in one.commands), *(f"# {n}" for n in one.notes)]
        yield FOLDER / f"{name}.commands.txt", "\n".join(lines) + "\n"


def test_the_golden_files_are_what_is_made() -> None:
    texts = dict(written())
    assert {path.name for path in FOLDER.iterdir()} == {path.name for path in texts}
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_the_session_is_as_long_as_kaggle_lets_it_be() -> None:
    (push,) = made("gpu").commands
    assert push[-4:] == ("--timeout", "43200", "--accelerator", "NvidiaTeslaT4")
    note = next(n for n in made("gpu").notes if "12 h at most" in n)
    assert "it may last 24 h" in note
    assert "SIGTERM comes after 11 h 54 min" in note  # 300 s and 90 s to save before its end
    assert "RUN_S = 42810 " in made("gpu").files["kernel.py"]
    assert made("tpu").commands[0][-1] == "7200"
    assert not [n for n in made("tpu").notes if "at most" in n]


@pytest.mark.parametrize(
    ("main", "ours", "said"),
    [
        ({"max_time_s": 0.0}, {"accelerator": "tpu"}, "9 h at most"),
        ({"checkpoints": "/data/out"}, {}, "goes with the session"),
        ({"checkpoints": "../out"}, {}, "goes with the session"),
        ({"checkpoints": ""}, {}, "is not set"),
        ({"gpus": 2}, {"accelerator": "none"}, "'none'"),
        ({"pass_env": ("HF_TOKEN",)}, {}, "Add-ons, Secrets"),
    ],
)
def test_a_note_says_what_may_go_wrong(
    main: dict[str, Any], ours: dict[str, Any], said: str
) -> None:
    job = Job(Main(command=("x",), **main), kaggle=Kaggle(owner="me", **ours))
    assert any(said in note for note in artefact(job, Here("gpt-run")).notes)
    quiet = Job(
        Main(command=("x",), max_time_s=3600.0, checkpoints="out"), kaggle=Kaggle(owner="me")
    )
    assert not artefact(quiet, Here("gpt-run")).notes


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(UsageError, match="belongs to somebody"):
        artefact(Job(Main(command=("x",))), Here("gpt-run"))
    with pytest.raises(UsageError, match="one machine"):
        artefact(Job(Main(command=("x",), nodes=2), kaggle=Kaggle(owner="me")), Here("gpt-run"))
    assert [slug_of(n) for n in ("GPT.2 训练", "a", "中")] == ["gpt-2", "a-training", "training"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_file_is_in_the_script_as_it_was(text: str) -> None:
    source = f"FILES = {{'a': {literal(text)}}}\n"
    assert ast.literal_eval(source.partition("= ")[2]) == {"a": text}


def run(tmp_path: Path, job: Job, texts: dict[str, str], run_s: int = 0) -> dict[str, Any]:
    """Run the script with folders of the test; returns its exit.json."""
    script = artefact(job, Here("gpt-run", texts=texts)).files["kernel.py"]
    script = script.replace("/kaggle/working", str(tmp_path / "working"))
    script = script.replace("/kaggle/input", str(tmp_path / "input"))
    if run_s:
        script = script.replace("RUN_S = ", f"RUN_S = {run_s}  # ", 1)
    (tmp_path / "working").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-"],
        input=script.encode(),
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    (tmp_path / "stdout").write_bytes(done.stdout)
    end: dict[str, Any] = json.loads((tmp_path / "working" / "exit.json").read_text())
    return end


def job(*command: str, kernels: tuple[str, ...] = (), **main: Any) -> Job:
    kaggle = Kaggle(owner="me", kernels=kernels)
    return Job(Main(command=command, checkpoints="out", **main), kaggle=kaggle)


def test_the_script_runs_the_command_with_its_files(tmp_path: Path) -> None:
    texts = {"train.py": TRAIN, "conf/a.txt": "'''\\"}
    end = run(tmp_path, job(sys.executable, "train.py", "a  b", env={"A": "中"}), texts)
    assert end == {"exit_code": 0, "signal": None, "session_over": False}
    log = (tmp_path / "working" / "output.log").read_text()
    assert log == "step 1 loss 2.5 ['a  b']\n"
    assert log in (tmp_path / "stdout").read_text()
    assert (tmp_path / "working" / "conf" / "a.txt").read_text() == "'''\\"


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("raise SystemExit(3)", {"exit_code": 3, "signal": None, "session_over": False}),
        (
            "import os; os.kill(os.getpid(), 9)",
            {"exit_code": None, "signal": 9, "session_over": False},
        ),
    ],
)
def test_a_failure_of_the_command_is_written_and_the_kernel_ends_well(
    tmp_path: Path, code: str, end: dict[str, Any]
) -> None:
    assert run(tmp_path, job(sys.executable, "-c", code), {}) == end


def test_before_the_session_ends_the_command_is_told_to_save(tmp_path: Path) -> None:
    train = (
        "import pathlib, signal, sys, time\n"
        "def save(*_):\n"
        "    pathlib.Path('out').mkdir(); pathlib.Path('out/step-7.pt').write_text('7'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save)\ntime.sleep(600)\n"
    )
    end = run(
        tmp_path, job(sys.executable, "train.py", max_time_s=36e6), {"train.py": train}, run_s=3
    )
    assert end == {"exit_code": 0, "signal": None, "session_over": True}
    assert (tmp_path / "working" / "out" / "step-7.pt").read_text() == "7"
    assert "SIGTERM, 90 s to save" in (tmp_path / "stdout").read_text()


@pytest.mark.parametrize("depth", ["", "notebooks/me"])
def test_the_next_session_goes_on_from_the_saves_of_the_first(tmp_path: Path, depth: str) -> None:
    saves = tmp_path / "input" / depth / "gpt-first" / "out"
    saves.mkdir(parents=True)
    (saves / "step-7.pt").write_text("7")
    code = "print('found', open('out/step-7.pt').read())"
    run(tmp_path, job(sys.executable, "-c", code, kernels=("me/gpt-first",)), {})
    assert (tmp_path / "working" / "output.log").read_text() == "found 7\n"


def test_secrets_come_from_the_kernel_and_stand_nowhere(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "kaggle_secrets.py").write_text(
        "class UserSecretsClient:\n    def get_secret(self, name):\n        return 'value of ' + name\n"
    )
    code = "import os; print(os.environ['HF_TOKEN'])"
    one = job(sys.executable, "-c", code, pass_env=("HF_TOKEN",))
    run(tmp_path, one, {})
    assert (tmp_path / "working" / "output.log").read_text() == "value of HF_TOKEN\n"


if __name__ == "__main__":
    for golden, content in written():
        golden.write_text(content, encoding="utf-8")
