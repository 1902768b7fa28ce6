"""What ``middlewatch new`` writes: golden files, precision by the card, and what it refuses.

After a change that is meant: ``python -m tests.daemon.new.test_new_project --write`` from the root of the
project.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli import arguments_new
from middlewatch.daemon.jobs import read
from middlewatch.daemon.new import precision, templates, toy
from middlewatch.daemon.new.project import FILES, Project, files
from middlewatch.daemon.new.sizes import SIZES

GOLDEN = Path(__file__).with_name("golden")
WRITE = "python -m tests.daemon.new.test_new_project --write"


def asked(framework: str, **more: Any) -> Project:
    """A toy of 20 steps for a processor, if nothing else is said."""
    plain = Project(
        framework=framework,
        folder="/projects/sums",
        size_name="tiny",
        size=SIZES["tiny"].of_steps(20),
        precision="auto",
        out="/projects/sums/out",
    )
    return dataclasses.replace(plain, **more)


CASES = {f"{name}-toy": asked(name) for name in FILES} | {
    f"{name}-8-gpus": asked(
        name,
        size_name="base",
        size=SIZES["base"],
        precision="bf16",
        card="NVIDIA A100-SXM4-80GB (8.0)",
        gpus=8,
        data="/data/all the books/书.txt",
        out="/saves/gpt",
        checkout="/src/nanoGPT" if name == "nanogpt" else "",
        seed=7,
    )
    for name in FILES
}


def golden(case: str) -> dict[str, str]:
    """The files that are kept; the toy text has a test of its own."""
    made = files(CASES[case])
    made.pop("toy.txt", None)
    return made


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_files_are_these(case: str) -> None:
    kept = {p.name.removesuffix(".golden"): p for p in (GOLDEN / case).iterdir()}
    made = golden(case)
    assert set(kept) == set(made), f"after a change that is meant: {WRITE}"
    for name, path in kept.items():
        assert made[name] == path.read_text(encoding="utf-8"), f"{case}/{name}: {WRITE}"


@pytest.mark.parametrize("case", sorted(CASES))
def test_every_file_can_be_read_by_its_program(case: str, tmp_path: Path) -> None:
    made = golden(case)
    for name, text in made.items():
        assert "<<" not in text, name
        if name.endswith(".py"):
            compile(text, name, "exec")
        elif name.endswith(".json"):
            assert json.loads(text)["lr_scheduler_type"] == "cosine_with_min_lr"
        elif name.endswith(".sh"):
            done = subprocess.run(["bash", "-n"], input=text.encode(), check=False)
            assert done.returncode == 0, name
    job = read.parse(made["job.toml"], str(tmp_path / "job.toml"))
    assert job.labels == {"model": f"gpt-{CASES[case].size_name}", "framework": case.split("-")[0]}
    assert job.main.gpus == CASES[case].gpus
    assert job.main.launcher == ("torchrun" if job.main.gpus > 1 else "none")


def test_what_is_written_is_clean() -> None:
    """By the same checks as our own code, but those for the docstrings and types of a library."""
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if ruff is None:
        pytest.skip("ruff is not installed")
    words = [ruff, "check", "--isolated", "--select", "B,E,F,PIE,RET,RUF,SIM"]
    words += ["--ignore", "E402,E501,F821,RUF012,SIM115"]
    for case in CASES:
        for name, text in golden(case).items():
            if name.endswith(".py"):
                done = subprocess.run(
                    [*words, "-"],
                    input=text.encode(),
                    capture_output=True,
                    check=False,
                )
                assert done.returncode == 0, f"{case}/{name}: {done.stdout.decode()}"


def test_a_yaml_holds_numbers() -> None:
    yaml = pytest.importorskip("yaml")
    size = dataclasses.replace(SIZES["tiny"], lr=1e-5)
    text = files(asked("litgpt", size=size))["pretrain.yaml"]
    settings = yaml.safe_load(text)
    assert settings["optimizer"]["init_args"]["lr"] == 1e-5
    assert settings["train"]["min_lr"] == 1e-6
    assert settings["resume"] == "auto"


def test_the_toy_text() -> None:
    lines = toy.text().splitlines()
    assert len(set(lines)) == toy.MOST**2
    for line in lines:
        left, _, total = line.partition(" = ")
        a, b = map(int, left.split(" + "))
        assert a + b == int(total)
        assert max(a, b) < toy.MOST


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ([], "auto"),
        (["8.0"], "bf16"),
        (["9.0", "12.0"], "bf16"),
        (["7.5"], "fp16"),
        (["10.0", "7.0"], "fp16"),
        (["9.0", ""], "auto"),
    ],
)
def test_the_precision_of_cards(capabilities: list[str], expected: str) -> None:
    assert precision.of_cards(capabilities) == expected


def test_a_place_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        templates.filled("common/train.sh", {})


@pytest.mark.parametrize("path", ["a\nb", "a\x1b[31m", "a\x00"])
def test_a_path_that_could_leave_its_line(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be printed"):
        files(asked("lightning", data=f"/data/{path}"))


@pytest.mark.parametrize("framework", sorted(FILES))
def test_the_shell_gets_paths_as_they_are(framework: str, tmp_path: Path) -> None:
    """A name full of what a shell would obey; its Python is a program that shows its words."""
    folder = tmp_path / "it's $(touch gone) `x` 书"
    checkout = folder / "nano 'GPT'"
    checkout.mkdir(parents=True)
    (checkout / "train.py").write_text("")
    made = files(
        asked(
            framework,
            folder=str(folder),
            out=str(folder / "out"),
            checkout=str(checkout) if framework == "nanogpt" else "",
        )
    )
    (folder / "train.sh").write_text(made["train.sh"], encoding="utf-8")
    show = tmp_path / "show"
    show.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\n')
    show.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k != "NANOGPT"} | {"PYTHON": str(show)}
    words = ["bash", str(folder / "train.sh"), "--more=$HOME"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True, cwd="/")
    where, *rest = done.stdout.splitlines()
    if framework == "nanogpt":
        assert where == str(checkout)
        assert rest == ["train.py", str(folder / "config.py"), "--more=$HOME"]
    else:
        assert where == str(folder)
        assert rest == ["train.py", "--more=$HOME"]
    assert not list(tmp_path.rglob("gone"))


def test_a_short_training_saves_and_warms_up_within_it() -> None:
    for size in SIZES.values():
        for steps in (1, 7, 20, 1000):
            short = size.of_steps(steps)
            assert short.steps == steps
            assert 1 <= short.save_every <= max(1, steps)
            assert 1 <= short.warmup <= max(1, steps // 10) or short.warmup == size.warmup
    assert math.isclose(SIZES["base"].params(50304), 124e6, rel_tol=0.01)


# ------------------------------------------------------------------------------ the command


@pytest.fixture
def new(tmp_path: Path) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """The command in a process: exit code, JSON, stderr."""

    def run(*words: str, **env: str) -> tuple[int, dict[str, Any], str]:
        command = [sys.executable, "-m", "middlewatch.daemon", "new", *words, "--json"]
        done = subprocess.run(
            command,
            env=os.environ | env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    return run


def board(number: int, name: str, capability: str) -> str:
    uuid = f"GPU-00000000-0000-4000-8000-00000000000{number}"
    more = f"cc = {capability}\n" if capability else ""
    return f"[gpu {number}]\nname = {name}\nuuid = {uuid}\nutil_gpu = 0\n{more}"


@pytest.mark.parametrize(
    ("boards", "expected"),
    [
        ([("NVIDIA A100-SXM4-80GB", "8.0")], "bf16"),
        ([("NVIDIA H100 80GB HBM3", "9.0"), ("Tesla T4", "7.5")], "fp16"),
        ([("Tesla V100-SXM2-16GB", "7.0")], "fp16"),
        ([("a card of tomorrow", "")], "auto"),
    ],
)
def test_the_precision_follows_the_card_that_nvml_shows(
    boards: list[tuple[str, str]],
    expected: str,
    nvml_double: Any,
    new: Callable[..., Any],
    tmp_path: Path,
) -> None:
    text = "".join(board(n, *one) for n, one in enumerate(boards))
    nvml_double.scenario(f"driver_version = 550.54.15\n{text}")
    for framework in FILES:
        status, told, error = new(framework, framework, "--toy", **nvml_double.env)
        assert status == 0, error
        assert (told["precision"], told["gpus"]) == (expected, 1)
        for name, _ in boards:
            assert name in told["card"]
        where = {"hf": "config.json", "nanogpt": "config.py"}.get(framework, "train.py")
        written = (tmp_path / framework / where).read_text(encoding="utf-8")
        form = r'^(?:precision = "|PRECISION = "|  "precision": ").*'
        (line,) = re.findall(form, written, re.MULTILINE)
        assert f'"{expected}"' in line
        assert read.read(tmp_path / framework / "job.toml").main.gpus == 1


def test_it_replaces_nothing_unless_it_is_told_to(new: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "train.sh").write_text("mine")
    (folder / "other").write_text("mine")
    status, _, error = new("hf", "p", "--toy")
    assert status == 4
    assert "train.sh" in error
    assert "--force" in error
    assert sorted(p.name for p in folder.iterdir()) == ["other", "train.sh"]
    status, told, error = new("hf", "p", "--toy", "--force")
    assert status == 0, error
    assert (folder / "other").read_text() == "mine"
    assert {p.name for p in folder.iterdir()} == {"other", *told["files"]}
    assert (folder / "train.sh").stat().st_mode & stat.S_IXUSR
    assert not (folder / "train.py").stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hf", "p"), "--data"),
        (("hf", "p", "--toy", "--data", "x"), "not allowed"),
        (("hf", "p", "--data", "absent.txt"), "cannot read"),
        (("hf", "p", "--data", "short.txt"), "too few"),
        (("hf", "p", "--toy", "--steps", "0"), "--steps 0"),
        (("hf", "p", "--toy", "--gpus", "-1"), "--gpus -1"),
        (("hf", "p", "--toy", "--checkout", "x"), "for nanogpt"),
        (("hf", "short.txt", "--toy"), "cannot write"),
        (("jax", "p", "--toy"), "jax"),
        (("hf", "a\nb", "--toy", "--out", "c\nd"), "cannot be printed"),
    ],
)
def test_what_cannot_be_done(
    words: tuple[str, ...], said: str, new: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "short.txt").write_text("too short")
    status, told, error = new(*words)
    assert (status, told) == (2, {})
    assert said in error
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".scenario"] == ["short.txt"]


def test_a_text_of_ones_own(new: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "书.txt").write_text("天地玄黃宇宙洪荒\n" * 1000, encoding="utf-8")
    status, told, error = new("lightning", "p", "--data", "书.txt", "--out", "saves", "--gpus", "2")
    assert status == 0, error
    assert "toy.txt" not in told["files"]
    script = (tmp_path / "p" / "train.py").read_text(encoding="utf-8")
    assert f'DATA = HERE / "{tmp_path / "书.txt"}"' in script
    job = read.read(tmp_path / "p" / "job.toml").main
    assert (job.checkpoints, job.launcher, job.gpus) == (str(tmp_path / "saves"), "torchrun", 2)


def test_launch_takes_the_job(new: Callable[..., Any], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "middlewatch.daemon", "launch", "--print"]
    for framework in FILES:
        assert new(framework, framework, "--toy")[0] == 0
        done = subprocess.run(
            [*command, str(tmp_path / framework / "job.toml")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "bash train.sh" in done.stdout


def test_the_command_offers_what_there_is() -> None:
    assert set(arguments_new.FRAMEWORKS) == set(FILES)
    assert set(arguments_new.SIZES) == set(SIZES)


def main() -> int:
    if sys.argv[1:] != ["--write"]:
        print(f"usage: {WRITE}", file=sys.stderr)
        return 2
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for case in CASES:
        (GOLDEN / case).mkdir(parents=True)
        for name, text in golden(case).items():
            (GOLDEN / case / f"{name}.golden").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
