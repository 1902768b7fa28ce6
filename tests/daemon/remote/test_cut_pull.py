"""A pull that is cut, lacks room or is lied to: it goes on, or says so; never a receipt over a bad copy."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ...fakes.far_box import NAME, damaging_rsync, sessions
from .conftest import PATIENCE_S, Far, contents

pytestmark = [pytest.mark.system, pytest.mark.slow]
MIB = 1 << 20
CUTS = 20


def programs_of(pid: int) -> list[int]:
    """The ssh and rsync processes below a process."""
    found = []
    for one in sessions(pid):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{one}/comm").read_text().strip() in ("rsync", "ssh"):
                found.append(one)
    return found


def test_cut_at_twenty_random_moments(far: Far) -> None:
    spec = far.finished(saves=4, count=MIB // 2)  # 8 MiB
    dice, cuts, calls = random.Random(20261126), 0, 0
    goal = far.dest / spec.id / "checkpoints/out"
    deadline = time.monotonic() + PATIENCE_S
    while True:
        calls += 1
        process = far.start("pull", NAME, str(far.dest), "--limit", "6MiB")
        while process.poll() is None:
            assert far.receipt() is None or process.wait() == 0
            assert time.monotonic() < deadline, "it never ends"
            time.sleep(dice.uniform(0.01, 0.4))
            running = programs_of(process.pid)
            if cuts < CUTS and running:
                with contextlib.suppress(OSError):
                    os.kill(dice.choice(running), signal.SIGKILL)
                    cuts += 1
        out, err = process.communicate()
        if process.returncode == 0:
            break
        assert far.receipt() is None, out + err
    assert cuts == CUTS, "it was over before the last cut"
    assert contents(goal) == contents(Path(spec.checkpoint_dirs[0]))
    assert far.receipt() is not None


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 4 MiB that holds 40 files."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = "size=4m,nr_inodes=40"
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode:
        pytest.skip(f"cannot mount a tmpfs: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_disk_that_is_too_small_is_told_before_the_copy(far: Far, small: Path) -> None:
    spec = far.finished(saves=4, count=MIB // 2)
    done = far.at_home("pull", NAME, str(small))
    assert done.returncode == 1
    assert "are still to come" in done.stderr
    assert list((small / spec.id).rglob("*.safetensors")) == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
    assert far.at_home("pull", NAME, str(small)).returncode == 0
    assert contents(small / spec.id / "checkpoints/out") == contents(Path(spec.checkpoint_dirs[0]))


def test_a_disk_that_fills_up_meanwhile(far: Far, small: Path) -> None:
    spec = far.finished(saves=3, count=MIB // 4)  # 3 MiB: they would fit
    process = far.start("pull", NAME, str(small), "--limit", "1MiB")
    goal = small / spec.id / "checkpoints/out"
    deadline = time.monotonic() + PATIENCE_S
    while not (goal.is_dir() and any(one.stat().st_size for one in goal.glob("*.safe*"))):
        assert time.monotonic() < deadline, "nothing has come"
        assert process.poll() is None, "it has ended"
        time.sleep(0.02)
    other = small / "of another program"
    with contextlib.suppress(OSError), other.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "no room" in err
    assert not (small / "PULL_VERIFIED.json").exists()
    other.unlink()
    assert far.at_home("pull", NAME, str(small)).returncode == 0
    assert contents(goal) == contents(Path(spec.checkpoint_dirs[0]))


def test_inodes_that_are_gone(far: Far, small: Path) -> None:
    spec = far.finished()
    out = Path(spec.checkpoint_dirs[0])
    for number in range(60):
        (out / "tb" / f"{number}.txt").write_text("x")
    done = far.at_home("pull", NAME, str(small))
    assert done.returncode == 1
    assert "more files" in done.stderr
    assert not (small / "PULL_VERIFIED.json").exists()
    subprocess.run(["mount", "-o", "remount,nr_inodes=4000", str(small)], check=True)
    assert far.at_home("pull", NAME, str(small)).returncode == 0


@pytest.mark.parametrize("always", [False, True])
def test_a_byte_damaged_on_the_way_is_found(far: Far, always: bool) -> None:
    spec = far.finished()
    source = Path(spec.checkpoint_dirs[0], "step-000200.safetensors")
    goal = far.dest / spec.id / "checkpoints/out"
    flipped = far.home / "flipped"
    rsync = damaging_rsync(far.home / "bin", f"{goal}/{source.name}", flipped, always=always)
    told = far.pull(NAME, PATH=f"{rsync.parent}:{os.environ['PATH']}")
    assert flipped.exists(), "nothing was damaged"
    if always:
        assert told["status"] == 1
        wrong = told["runs"][0]["wrong"]
        assert [one["name"] for one in wrong] == ["checkpoints/out/step-000200.safetensors"]
        assert "not those that were verified" in wrong[0]["why"]
        assert far.receipt() is None
    else:
        assert told["status"] == 0, "it was sent again"
        assert (goal / source.name).read_bytes() == source.read_bytes()


def test_ctrl_c_leaves_nothing_running_and_no_receipt(far: Far) -> None:
    far.finished(saves=4, count=MIB // 2)
    process = far.start("pull", NAME, str(far.dest), "--limit", "1MiB")
    deadline = time.monotonic() + PATIENCE_S
    while not (running := programs_of(process.pid)) or len(running) < 2:
        assert time.monotonic() < deadline, "no transfer began"
        assert process.poll() is None, "it has ended"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert far.receipt() is None
    while [pid for pid in running if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, "rsync still runs"
        time.sleep(0.05)
