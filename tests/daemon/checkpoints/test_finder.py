from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints import finder
from middlewatch.daemon.checkpoints.finder import CheckpointFinder
from middlewatch.daemon.checkpoints.followed import fingerprint_of
from middlewatch.daemon.config.save_folder import SaveFolder
from middlewatch.daemon.sources.far_scan import FolderSearch

LATER = 4e9
"""A look so late that every modification time is trusted."""


def found(finder: CheckpointFinder | FolderSearch, now: float = LATER) -> dict[str, str | None]:
    return {Path(path).name: place.kind for path, place in finder.scan(now).items()}


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_what_is_found_and_what_is_not(tmp_path: Path) -> None:
    for name in (
        "ckpt.pt",
        "optimizer.pt",
        "train.bin",
        "log.txt",
        "checkpoint-500/model.safetensors",
        "checkpoint-500/optimizer.pt",
        "checkpoint-500/training_args.bin",
        "step_7/lit_model.pth",
        "dist/.metadata",
        "runs/a/b/deep.pt",
        "runs/a/b/c/d/e/too_deep.pt",
        "wandb/model.pt",
        ".hidden/model.pt",
        "samples/step_5/picture.png",
        "model.pt.tmp",
    ):
        touch(tmp_path / name)
    assert found(CheckpointFinder([str(tmp_path)])) == {
        "ckpt.pt": None,
        "checkpoint-500": "hf",
        "step_7": "folder",
        "dist": "dcp",
        "deep.pt": None,
        "model.pt.tmp": None,
    }
    leftovers = [
        p.path for p in CheckpointFinder([str(tmp_path)]).scan(LATER).values() if p.leftover
    ]
    assert leftovers == [str(tmp_path / "model.pt.tmp")]


def test_changes_are_seen(tmp_path: Path) -> None:
    root = tmp_path / "later"
    followed = CheckpointFinder([str(root)])
    assert found(followed) == {}
    touch(root / "a.pt")
    assert found(followed) == {"a.pt": None}
    (root / "x").mkdir()
    touch(root / "x" / "b.pt")
    assert found(followed, LATER + 10) == {"a.pt": None, "b.pt": None}
    (root / "a.pt").unlink()
    (root / "x" / "b.pt").rename(root / "x" / "c.pt")
    assert found(followed, LATER + 20) == {"c.pt": None}
    touch(root / "x" / ".metadata")
    assert found(followed, LATER + 30) == {"x": "dcp"}


def test_a_name_that_comes_within_the_grain_of_the_clock_is_seen(tmp_path: Path) -> None:
    followed = CheckpointFinder([str(tmp_path)])
    touch(tmp_path / "a.pt")
    stamp = os.stat(tmp_path).st_mtime_ns
    now = stamp / 1e9
    assert found(followed, now) == {"a.pt": None}
    touch(tmp_path / "b.pt")
    os.utime(tmp_path, ns=(stamp, stamp))
    assert found(followed, now + 1) == {"a.pt": None, "b.pt": None}


def test_a_watched_folder_may_be_the_checkpoint_itself(tmp_path: Path) -> None:
    touch(tmp_path / "checkpoint-500" / "model.safetensors")
    touch(tmp_path / "20000" / "step_1.pt")
    assert found(CheckpointFinder([str(tmp_path / "checkpoint-500")])) == {"checkpoint-500": "hf"}
    assert found(CheckpointFinder([str(tmp_path / "20000") + "/"])) == {"20000": "folder"}


def test_links_inside_are_not_told_twice(tmp_path: Path) -> None:
    root = tmp_path / "out"
    touch(root / "step_1.pt")
    touch(tmp_path / "elsewhere" / "step_2.pt")
    (root / "last.pt").symlink_to("step_1.pt")
    (root / "loop").symlink_to(root)
    (root / "gone.pt").symlink_to("nowhere.pt")
    (root / "big").symlink_to(tmp_path / "elsewhere")
    assert found(CheckpointFinder([str(root), str(root)])) == {"step_1.pt": None, "step_2.pt": None}


def test_the_number_of_names_is_bounded_newest_folders_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "MOST_NAMES", 25)
    for age in range(6):
        for number in range(10):
            touch(tmp_path / f"run{age}" / f"step_{number}.pt")
        os.utime(tmp_path / f"run{age}", (1000 - age, 1000 - age))
    seen = CheckpointFinder([str(tmp_path)]).scan(LATER)
    assert {Path(p).parent.name for p in seen} == {"run0", "run1"}


