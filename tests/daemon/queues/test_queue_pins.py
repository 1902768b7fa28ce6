"""Scripts as they were when a cell was queued; gates; cells that can be compared."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from middlewatch.daemon.queues import gates, pins
from middlewatch.daemon.queues.alike import settings_of, warnings
from middlewatch.daemon.queues.cells import parse
from middlewatch.daemon.queues.roster import QueueState
from middlewatch.daemon.system.clock import SystemClock

TRAIN = """\
import sys, model, pathlib, pkg.part
print(model.NAME, pkg.part.NAME, pathlib.Path(sys.argv[1].partition("=")[2]).read_text().strip())
"""


def test_the_copy_runs_as_the_script_did(tmp_path: Path) -> None:
    here = tmp_path / "code"
    (here / "pkg").mkdir(parents=True)
    (here / "conf").mkdir()
    (here / "train.py").write_text(TRAIN)
    (here / "model.py").write_text("NAME = 'old model'\n")
    (here / "pkg" / "part.py").write_text("NAME = 'part'\n")
    (here / "conf" / "a.yaml").write_text("old config\n")
    (here / "data.bin").write_bytes(b"x" * 100)
    words = [sys.executable, "train.py", "--config=conf/a.yaml", "data.bin"]
    name, files = pins.pin(words, str(here), tmp_path)
    assert sorted(os.path.basename(one) for one in files) == ["a.yaml", "model.py", "train.py"]
    assert pins.changed(files) == []
    assert pins.pin(words, str(here), tmp_path) == (name, files)
    (here / "train.py").write_text("raise SystemExit('new script')\n")
    (here / "model.py").write_text("NAME = 'new model'\n")
    (here / "conf" / "a.yaml").unlink()
    assert len(pins.changed(files)) == 3
    made, folders = pins.from_copies(words, str(here), files, tmp_path / name)
    assert folders == [str(here)]
    assert made[0] == sys.executable
    assert made[3] == "data.bin"
    env = {**os.environ, "PYTHONPATH": str(here)}
    done = subprocess.run(made, cwd=here, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "old model part old config\n", done.stderr


def test_nothing_named_is_nothing_pinned(tmp_path: Path) -> None:
    assert pins.pin(["sh", "-c", "true", "a.py"], str(tmp_path), tmp_path) == ("", {})


def test_a_file_is_there_when_it_is_left_alone(tmp_path: Path) -> None:
    now = time.time()
    file, folder = tmp_path / "final.pt", tmp_path / "folder"
    folder.mkdir()
    assert not gates.there(str(file), now)
    file.touch()
    os.utime(file, (now - 60, now - 60))
    assert not gates.there(str(file), now), "an empty one is no artefact"
    file.write_bytes(b"x")
    assert not gates.there(str(file), now), "it is being written"
    os.utime(file, (now - 60, now - 60))
    assert gates.there(str(file), now)
    os.utime(folder, (now - 60, now - 60))
    assert not gates.there(str(folder), now)
    (folder / "part").write_bytes(b"x")
    os.utime(folder, (now - 60, now - 60))
    assert not gates.there(str(folder), now)
    os.utime(folder / "part", (now - 60, now - 60))
    os.utime(folder, (now - 60, now - 60))
    assert gates.there(str(folder), now)


def test_a_cell_comes_after_what_finished_and_never_after_what_failed() -> None:
    file = parse("a: x\nb: @after=cell:a x", "/q.txt")
    look = gates.Gates(SystemClock())
    roster = QueueState()
    base = {"at": 1.0, "digest": "d", "words": [], "dir": "/d", "line": 1, "pins": ""}
    roster.take([{"t": "cell", "cell": "a", **base}])
    assert look.closed(file.cells[1], roster.cells) == ("the end of a", False)
    roster.take([{"t": "failed", "at": 2.0, "cell": "a", "how": "no"}])
    assert look.closed(file.cells[1], roster.cells) == ("a, which failed", True)
    roster.cells["a"].standing = "finished"
    assert look.closed(file.cells[1], roster.cells) == ("", False)
    assert look.closed(file.cells[0], roster.cells) == ("", False)


def test_a_gate_on_a_good_save_asks_the_verifier(tmp_path: Path) -> None:
    import zipfile

    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    with zipfile.ZipFile(good, "w") as archive:
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
        body = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head.ljust(117).encode() + b"\n"
        archive.writestr("w.npy", body + b"\0" * 16)
    bad.write_bytes(good.read_bytes()[:-40])
    before = time.time() - 60
    for path in (good, bad):
        os.utime(path, (before, before))
    file = parse(f"a: @after=good:{good} x\nb: @after=good:{bad} x", "/q.txt")
    look = gates.Gates(SystemClock())
    deadline = time.monotonic() + 180
    while look.closed(file.cells[0], {})[0]:
        assert time.monotonic() < deadline, "the good save was never called good"
        time.sleep(0.05)
    assert "good save" in look.closed(file.cells[1], {})[0]
    asked = look._asked[str(bad)]
    assert asked.wait(timeout=180) == 1
    assert "good save" in look.closed(file.cells[1], {})[0]


def test_batch_and_workers_are_found_in_words_and_files() -> None:
    assert settings_of(["train.py", "--batch-size", "32", "--num_workers=4"]) == {
        "batch": "32",
        "workers": "4",
    }
    assert settings_of(["train.py", "data.batch_size=8", "trainer/dataloader_num_workers=2"]) == {
        "batch": "8",
        "workers": "2",
    }
    yaml = "model: x\ntrain:\n  per_device_train_batch_size: 16  # fits\nworkers: 2\n"
    assert settings_of(["--bs=4"], [yaml]) == {"batch": "4", "workers": "2"}
    assert settings_of(["train.py", "--batches", "3", "--lr", "1"]) == {}


def test_cells_that_cannot_be_compared_are_told() -> None:
    text = """\
a: python train.py --batch-size 32 --num-workers 4
b: python train.py --batch-size 64 --num-workers 4
c: python train.py --num-workers auto
d: python other.py --batch-size 1
"""
    said = warnings(parse(text, "/q.txt").cells, {}, False)
    assert [line.partition(" ")[0] for line in said] == ["batch", "workers", "workers"]
    assert "a has 32, b has 64, c has none of its own" in said[0]
    assert "depends on the box" in said[2]
    same = "a: python t.py --bs 1\nb: python t.py --bs 1 --lr 2"
    assert warnings(parse(same, "/q.txt").cells, {}, True) == []


def test_ranks_of_two_cells_at_once_would_meet() -> None:
    text = "a: torchrun --nproc-per-node 1 t.py\nb: torchrun --nproc-per-node 1 t.py --lr 1"
    assert "same port" in warnings(parse(text, "/q.txt").cells, {}, True)[0]
    assert warnings(parse(text, "/q.txt").cells, {}, False) == []
    alone = text.replace("torchrun", "torchrun --standalone")
    assert warnings(parse(alone, "/q.txt").cells, {}, True) == []
