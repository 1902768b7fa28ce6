"""Where a run saves is found by what it does: real programs, each saving in another way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.finder import CheckpointFinder
from middlewatch.daemon.config.save_folder import SaveFolder
from middlewatch.daemon.sources.save_search import Search
from middlewatch.daemon.system.processes import Processes

SAVING = """
import json, os, struct, sys, time

def weights(*names):
    entries, at = {}, 0
    for name in names or ("layer.weight", "layer.bias"):
        entries[name] = {"dtype": "F32", "shape": [256], "data_offsets": [at, at + 1024]}
        at += 1024
    head = json.dumps(entries).encode()
    return struct.pack("<Q", len(head)) + head + b"\\1\\2\\3\\4" * (at // 4)

def save(path, data=None):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "wb") as file:
        file.write(data or weights())
    os.replace(path + ".tmp", path)
"""


class Run:
    """A program that saves, and stays until the test is over."""

    def __init__(self, folder: Path, code: str, *args: str, name: str = "train.py", **env: str):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(
            SAVING + code + "\nprint('ready', flush=True)\ntime.sleep(600)\n"
        )
        self.folder = folder
        self.child = subprocess.Popen(
            [sys.executable, name, *args],
            cwd=folder,
            stdout=subprocess.PIPE,
            env={**os.environ, **env},
        )
        assert self.child.stdout is not None
        assert self.child.stdout.readline() == b"ready\n"
        self.process = Processes()[self.child.pid]

    def question(self, **more: Any) -> dict[str, Any]:
        return {
            "pids": [[self.child.pid, self.process.start_ticks]],
            "cwd": str(self.folder),
            "started_at": self.process.started_at,
            **more,
        }

    def saves(self, **more: Any) -> list[str]:
        """Paths of the checkpoints in the folders that are found, from the working directory."""
        found = Search(self.question(**more)).look()
        return [os.path.relpath(p, self.folder) for p in _in(found)]

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        assert self.child.stdout is not None
        self.child.stdout.close()


def _in(folders: list[SaveFolder]) -> list[str]:
    finder = CheckpointFinder([f.path for f in folders], folders)
    return sorted(finder.scan(time.time()))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def begin(code: str, *args: str, folder: str = "work", **more: str) -> Run:
        runs.append(Run(tmp_path / folder, code, *args, **more))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


@pytest.mark.parametrize(
    ("code", "saves"),
    [
        (
            'save("ckpts/step_1.pt"); save("ckpts/step_2.pt")',
            ["ckpts/step_1.pt", "ckpts/step_2.pt"],
        ),
        (
            'save("outputs/2026-01-02/03-04-05/checkpoints/last.ckpt")',
            ["outputs/2026-01-02/03-04-05/checkpoints/last.ckpt"],
        ),
        (
            'save("lightning_logs/version_0/checkpoints/epoch=1-step=20.ckpt")',
            ["lightning_logs/version_0/checkpoints/epoch=1-step=20.ckpt"],
        ),
        (
            'save("results/checkpoint-50/model.safetensors"); save("results/checkpoint-50/optimizer.pt")',
            ["results/checkpoint-50"],
        ),
        (
            'save("state_3/model.safetensors"); save("state_3/random_states_0.pkl", b"x")',
            ["state_3"],
        ),
        ('save("weights_ep3.bin")', ["weights_ep3.bin"]),
        ('save("best.pt"); save("best.pt")', ["best.pt"]),
        ('save("animals.pt")', ["animals.pt"]),
        ('save("dump.0003")', ["dump.0003"]),
        ('save("runs/x/net_e1.dat")', ["runs/x/net_e1.dat"]),
        ('save("sales.keras", b"PK not read")', ["sales.keras"]),
        ('save("runs/20260102-0304/tour_20.ubj", b"{L" * 99)', ["runs/20260102-0304/tour_20.ubj"]),
    ],
)
def test_saves_below_the_working_directory(
    start: Callable[..., Run], code: str, saves: list[str]
) -> None:
    assert start(code).saves() == saves


@pytest.mark.parametrize(
    "code",
    [
        'save("data/part_1.pt", weights("0", "1"))',
        'save("shards/shard_0001.pt", weights("images", "labels"))',
        'save("images.pt", weights("tensor"))',
        'save("wandb/run-1/files/model.pt")',
        'save(".cache/huggingface/model.safetensors")',
        'save("hub/checkpoints/resnet18.pth")',
        'save("base/models--org--net/snapshots/1/model.safetensors")',
        'save("base/model.safetensors"); save("base/.cache/huggingface/download/x", b"1")',
        'save("venv/pyvenv.cfg", b"1"); save("venv/model.pt")',
        'save("torchinductor_me/x/model.pt")',
        'save("train.log", b"x" * 4000); save("metrics.json", b"{}")',
        'save("tokens.bin", b"12345678" * 1000)',
        'save("last.pt.tmp", b"")',
    ],
)
def test_what_is_no_save_of_the_run(start: Callable[..., Run], code: str) -> None:
    assert start(code).saves() == []


def test_what_was_there_before_is_only_read(start: Callable[..., Run], tmp_path: Path) -> None:
    old = tmp_path / "work/pretrained/model.safetensors"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"1" * 3000)
    os.utime(old, (1e9, 1e9))
    run = start('held = open("pretrained/model.safetensors", "rb"); save("new/model.pt")')
    assert run.saves() == ["new/model.pt"]


def test_in_the_working_directory_only_names_of_saves_that_were_seen_count(
    start: Callable[..., Run],
) -> None:
    run = start('save("net_1.pt"); save("net_2.pt"); save("images_1.pt", weights("images"))')
    found = Search(run.question()).look()
    assert [(f.path, f.whole, f.names) for f in found] == [(str(run.folder), False, ("net_#.pt",))]
    shutil.copy(run.folder / "net_1.pt", run.folder / "net_3.pt")
    shutil.copy(run.folder / "net_1.pt", run.folder / "net_4.pt.tmp")
    assert [Path(p).name for p in _in(found)] == [
        "net_1.pt",
        "net_2.pt",
        "net_3.pt",
        "net_4.pt.tmp",
    ]
    known = [{"path": f.path, "whole": f.whole, "names": f.names} for f in found]
    assert Search(run.question(known=known)).look() == []


def test_a_path_that_only_the_log_names(start: Callable[..., Run], tmp_path: Path) -> None:
    far = tmp_path / "far/away"
    run = start(f'save("{far}/x.state"); save("{far}/old.state")')
    os.utime(far / "old.state", (1e9, 1e9))
    claim = {"path": f"{far}/x.state", "text": f"Saved to {far}/x.state"}
    assert run.saves() == []
    found = Search(run.question(claims=[claim])).look()
    assert [(f.path, f.names) for f in found] == [(str(far), ("x.state",))]
    assert found[0].why == f"the log says 'Saved to {far}/x.state'"
    assert _in(found) == [f"{far}/x.state"]


def test_a_claimed_folder_and_a_relative_path(start: Callable[..., Run], tmp_path: Path) -> None:
    far = tmp_path / "far"
    run = start(f'save("{far}/final/model.safetensors"); save("{far}/checkpoint-5/model.pt")')
    claims = [{"path": f"../far/{name}", "text": ""} for name in ("final", "checkpoint-5", "gone")]
    assert run.saves(claims=claims) == ["../far/checkpoint-5", "../far/final/model.safetensors"]


def test_a_path_that_is_only_open(start: Callable[..., Run], tmp_path: Path) -> None:
    far = tmp_path / "far"
    code = f'''
os.makedirs("{far}"); held = open("{far}/model.pt", "wb"); held.write(weights() * 1000); held.flush()
data = open("{tmp_path}/data.bin", "wb"); data.write(b"1" * 4000000); data.flush()'''
    found = Search(start(code).question()).look()
    assert _in(found) == [f"{far}/model.pt"]
    assert found[0].why.startswith("process ")
    assert found[0].why.endswith(f" writes {far}/model.pt")


def test_a_path_that_was_open_a_moment_ago(start: Callable[..., Run], tmp_path: Path) -> None:
    run = start(f'save("{tmp_path}/far/model.pt")')
    assert run.saves() == []
    writing = [[run.child.pid, f"{tmp_path}/far/model.pt"]]
    assert run.saves(writing=writing) == ["../far/model.pt"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conf.yaml", "model: x\ntrainer:\n  output_dir: {far}  # where\n"),
        ("conf.json", '{{"lr": 1, "args": {{"output_dir": "{far}"}}}}'),
        ("conf.toml", 'lr = 1\n[run]\nsave_dir = "{far}"\n'),
    ],
)
def test_settings_that_the_program_was_given(
    start: Callable[..., Run], tmp_path: Path, name: str, text: str
) -> None:
    far = tmp_path / "far"
    (tmp_path / name).write_text(text.format(far=far))
    code = f'save("{far}/checkpoint-50/model.safetensors")'
    assert start(code).saves() == []
    run = start(code, "--config", str(tmp_path / name))
    found = Search(run.question()).look()
    assert _in(found) == [f"{far}/checkpoint-50"]
    assert f"{name} says " in found[0].why


def test_our_own_copies_are_no_saves_of_the_run(start: Callable[..., Run]) -> None:
    run = start('save("ckpt/last.pt"); save("mirror/gpt/last.pt")')
    assert run.saves(never=[str(run.folder / "mirror")]) == ["ckpt/last.pt"]


def test_a_folder_of_the_environment(start: Callable[..., Run], tmp_path: Path) -> None:
    run = start(f'save("{tmp_path}/far/last.pt")', OUTPUT_DIR=str(tmp_path / "far"))
    assert run.saves() == ["../far/last.pt"]


def test_an_option_counts_before_anything_is_saved(start: Callable[..., Run]) -> None:
    run = start("pass", "--output_dir", "later")
    found = Search(run.question()).look()
    assert [(f.path, f.whole) for f in found] == [(str(run.folder / "later"), True)]
    assert found[0].why == f"the command line names {run.folder}/later"


BESIDE = "name = sys.argv[1]; save(name + '_best.pt'); save(f'out_{name}/step_1.pt')"


def other(run: Run) -> dict[str, Any]:
    return {**run.question(), "dirs": [], "claims": []}


def test_two_runs_in_one_folder_with_different_programs(start: Callable[..., Run]) -> None:
    one = start('save("encoder_1.pt"); save("ckpt/enc_1.pt")', name="one.py")
    two = start('save("decoder_1.pt"); save("ckpt/dec_1.pt")', name="two.py")
    for others in ([], [other(two)]):
        assert one.saves(others=others) == ["ckpt/enc_1.pt", "encoder_1.pt"]
    assert two.saves(others=[other(one)]) == ["ckpt/dec_1.pt", "decoder_1.pt"]


def test_two_runs_in_one_folder_with_different_options(start: Callable[..., Run]) -> None:
    one, two = start(BESIDE, "lion"), start(BESIDE, "bear")
    assert one.saves() == ["lion_best.pt", "out_lion/step_1.pt"]
    search = Search(two.question())
    assert len(search.look()) == 2
    assert search.unclear == []
    assert two.saves() == ["bear_best.pt", "out_bear/step_1.pt"]


def test_whose_it_is_is_not_guessed(start: Callable[..., Run]) -> None:
    code = 'save("best.pt")'
    one, two = start(code), start(code)
    search = Search(one.question(others=[other(two)]))
    assert search.look() == []
    assert search.unclear == [str(one.folder / "best.pt")]
    claim = {"path": "best.pt", "text": "saved best.pt"}
    assert one.saves(claims=[claim], others=[other(two)]) == ["best.pt"]
    assert two.saves(others=[{**other(one), "claims": [claim]}]) == []


def test_the_folder_in_which_a_run_has_its_log_open_is_its_own(start: Callable[..., Run]) -> None:
    code = """
