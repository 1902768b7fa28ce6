"""``pull`` over a real sshd by a real rsync: what comes home is what the box has, or there is no receipt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ...fakes.far_box import NAME
from .conftest import Far, contents, weights

pytestmark = [pytest.mark.system, pytest.mark.slow]


def test_a_finished_run_comes_home_proved(far: Far) -> None:
    spec = far.finished()
    told = far.pull(f"{NAME}:gpt")
    assert told["status"] == 0, told
    home = far.dest / spec.id
    assert contents(home / "checkpoints" / "out") == contents(Path(spec.checkpoint_dirs[0]))
    assert (home / "logs" / "train.log").read_bytes() == Path(spec.logs[0]).read_bytes()
    receipt = far.receipt()
    assert receipt is not None
    entry = receipt["runs"][spec.id]
    assert [c["step"] for c in entry["checkpoints"]] == [100, 200, 300]
    assert {c["state"] for c in entry["checkpoints"]} == {"ok"}
    assert entry["metrics"][0]["last_step"] == 300
    assert entry["metrics"][0]["metrics"] == 300
    every = sum(len(data) for data in contents(home).values())
    names = ("history.json", ".middlewatch-pull.json", "checkpoints_index.json")
    own = sum((home / name).stat().st_size for name in names)
    assert entry["bytes_read"] == entry["bytes"] == every - own, "the proof reads each byte once"


def test_a_second_pull_brings_only_what_is_new(far: Far) -> None:
    spec = far.finished()
    assert far.pull()["status"] == 0
    out = Path(spec.checkpoint_dirs[0])
    kept = (far.dest / spec.id / "checkpoints/out/step-000100.safetensors").stat().st_ino
    (out / "step-000400.safetensors").write_bytes(weights(0.25))
    (out / "step-000200.safetensors").unlink()  # the trainer keeps the newest only
    far.index(spec)
    told = far.pull()
    assert told["status"] == 0, told
    saves = {c["step"]: c["gone_from_box"] for c in told["runs"][0]["checkpoints"]}
    assert saves == {100: False, 200: True, 300: False, 400: False}
    assert (far.dest / spec.id / "checkpoints/out/step-000100.safetensors").stat().st_ino == kept


def test_nothing_there_is_no_success(far: Far) -> None:
    done = far.at_home("pull", NAME, str(far.dest))
    assert done.returncode == 1
    assert "nothing to bring home" in done.stderr
    assert far.receipt() is None


def test_a_box_that_does_not_answer_is_told(far: Far) -> None:
    far.box.close()
    done = far.at_home("pull", NAME, str(far.dest))
    assert done.returncode == 3
    assert f"{NAME} is not reached" in done.stderr
    assert far.receipt() is None


def test_a_file_of_nobody_is_no_proof(far: Far) -> None:
    spec = far.finished()
    assert far.pull()["status"] == 0
    stray = far.dest / spec.id / "checkpoints/out/step-000999.safetensors"
    stray.write_bytes(weights(0.5))
    told = far.pull()
    assert told["status"] == 1
    assert told["runs"][0]["wrong"] == [
        {
            "name": "checkpoints/out/step-000999.safetensors",
            "why": "it is no file of this run: move it away",
        }
    ]
    assert far.receipt() is None, "the receipt of the first time is taken back"


def test_results_of_another_box_are_not_mixed(far: Far) -> None:
    far.finished()
    assert far.pull()["status"] == 0
    path = far.dest / "PULL_VERIFIED.json"
    path.write_text(path.read_text().replace('"id": "', '"id": "f', 1))
    done = far.at_home("pull", NAME, str(far.dest))
    assert done.returncode == 2
    assert "another box" in done.stderr


def test_a_damaged_checkpoint_comes_home_as_it_is_and_is_told(far: Far) -> None:
    spec = far.finished()
    path = Path(spec.checkpoint_dirs[0], "step-000200.safetensors")
    path.write_bytes(path.read_bytes()[:-40])
    far.index(spec)
    told = far.pull()
    assert told["status"] == 1
    one = told["runs"][0]
    assert [c["step"] for c in one["checkpoints"]] == [100, 300]
    assert [Path(c["name"]).name for c in one["damaged"]] == [path.name]
    assert one["receipt"] is not None


def test_links_and_odd_names_stay(far: Far) -> None:
    spec = far.finished()
    out = Path(spec.checkpoint_dirs[0])
    (out / "passwd").symlink_to("/etc/passwd")
    (out / "two\nlines").write_text("x")
    os.mkfifo(out / "pipe")
    told = far.pull()
    assert told["status"] == 0, told
    why = {Path(one["path"]).name: one["why"] for one in told["runs"][0]["left_out"]}
    assert set(why) == {"passwd", "two\nlines", "pipe"}
    assert "links are not followed" in why["passwd"]
    assert not (far.dest / spec.id / "checkpoints/out/passwd").exists()
