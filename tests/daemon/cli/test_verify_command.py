from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.verify import bitrot
from middlewatch.daemon.system.clock import iso
from middlewatch.saving import atomic_save

COMMAND = str(Path(sys.executable).with_name("middlewatch"))
Say = Callable[..., tuple[int, str, str]]


def safetensors(path: Path, *numbers: float, size: int = 0) -> Path:
    """One tensor of float32; ``size``: bytes of an int8 one that is all holes."""
    head: dict[str, Any] = {
        "w": {"dtype": "F32", "shape": [len(numbers)], "data_offsets": [0, 4 * len(numbers)]}
    }
    if size:
        head = {"w": {"dtype": "I8", "shape": [size], "data_offsets": [0, size]}}
    text = json.dumps(head).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    if size:
        os.truncate(path, 8 + len(text) + size)
    return path


def torch_file(path: Path, data: bytes = b"\0\0\x80?") -> Path:
    """What torch.save({"w": torch.ones(1)}) writes, by hand."""
    pickled = (
        b"\x80\x02}q\x00X\x01\x00\x00\x00wq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00"
        b"\x00\x00storageq\x03ctorch\nFloatStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00"
        b"cpuq\x06K\x01tq\x07QK\x00K\x01\x85q\x08K\x01\x85q\t\x89ccollections\nOrderedDict\nq\n)Rq"
        b"\x0btq\x0cRq\rs."
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("archive/data.pkl", pickled)
        made.writestr("archive/byteorder", b"little")
        made.writestr("archive/data/0", data)
        made.writestr("archive/version", b"3\n")
    return path


def flip(path: Path, *, at: int) -> None:
    """One bit, and the time stays as it was: what a bad disk does."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


# ------------------------------------------------------------------------ what is told


def test_every_one_is_told_and_one_bad_one_is_exit_1(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "out"
    safetensors(out / "step_1.safetensors", 1.0, 2.0)
    safetensors(out / "step_2.safetensors", 1.0, float("nan"))
    torch_file(out / "step_3.pt")
    (out / "step_4.pt").write_bytes(b"PK\x03\x04nonsense")
    status, told, _ = say("verify", str(out))
    assert status == 1
    lines = told.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        *("ok (finite)", "corrupt (finite)", "ok (finite)", "corrupt (structure)")
    ]
    assert "1 of 1 tensors is not finite: w (1 of 2 NaN)" in lines[1]
    status, told, _ = say("verify", str(out / "step_1.safetensors"), str(out / "step_3.pt"))
    assert (status, len(told.splitlines())) == (0, 2)


def test_the_same_as_json(say: Say, tmp_path: Path) -> None:
    path = safetensors(tmp_path / "step_7.safetensors", 1.0)
    status, told, _ = say("verify", "--json", str(path))
    (entry,) = json.loads(told)
    assert status == 0
    assert entry["digest"].startswith("xxh3:")
    assert (
        entry.items()
        >= {
            "path": str(path),
            "state": "ok",
            "level": "finite",
            "detail": "",
            "bytes": path.stat().st_size,
            "files": 1,
            "format": "safetensors",
            "step": 7.0,
            "epoch": None,
            "metrics": {},
        }.items()
    )


def test_how_far_it_goes(say: Say, tmp_path: Path) -> None:
    flipped = torch_file(tmp_path / "step_1.pt")
    flip(flipped, at=flipped.read_bytes().index(b"\0\0\x80?"))
    nan = torch_file(tmp_path / "step_2.pt", struct.pack("<f", float("nan")))
    reached = {
        level: [
            (entry["state"], entry["level"])
            for entry in json.loads(
                say("verify", "--json", "--level", level, str(flipped), str(nan))[1]
            )
        ]
        for level in ("structure", "checksum", "finite")
    }
    assert reached == {
        "structure": [("ok", "structure"), ("ok", "structure")],
        "checksum": [("corrupt", "checksum"), ("ok", "checksum")],
        "finite": [("corrupt", "checksum"), ("corrupt", "finite")],
    }


def test_what_is_not_there_or_cannot_be_read(say: Say, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "step_1.pt")
    status, told, complaint = say(
        *("verify", str(tmp_path / "gone.pt"), str(tmp_path / "empty"), str(tmp_path / "step_1.pt"))
    )
    assert (status, complaint) == (1, "")
    gone, empty, fifo = told.splitlines()
    assert "it is not there" in gone
    assert "no checkpoint in this folder" in empty
    assert "not a regular file" in fifo


def test_what_may_not_be_read(tmp_path: Path) -> None:
    """Root may read everything, unless it gives that up."""
    powers = "-dac_override,-dac_read_search"
    humbly = ("setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not here, and root may read everything")
    shut, partly = tmp_path / "shut", tmp_path / "checkpoint-5"
    partly.mkdir()
    (partly / "model.safetensors").write_bytes(b"")
    for folder in (shut, partly / "global_step5"):
        folder.mkdir(mode=0)
    done = subprocess.run(
        [
            *(humbly if os.geteuid() == 0 else ()),
            *(sys.executable, "-m", "middlewatch.daemon", "verify"),
            *map(str, (shut, shut / "a.pt", partly)),
        ],
        env={**os.environ, "MIDDLEWATCH_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("Permission denied") == 3
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--deep", "--level", "finite"), "leave --level out"),
        (("--python", "/bin/true"), "add --deep"),
        (("--deep", "--python", "/nowhere"), "/nowhere is not a program"),
        (("--deep", "--python", "/bin/true"), "not a python 3.8 or later with torch"),
        (("--level", "load"), "there is no 'load'"),
    ],
)
def test_wrong_usage(say: Say, words: tuple[str, ...], why: str) -> None:
    status, told, complaint = say("verify", "x.pt", *words)
    assert (status, told) == (2, "")
    assert why in complaint


def test_deep_loads_with_the_torch_there_is(say: Say, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "out"
    torch_file(out / "step_1.pt")
    torch_file(out / "step_2.pt", b"")
    status, told, _ = say("verify", "--deep", "--json", str(out))
    assert status == 1
    first, second = json.loads(told)
    assert (first["state"], first["level"], first["detail"]) == ("ok", "load", "")
    assert (second["state"], second["level"]) == ("corrupt", "structure")
    status, told, _ = say("verify", "--deep", "--python", sys.executable, str(out))
    assert status == 1
    assert [line.split()[1] for line in told.splitlines()[:2]] == ["(load)", "(structure)"]
    assert told.splitlines()[2].endswith(f"in {sys.executable} (given)")


def test_a_torch_that_does_not_work_is_told_after_what_was_read(say: Say, tmp_path: Path) -> None:
    path = torch_file(tmp_path / "step_1.pt")
    python = tmp_path / "python"
    site = tmp_path / "site"
    site.mkdir()
    (site / "torch.py").write_text(
        "raise ImportError('libcudart.so.12: cannot open shared object')"
    )
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    status, told, complaint = say("verify", "--deep", "--python", str(python), str(path))
    assert status == 2
    assert told.startswith("ok (finite)")
    assert "nothing could be loaded: " in complaint
    assert "libcudart.so.12: cannot open" in complaint


# ------------------------------------------------------------------------ rot


def index_of(path: Path, entry: dict[str, Any], where: Path) -> None:
    """What a daemon would have kept of it."""
    known = {
        "path": str(path),
        "bytes": path.stat().st_size,
        "files": 1,
        "saved_at": iso(path.stat().st_mtime_ns / 1e9),
        "digest": entry["digest"],
        "verified": {"state": "ok", "level": "finite", "at": "2026-03-01T12:30:00.000+00:00"},
    }
    where.mkdir(parents=True, exist_ok=True)
    whole = {"schema": "middlewatch/checkpoints/v1", "run": "gpt-1", "checkpoints": [known]}
    (where / "checkpoints_index.json").write_text(json.dumps(whole))


@pytest.mark.parametrize("where", ["state/runs/gpt-1", "out", "."])
def test_bytes_that_changed_by_themselves(say: Say, tmp_path: Path, where: str) -> None:
    path = safetensors(tmp_path / "out" / "step_1.safetensors", 1.0, 2.0, 3.0)
    (entry,) = json.loads(say("verify", "--json", str(path))[1])
    index_of(path, entry, tmp_path / where)
    assert say("verify", str(path))[0] == 0
    flip(path, at=-3)
    status, told, _ = say("verify", str(path))
    assert status == 1
    assert told.startswith("corrupt (checksum)")
    when = str(iso(1772368200.0))[:19].replace("T", " ")
    assert f"its bytes changed since {when} although nobody wrote it" in told
    os.utime(path)
    assert say("verify", str(path))[0] == 0, "somebody wrote it: another file"


def test_an_index_that_is_none_is_no_trouble(say: Say, tmp_path: Path) -> None:
    path = safetensors(tmp_path / "step_1.safetensors", 1.0)
    for text in ("", "[]", "{}", '{"checkpoints": [7, {"path": 7}, {"path": "x"}]}', "[" * 5000):
        (tmp_path / "checkpoints_index.json").write_text(text)
        assert say("verify", str(path))[0] == 0


@pytest.mark.parametrize(
    ("change", "rotten"),
    [
        ({}, True),
        ({"digest": "xxh3:1"}, False),
        ({"digest": "sha256:0"}, False),
        ({"digest": None}, False),
        ({"bytes": 9}, False),
        ({"saved_at": "2026-03-01T00:00:01+00:00"}, False),
        ({"saved_at": "yesterday"}, False),
        ({"saved_at": None}, False),
        ({"verified": 7}, True),
        ({"verified": {"at": "never"}}, True),
    ],
)
def test_what_counts_as_rot(change: dict[str, Any], rotten: bool) -> None:
    known = {"digest": "xxh3:0", "bytes": 8, "saved_at": "2026-03-01T00:00:00.123+00:00"}
    told = bitrot.why_corrupt(known | change, "xxh3:1", 8, 1772323200.1234)
    assert bool(told) is rotten
    assert bitrot.why_corrupt(known, None, 8, 1772323200.123) == ""


# ------------------------------------------------------------------------ a long one


def test_a_long_one_shows_how_long_and_is_interrupted_cleanly(tmp_path: Path) -> None:
    """On a terminal: a bar with the time left, and Ctrl-C leaves nothing of it behind."""
    ready = safetensors(tmp_path / "step_1.safetensors", 1.0)
    long = safetensors(tmp_path / "step_2.safetensors", size=200 << 30)
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        [COMMAND, "verify", str(ready), str(long)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environ,
        text=True,
    )
    os.close(theirs)
    try:
        shown = b""
        until = time.monotonic() + 120
        while b" left" not in shown and time.monotonic() < until:
            assert select.select([ours], [], [], 120)[0], shown
            shown += os.read(ours, 4096)
        assert b"step_2.safetensors" in shown
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=300)
        assert process.returncode == 130
        assert told.startswith("ok (finite)")
        while select.select([ours], [], [], 0)[0]:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            shown += more
            if not more:
                break
        assert shown.endswith(b"\r\x1b[K"), shown[-200:]
        assert b"Traceback" not in shown
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_what_was_skipped_is_told_and_is_no_success(say: Say, tmp_path: Path) -> None:
    """Each of these was passed over in silence, and the exit status was 0."""
    out = tmp_path / "out"
    safetensors(out / "step-1.safetensors", 1.0)
    assert say("verify", str(out))[0] == 0
    for name, why in (
        ("a/b/c/d/e/f/g/model.pt", "more than 5 folders deep"),
        ("model-00001-of-00002.safetensors", "the index that names it is missing"),
        ("optimizer.pt", "a part of a save"),
    ):
        safetensors(out / name, 1.0)
        status, told, _ = say("verify", str(out))
        assert (status, why in told, "step-1" in told) == (1, True, True), told
        status, told, _ = say("verify", str(out), "--json")
        bad = [entry for entry in json.loads(told) if entry["state"] != "ok"]
        assert [(e["path"], e["state"]) for e in bad] == [(str(out / name), "unverifiable")]
        (out / name).unlink()
    assert say("verify", str(out))[0] == 0


def test_what_is_no_save_is_not_called_skipped(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "out"
    save = safetensors(out / "runs" / "step-1.safetensors", 1.0)
    (out / "last.safetensors").symlink_to(save)
    for name in (
        "train.log",
        "config.json",
        "training_args.bin",
        "vocab.txt",
        "x/y/z/a/b/notes.md",
    ):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("{}")
    safetensors(out / "cache" / "part_7.pt", 1.0)
    status, told, error = say("verify", str(out))
    assert (status, told.count("\n")) == (0, 1)
    assert "part_7.pt not checked: of a data set, a cache" in error


def test_shards_belong_to_their_index(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shards = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    for shard in shards:
        safetensors(out / shard, 1.0)
    index = {"metadata": {}, "weight_map": {"w": shards[0], "v": shards[1]}}
    (out / "model.safetensors.index.json").write_text(json.dumps(index))
    told = json.loads(say("verify", str(out), "--json")[1])
    assert [Path(entry["path"]).name for entry in told] == ["model.safetensors.index.json"]


def test_other_bytes_than_its_manifest_says(say: Say, tmp_path: Path) -> None:
    path = safetensors(tmp_path / "out" / "step-1.safetensors", 1.0, 2.0)
    whole = path.read_bytes()
    atomic_save(whole, path)
    assert say("verify", str(path))[0] == 0
    stat = path.stat()
    path.write_bytes(whole[:-1] + b"\x3f")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    status, told, _ = say("verify", str(path.parent))
    assert (status, "is not what step-1.safetensors.sha256 says" in told) == (1, True)
    safetensors(path, 3.0, 4.0)  # written anew without a manifest: the old one says nothing of it
    assert say("verify", str(path))[0] == 0


def test_a_bad_save_is_renamed_only_when_asked(say: Say, tmp_path: Path) -> None:
    good = safetensors(tmp_path / "out" / "step-1.safetensors", 1.0)
    bad = safetensors(tmp_path / "out" / "step-2.safetensors", float("nan"))
    young = safetensors(tmp_path / "out" / "step-3.safetensors", float("nan"))
    for path in (good, bad):
        os.utime(path, (1.7e9, 1.7e9))
    assert say("verify", str(tmp_path / "out"))[0] == 1
    assert bad.exists()
    holds = "import sys; held = open(sys.argv[1], 'r+b'); print('open', flush=True); input()"
    argv = [sys.executable, "-c", holds, str(bad)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"open\n"
        status, _, error = say("verify", str(tmp_path / "out"), "--quarantine")
        writer.kill()
    assert (status, bad.exists(), young.exists()) == (1, True, True)
    assert "has it open for writing" in error
    assert "may still be" in error
    data = bad.read_bytes()
    status, told, error = say("verify", str(tmp_path / "out"), "--quarantine", "--json")
    assert [entry["state"] for entry in json.loads(told)] == ["ok", "corrupt", "corrupt"]
    aside = Path(f"{bad}.quarantined")
    assert (bad.exists(), good.exists(), young.exists()) == (False, True, True)
    assert f"renamed: {aside}" in error
    assert aside.read_bytes() == data
    young.unlink()
    assert say("verify", str(tmp_path / "out"))[0] == 0, "it is no save any more"