home = f"outputs/{os.getpid()}"
save(f"{home}/checkpoints/last.ckpt")
log = open(f"{home}/train.log", "w"); log.write("x"); log.flush()"""
    one, two = start(code), start(code)
    assert one.saves() == [f"outputs/{one.child.pid}/checkpoints/last.ckpt"]
    assert two.saves(others=[other(one)]) == [f"outputs/{two.child.pid}/checkpoints/last.ckpt"]


def test_an_ended_run_is_told_apart_by_its_command(start: Callable[..., Run]) -> None:
    one, two = start(BESIDE, "lion"), start(BESIDE, "bear")
    one.close()
    assert one.saves(command=["python", "train.py", "lion"]) == [
        "lion_best.pt",
        "out_lion/step_1.pt",
    ]
    assert two.saves() == [
        "bear_best.pt",
        "lion_best.pt",
        "out_bear/step_1.pt",
        "out_lion/step_1.pt",
    ]


def test_an_ended_run_is_still_looked_after(start: Callable[..., Run]) -> None:
    run = start('save("late/step_9.pt")')
    run.close()
    claim = {"path": "late/step_9.pt", "text": "saved"}
    assert run.saves(claims=[claim]) == ["late/step_9.pt"]
    assert run.saves() == ["late/step_9.pt"]


def test_one_look_is_bounded(start: Callable[..., Run], tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"work/many/f{number}").mkdir(parents=True)
    run = start('save("many/f7/step_1.pt"); save("step_2.pt")')
    assert run.saves() == ["many/f7/step_1.pt", "step_2.pt"]
