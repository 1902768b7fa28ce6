from __future__ import annotations

import fcntl
import json
import math
import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.checkpoints.retention.pointers import pointers
from middlewatch.daemon.checkpoints.retention.policy import Policy, choose
from middlewatch.daemon.checkpoints.verify import levels
from middlewatch.daemon.cli.prune_plan import apply, propose
from middlewatch.daemon.cli.selection import Selection, from_disk
from middlewatch.daemon.system.clock import SystemClock

Say = Callable[..., tuple[int, str, str]]


def save(folder: Path, step: int, value: float = 1.0) -> Path:
    """One safetensors file of two pages, a minute after the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:06}.safetensors"
    header = json.dumps({"w": {"dtype": "F32", "shape": [2048], "data_offsets": [0, 8192]}})
    import struct

    data = struct.pack("<f", value) * 2048
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)
    at = 1.7e9 + 60 * step
    os.utime(path, (at, at))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    for step in range(1, 7):
        save(tmp_path / "out", step)
    return tmp_path / "out"


def steps(folder: Path) -> list[int]:
    return sorted(int(p.stem[5:]) for p in folder.glob("step-*.safetensors"))


def asked(say: Say, *words: str) -> tuple[int, dict[str, Any]]:
    status, told, _ = say("prune", *words, "--json")
    return status, json.loads(told)


def test_it_proposes_and_touches_nothing(say: Say, out: Path) -> None:
    status, told, _ = say("prune", "--dir", str(out), "--keep-latest", "2")
    assert status == 0
    assert told.count("\ndelete ") == 4
    assert "4 would be deleted" in told
    assert "Nothing was deleted" in told
    assert steps(out) == [1, 2, 3, 4, 5, 6]


def test_without_a_terminal_it_wants_to_be_told_twice(say: Say, out: Path) -> None:
    status, _, error = say("prune", "--dir", str(out), "--apply")
    assert status == 4
    assert "--apply --yes" in error
    assert steps(out) == [1, 2, 3, 4, 5, 6]


def test_it_deletes_and_says_what_that_freed(say: Say, out: Path) -> None:
    blocks = os.stat(out / "step-000001.safetensors").st_blocks * 512
    status, told = asked(say, "--dir", str(out), "--keep-latest", "2", "--apply", "--yes")
    assert status == 0
    assert steps(out) == [5, 6]
    assert told["proposed"] == {"checkpoints": 4, "bytes": 4 * blocks, "inodes": 4}
    assert (told["freed"]["bytes"], told["freed"]["inodes"]) == (4 * blocks, 4)
    assert [c["step"] for c in told["checkpoints"] if c["deleted"]] == [1, 2, 3, 4]
    status, told = asked(say, "--dir", str(out), "--keep-latest", "2", "--apply", "--yes")
    assert (status, told["proposed"]["checkpoints"], told["freed"]) == (0, 0, None)


def on_terminal(out: Path, answer: str) -> tuple[int, str]:
    """``prune --apply`` on a terminal, and what a person types there."""
    code = "import sys; from middlewatch.daemon.cli import main; sys.exit(main(sys.argv[1:]))"
    argv = [sys.executable, "-c", code, "prune", "--dir", str(out), "--keep-latest", "2", "--apply"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        told = b""
        while b"to delete them:" not in told:
            told += os.read(ours, 65536)
        os.write(ours, answer.encode() + b"\n")
        status = process.wait(180)
    os.close(ours)
    return status, told.decode()


@pytest.mark.parametrize(("answer", "status", "left"), [("4", 0, 2), ("yes", 0, 2), ("y", 4, 6)])
def test_a_person_is_asked(out: Path, answer: str, status: int, left: int) -> None:
    assert on_terminal(out, answer)[0] == status
    assert len(steps(out)) == left


def test_the_newest_is_read_in_full_before_others_go_for_it(say: Say, out: Path) -> None:
    save(out, 6, float("nan"))
    save(out, 5, float("inf"))
    status, told = asked(say, "--dir", str(out), "--keep-latest", "1", "--keep-best", "0")
    assert status == 0
    by_step = {c["step"]: c for c in told["checkpoints"]}
    assert [s for s, c in by_step.items() if c["action"] == "keep"] == [4, 5, 6]
    assert by_step[6]["verified"]["state"] == "corrupt"
    assert by_step[4]["verified"]["level"] == "finite"


def test_nothing_goes_when_nothing_is_verified(say: Say, tmp_path: Path) -> None:
    for step in range(4):
        (save(tmp_path / "out", step)).write_bytes(b"\0" * 9000)
    status, told = asked(say, "--dir", str(tmp_path / "out"), "--damaged", "--keep-latest", "0")
    assert (status, told["proposed"]["checkpoints"]) == (0, 0)


def test_one_that_is_open_is_left(say: Say, out: Path) -> None:
    with (out / "step-000002.safetensors").open("rb") as file:
        argv = [sys.executable, "-c", "input()"]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=file) as process:
            status, told = asked(say, "--dir", str(out), "--keep-latest", "1", "--apply", "--yes")
            process.kill()
    assert status == 0
    assert steps(out) == [2, 6]
    why = next(c["why"] for c in told["checkpoints"] if c["step"] == 2)
    assert "open" in why[0]


def test_a_second_prune_is_refused(say: Say, out: Path) -> None:
    fd = os.open(out, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    status, _, error = say("prune", "--dir", str(out), "--keep-latest", "1", "--apply", "--yes")
    os.close(fd)
    assert (status, steps(out)) == (4, [1, 2, 3, 4, 5, 6])
    assert "another prune" in error


def test_what_a_crash_left_is_finished(say: Say, out: Path) -> None:
    left = out / ".checkpoint-3.pruned.tmp"
    left.mkdir()
    (left / "model.safetensors").write_bytes(bytes(100))
    status, told = asked(say, "--dir", str(out), "--keep-latest", "9", "--apply", "--yes")
    assert (status, left.exists(), told["proposed"]["checkpoints"]) == (0, False, 1)


def test_what_a_crash_left_stays_where_nothing_else_is_verified(say: Say, out: Path) -> None:
    """It may be whole: nothing of it need be gone yet."""
    for path in out.iterdir():
        path.write_bytes(bytes(9000))
    left = out / ".checkpoint-3.pruned.tmp"
    save(left, 3)
    status, told = asked(say, "--dir", str(out), "--apply", "--yes")
    assert (status, (left / "step-000003.safetensors").exists()) == (4, True)
    assert "no checkpoint is verified" in told["checkpoints"][-1]["refused"]


def indexed(out: Path, state: Path, name: str = "gpt-1a2b", **more: Any) -> dict[str, Any]:
    """The index that a daemon has left, everything read to the last number."""
    from middlewatch.daemon.checkpoints import rebuild

    index = rebuild.rebuilt(name, [str(out)], time.time(), RankingRules())
    for entry in index["checkpoints"]:
        entry["digest"] = entry["digest"] or levels.describe(entry["path"])["digest"]
    index |= more
    home = state / "runs" / name
    home.mkdir(parents=True)
    (home / "checkpoints_index.json").write_text(json.dumps(index))
    return index


def test_rot_of_the_newest_is_found_before_others_go(say: Say, out: Path, tmp_path: Path) -> None:
    """Its bytes change, its size and time do not, and its format has no checksums."""
    indexed(out, tmp_path / "state")
    newest = out / "step-000006.safetensors"
    was = newest.stat()
    data = bytearray(newest.read_bytes())
    data[5000] ^= 4
    newest.write_bytes(data)
    os.utime(newest, ns=(was.st_atime_ns, was.st_mtime_ns))
    status, told = asked(say, "gpt", "--keep-latest", "1", "--apply", "--yes")
    assert (status, steps(out)) == (0, [5, 6])
    by_step = {c["step"]: c for c in told["checkpoints"]}
    assert by_step[6]["verified"]["state"] == "corrupt"
    assert "although nobody wrote it" in by_step[6]["verified"]["detail"]


def test_the_best_of_the_run_that_is_gone_on_with(say: Say, out: Path, tmp_path: Path) -> None:
    """Only the index of the first run knows its losses; both save to one folder."""
    best = str(out / "step-000002.safetensors")
    indexed(out, tmp_path / "state", "first-1a2b", best=best)
    indexed(out, tmp_path / "state", "second-1a2b")
    status, told = asked(say, "second", "--keep-latest", "1", "--apply", "--yes")
    assert (status, steps(out)) == (0, [2, 6])
    assert told["checkpoints"][1]["why"] == ["best of first-1a2b"]


def test_two_trainings_in_one_folder(say: Say, tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path / "out" / "a", step)
        save(tmp_path / "out" / "model1", 10 * step)
    assert (
        asked(say, "--dir", str(tmp_path / "out"), "--keep-latest", "1", "--apply", "--yes")[0] == 0
    )
    assert (steps(tmp_path / "out" / "a"), steps(tmp_path / "out" / "model1")) == ([3], [30])


SAVES = st.lists(
    st.tuples(
        st.sampled_from("aaab"),
        st.sampled_from("AAAB"),
        st.integers(1, 6),
        st.sampled_from(["good", "good", "good", "nan", "nan", "cut", "empty"]),
        st.integers(1, 9),
    ),
    min_size=1,
    max_size=10,
    unique_by=lambda save: save[:3],
)


NAN_IS_BEST = [("a", "A", 1, "good", 3), ("a", "A", 2, "nan", 1), ("a", "A", 3, "good", 5)]


@settings(max_examples=40)
@example(NAN_IS_BEST, 0, 1, 0.0, False)
@example(NAN_IS_BEST, 1, 0, 0.0, True)
@given(SAVES, st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 2.0]), st.booleans())
def test_whatever_lies_there_the_good_ones_stay(
    saves: list[Any], latest: int, best: int, every: float, damaged: bool
) -> None:
    """On real files: what a header cannot tell (NaN in the weights) must mislead nobody."""
    with tempfile.TemporaryDirectory() as name:
        good: dict[Path, tuple[str, int, int]] = {}
        for folder, half, step, state, loss in saves:
            path = save(Path(name, folder), step, math.nan if state == "nan" else 1.0)
            was = path.stat()
            whole = {"cut": -1, "empty": -path.stat().st_size}.get(state, 0)
            os.truncate(path, was.st_size + whole)
            named = path.with_name(f"{half}_step={step}-val_loss=0.{loss}.safetensors")
            path.rename(named)
            os.utime(named, ns=(was.st_atime_ns, was.st_mtime_ns))
            if state == "good":
                good[named] = (f"{folder}{half}", step, loss)
        known = Selection(from_disk(name, RankingRules()), (name,), "disk", "it")
        plan = propose(known, Policy(latest, best, every, damaged), again=True)
        apply(plan, SystemClock())
        assert not plan.refused
        assert not plan.failed
        left = {path for path in good if path.exists()}
        for series in {key for key, _, _ in good.values()}:
            own = sorted((step, path) for path, (key, step, _) in good.items() if key == series)
            assert {path for _, path in own[-1:]} <= left
        if good:
            assert min(loss for _, _, loss in good.values()) == min(good[p][2] for p in left)
        assert len(plan.deleted) == len(saves) - len(list(Path(name).rglob("*.safetensors")))


def test_usage(say: Say, out: Path) -> None:
    assert say("prune", "--dir", str(out / "nowhere"))[0] == 2
    assert say("prune", "gpt")[0] == 2  # no daemon, and no such run in the state directory
    assert say("prune", "gpt", "--dir", str(out))[0] == 2
    assert say("prune", "--dir", str(out), "--keep-latest", "-1")[0] == 2
    assert say("prune", "--dir", str(out), "--every", "nan")[0] == 2


def test_the_index_of_a_stopped_daemon(say: Say, out: Path, tmp_path: Path) -> None:
    """What changed since it was written is not verified any more."""
    index = from_disk(str(out), RankingRules())
    for entry in index["checkpoints"]:
        entry["verified"]["level"] = "finite"
    home = tmp_path / "state" / "runs" / "gpt-1a2b"
    home.mkdir(parents=True)
    (home / "checkpoints_index.json").write_text(json.dumps(index))
    save(out, 6, 2.0)
    now = time.time()
    os.utime(out / "step-000006.safetensors", (now, now))
    (out / "step-000001.safetensors").unlink()
    status, told = asked(say, "gpt", "--keep-latest", "1")
    assert (status, told["index_from"]) == (0, "state")
    by_step = {c["step"]: c for c in told["checkpoints"]}
    assert by_step[6]["verified"]["state"] == "pending"
    assert [s for s, c in by_step.items() if c["action"] == "keep"] == [5, 6]


def trainers_save(folder: Path, step: int, best: str = "") -> Path:
    """A ``checkpoint-N`` of the Trainer, which names the best one so far: itself, unless told."""
    path = folder / f"checkpoint-{step}"
    save(path, 0).rename(path / "model.safetensors")
    told = {
        "best_metric": 1 - step / 1e6,
        "best_model_checkpoint": best or str(path),
        "global_step": step,
        "log_history": [{"eval_loss": 1 - step / 1e6, "step": step}],
    }
    (path / "trainer_state.json").write_text(json.dumps(told))
    (path / "config.json").write_text("{}")
    at = 1.7e9 + 60 * step
    for each in (*path.iterdir(), path):
        os.utime(each, (at, at))
    return path


def test_each_save_was_the_best_when_it_was_written(say: Say, tmp_path: Path) -> None:
    """A model that gets better all the time: only what the newest save says of the best counts."""
    out = tmp_path / "out"
    for step in range(10, 60, 10):
        trainers_save(out, step)
    status, told = asked(say, "--dir", str(out), "--keep-latest", "1", "--apply", "--yes")
    assert (status, sorted(p.name for p in out.iterdir())) == (0, ["checkpoint-50"])
    assert told["proposed"]["checkpoints"] == sum(c["deleted"] for c in told["checkpoints"]) == 4


def test_the_best_that_the_newest_names_stays(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for step in (10, 20, 30):
        path = trainers_save(out, step, best=str(out / "checkpoint-20") if step == 30 else "")
        told = path / "trainer_state.json"
        kept = told.stat().st_mtime
        told.write_text(json.dumps(json.loads(told.read_text()) | {"log_history": []}))
        os.utime(told, (kept, kept))
    words = ("--dir", str(out), "--keep-latest", "1", "--keep-best", "0", "--apply", "--yes")
    assert asked(say, *words)[0] == 0
    assert sorted(p.name for p in out.iterdir()) == ["checkpoint-20", "checkpoint-30"]


def test_after_a_start_from_an_earlier_step_both_ends_are_asked(tmp_path: Path) -> None:
    """checkpoint-30 is of the training before; the one that goes on has written checkpoint-20."""
    out = tmp_path / "out"
    paths = [str(trainers_save(out, step)) for step in (10, 20, 30)]
    os.utime(f"{paths[1]}/trainer_state.json", (1.8e9, 1.8e9))
    assert set(pointers(paths)) == {paths[1], paths[2]}


class StillClock(SystemClock):
    """For a count of work: as if all of it took no time."""

    def monotonic(self) -> float:
        return 0.0


def calls_for(make: Callable[[Path, int], object], folder: Path, count: int) -> int:
    """Calls of functions, of Python and of C, that it takes to list, judge and prune so many saves."""
    for step in range(1, count + 1):
        make(folder, step)
    calls = 0

    def note(_frame: object, event: str, _what: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        known = Selection(from_disk(str(folder), RankingRules()), (str(folder),), "disk", "it")
        plan = propose(known, Policy(latest=1), again=True)
        apply(plan, StillClock())
    finally:
        sys.setprofile(before)
    assert (len(plan.deleted), plan.refused, plan.failed) == (count - 1, {}, {})
    return calls


@pytest.mark.parametrize("make", [save, trainers_save])
def test_the_work_grows_with_the_number_of_saves_and_not_with_its_square(
    make: Callable[[Path, int], object], tmp_path: Path
) -> None:
    calls_for(make, tmp_path / "warm", 2)  # what is imported and cached once
    few, many = (calls_for(make, tmp_path / f"{n}", n) for n in (30, 120))
    assert (many - few) / 90 < 1.3 * few / 30


def test_a_thousand_with_nan_are_each_read_once(tmp_path: Path) -> None:
    """The run diverged long ago: what is newest does not pass, and all before it do not either."""
    for step in range(1, 60):
        save(tmp_path, step, math.nan if step > 3 else 1.0)
    index = from_disk(str(tmp_path), RankingRules())
    read: list[str] = []
    chosen: list[int] = []

    def note(frame: Any, event: str, _what: object) -> None:
        if event == "call" and frame.f_code is levels.describe.__code__:
            read.append(frame.f_locals["path"])
        if event == "call" and frame.f_code is choose.__code__:
            chosen.append(1)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        propose(Selection(index, (str(tmp_path),), "disk", "it"), Policy(latest=1, best=0))
    finally:
        sys.setprofile(before)
    assert (len(read), len(set(read)), len(chosen)) == (57, 57, 2)