def test_a_big_folder_is_not_listed_at_every_look(tmp_path: Path) -> None:
    for number in range(4000):
        touch(tmp_path / f"picture{number}.png")
    followed = CheckpointFinder([str(tmp_path)])
    assert found(followed, LATER) == {}
    touch(tmp_path / "a.pt")
    assert found(followed, LATER + 1) == {}
    assert found(followed, LATER + 2) == {"a.pt": None}


SCAN = """
import sys
from middlewatch.daemon.checkpoints.finder import CheckpointFinder
from middlewatch.daemon.config.save_folder import SaveFolder
try:
    CheckpointFinder([sys.argv[1]]).scan(0.0)
except PermissionError:
    print("refused")
"""


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Root may read everything unless it gives up the capability to: so does the child."""
    powers = "-dac_override,-dac_read_search"
    plain = ["setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}"]
    if os.geteuid() != 0:
        plain = []
    elif not shutil.which("setpriv"):
        pytest.skip("setpriv (util-linux) is not installed")
    folder = tmp_path / "out"
    folder.mkdir(mode=0)
    words = [*plain, sys.executable, "-c", SCAN, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_data_and_caches_beside_checkpoints_are_none(tmp_path: Path) -> None:
    for name in (
        "step_10.pt",
        "data/part_7.pt",
        "data/train/000001/x.pt",
        "data/ckpt/step_20.pt",
        "datasets/features_1.safetensors",
        "datasets/best.pt",
        "preprocess_cache/part_0.pt",
        "torchinductor_root/fx/graph.pt",
        "compile_cache/model_step_1.pt",
        "database/last.pt",
    ):
        touch(tmp_path / name)
    here = CheckpointFinder([str(tmp_path)]).scan(LATER)
    assert {str(Path(p).relative_to(tmp_path)) for p in here} == {
        "step_10.pt",
        "data/ckpt/step_20.pt",
        "datasets/best.pt",
        "database/last.pt",
    }


def test_a_watched_folder_may_be_called_data(tmp_path: Path) -> None:
    touch(tmp_path / "data" / "cache" / "part_7.pt")
    touch(tmp_path / "data" / "part_8.pt")
    assert found(CheckpointFinder([str(tmp_path / "data")])) == {"part_8.pt": None}


def test_of_a_shared_folder_only_known_names_count(tmp_path: Path) -> None:
    for name in (
        "net_1.pt",
        "net_2.pt",
        "other_1.pt",
        "net_3.pt.tmp",
        "state_1/model.pt",
        "x/a.pt",
    ):
        touch(tmp_path / name)
    shared = SaveFolder(str(tmp_path), "", whole=False, names=("net_#.pt", "state_#"))
    finder = FolderSearch([str(tmp_path)], learnt=[shared])
    assert found(finder).keys() == {"net_1.pt", "net_2.pt", "net_3.pt.tmp", "state_1"}
    finder.add(SaveFolder(str(tmp_path), "", whole=False, names=("=other_1.pt",)))
    assert "other_1.pt" in found(finder)
    finder.replace(SaveFolder(str(tmp_path), "", whole=False, names=("=net_1.pt",)))
    assert found(finder).keys() == {"net_1.pt"}
    finder.add(SaveFolder(str(tmp_path / "x"), ""))
    assert found(finder).keys() == {"net_1.pt", "a.pt"}


def test_names_that_nothing_else_shows_count_in_a_folder(tmp_path: Path) -> None:
    for name in ("step_1.pt", "7.blob", "notes.txt"):
        touch(tmp_path / name)
    finder = FolderSearch([str(tmp_path)])
    assert found(finder).keys() == {"step_1.pt"}
    finder.add(SaveFolder(str(tmp_path), "", names=("#.blob",)))
    assert found(finder).keys() == {"step_1.pt", "7.blob"}


def test_the_folder_of_a_job_with_a_number_is_no_checkpoint(tmp_path: Path) -> None:
    touch(tmp_path / "123456/checkpoints/last.ckpt")
    touch(tmp_path / "20000/model.pt")
    assert found(CheckpointFinder([str(tmp_path)])) == {"last.ckpt": None, "20000": "folder"}


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("adapter-50", ("adapter_config.json", "adapter_model.safetensors")),
        ("german/v2", ("adapter_config.json", "adapter_model.safetensors", "README.md")),
        ("model-best", ("meta.json", "config.cfg", "vocab/strings.json", "textcat/model")),
    ],
)
def test_a_folder_is_a_model_by_what_lies_in_it(
    tmp_path: Path, folder: str, files: tuple[str, ...]
) -> None:
    for name in files:
        (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_bytes(b"x")
    found = CheckpointFinder([str(tmp_path)]).scan_all()
    assert list(found) == [str(tmp_path / folder)]
    assert fingerprint_of(found[str(tmp_path / folder)]).weights
