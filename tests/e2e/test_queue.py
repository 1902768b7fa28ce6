"""``middlewatch queue`` with the real daemon: every cell is a run of its own, once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.queues.shards import Shard
from middlewatch.daemon.system import procfs

from ..fakes.box import Box
from .queues import RAN, Queue, queue

Make = Callable[..., Queue]


@pytest.fixture
def make(box: Box) -> Iterator[Make]:
    made: list[Queue] = []

    def one(text: str, *more: str) -> Queue:
        made.append(queue(box, text, *more))
        return made[-1]

    yield one
    for each in made:
        each.close()


def cell_of(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(cell for cell in told["cells"] if cell["cell"] == name)


def test_four_cells_of_which_one_fails(box: Box, make: Make) -> None:
    sweep = make(
        f"""\
@command sh -c '{RAN}exit ${{CODE:-0}}' {{name}}
one:
two:   @env=CODE=3
three: extra
四:
"""
    )
    told = sweep.command("--wait")
    assert (told["exit"], told["state"], told["failed"]) == (1, "failed", ["two"])
    assert told["counts"] == {"finished": 3, "failed": 1}
    assert cell_of(told, "two")["exit_code"] == 3
    assert sweep.ran() == {name: [name] for name in ("one", "two", "three", "四")}
    runs = {run["run"]: run for run in box.ask("runs")}
    for cell in told["cells"]:
        run = runs[cell["run"]]
        assert run["name"] == cell["cell"]
        assert cell["watched"]
    box.until(
        lambda: box.status(cell_of(told, "two")["run"])["state"] == "failed", "the watch knows"
    )
    # Once more: nothing is left, and what failed is told.
    assert sweep.command()["exit"] == 1
    assert sweep.over()["failed"] == ["two"]
    assert sweep.ran()["two"] == ["two"]
    # It is asked for again, and fails again.
    again = sweep.command("--retry", "failed", "--wait")
    assert cell_of(again, "two")["attempts"] == 2
    assert sweep.ran()["two"] == ["two", "two"]
    assert sweep.ran()["one"] == ["one"]


def test_for_people(box: Box, make: Make) -> None:
    sweep = make("a: sh -c 'exit 1'\n")
    done = box.command("queue", str(sweep.file), "--wait", check=False)
    assert done.returncode == 1
    assert "failed  a" in done.stdout
    assert "--retry failed" in done.stdout
    done = box.command("queue", str(sweep.file), "--retry", "b", check=False)
    assert (done.returncode, "there is no cell 'b'" in done.stderr) == (2, True)
    sweep.file.write_text("a: sh -c 'exit 1'\nb: no-such-program-here\n")
    done = box.command("queue", str(sweep.file), check=False)
    assert (done.returncode, "b cannot start" in done.stderr) == (2, True)
    done = box.command("queue", str(sweep.file), "--print")
    assert "b: no-such-program-here" in done.stdout
    done = box.command("queue", str(sweep.file.parent / "none.txt"), "--status", check=False)
    assert done.returncode == 2


def test_two_queues_at_once_share_nothing_that_is_written(box: Box, make: Make) -> None:
    text = "a: sh -c 'env > \"$0\"/env; sleep 1' {dir}\n"
    text += text.replace("a:", "b:")
    one, two = make(text, "x.txt"), make(text, "y.txt")
    one.command("--at-once", "2")
    two.command("--at-once", "2")
    cells = [*one.over()["cells"], *two.over()["cells"]]
    assert [cell["state"] for cell in cells] == ["finished"] * 4
    folders = [cell["dir"] for cell in cells]
    assert len({*folders}) == len({cell["log"] for cell in cells}) == 4
    values: dict[str, list[str]] = {}
    for folder in folders:
        for line in Path(folder, "env").read_text().splitlines():
            name, _, value = line.partition("=")
            values.setdefault(name, []).append(value)
    for name in ("WANDB_DIR", "MLFLOW_TRACKING_URI", "TENSORBOARD_LOGGING_DIR", "MIDDLEWATCH_RUN"):
        assert len(set(values[name])) == 4, name
    assert sorted(values["WANDB_NAME"]) == ["a", "a", "b", "b"]
    assert len(set(values["WANDB_RUN_GROUP"])) == 2


def test_cells_are_added_while_it_runs(make: Make, box: Box) -> None:
    wait = "while ! test -e go; do sleep 0.05; done"
    sweep = make(f"a: sh -c '{RAN}{wait}' {{name}}\n")
    assert sweep.command()["exit"] == 0
    box.until(lambda: sweep.standing() == {"a": "running"}, "the first cell")
    with sweep.file.open("a") as file:
        file.write(f"b: sh -c '{RAN}' {{name}}\n")
    box.until(lambda: sweep.standing().get("b") == "waiting", "it is picked up")
    (sweep.file.parent / "go").touch()
    assert sweep.over()["counts"] == {"finished": 2}
    # The queue is over; what is added then goes when it is called again.
    with sweep.file.open("a") as file:
        file.write(f"c: sh -c '{RAN}' {{name}}\n")
    assert sweep.command("--wait")["counts"] == {"finished": 3}
    assert sweep.ran() == {name: [name] for name in "abc"}


def test_a_file_that_is_broken_for_a_while_does_no_harm(make: Make, box: Box) -> None:
    wait = "while ! test -e go; do sleep 0.05; done"
    text = (
        f"a: sh -c '{RAN}{wait}' {{name}}\nb: sh -c '{RAN}' {{name}}\nc: sh -c '{RAN}' {{name}}\n"
    )
    sweep = make(text)
    sweep.command()
    box.until(lambda: sweep.standing().get("a") == "running", "the first cell")
    sweep.file.write_text("a: sh 'half")
    box.until(lambda: any("line 1" in note for note in sweep.status()["notes"]), "it is told")
    # One line is taken out, one is changed, that of the running cell too.
    sweep.file.write_text(f"a: sh -c true\nc: sh -c '{RAN}echo new >> ran/c' {{name}}\n")
    box.until(lambda: "b" not in sweep.standing(), "the line is out")
    (sweep.file.parent / "go").touch()
    told = sweep.over()
    assert told["counts"] == {"finished": 2}
    assert sweep.ran() == {"a": ["a"], "c": ["c", "new"]}
    assert told["notes"] == [], "what is mended is not told any more"
    assert "line was changed" in cell_of(told, "a")["notes"][0]


def test_an_edited_script_does_no_harm_to_cells_that_were_queued(make: Make, box: Box) -> None:
    wait = "while ! test -e go; do sleep 0.05; done"
    sweep = make(f"first: sh -c '{wait}'\na: sh job.sh a\nb: @scripts=newest sh job.sh b\n")
    script = sweep.file.parent / "job.sh"
    script.write_text('echo old >> ran/"$1"\n')
    sweep.command()
    box.until(lambda: sweep.standing().get("first") == "running", "the first cell")
    script.write_text('echo new >> ran/"$1"\n')
    with sweep.file.open("a") as file:
        file.write("c: sh job.sh c\n")
    box.until(lambda: "c" in sweep.standing(), "the cell that was queued after the edit")
    (sweep.file.parent / "go").touch()
    told = sweep.over()
    assert sweep.ran() == {"a": ["old"], "b": ["new"], "c": ["new"]}
    assert "job.sh changed" in cell_of(told, "a")["notes"][0]
    assert "the new one" in cell_of(told, "b")["notes"][0]
    assert cell_of(told, "c")["notes"] == []


def test_a_cell_that_failed_is_tried_again_with_what_was_mended(make: Make) -> None:
    sweep = make("a: sh job.sh a\nb: sh job.sh b\n")
    script = sweep.file.parent / "job.sh"
    script.write_text("exit 1\n")
    assert sweep.command("--wait")["failed"] == ["a", "b"]
    script.write_text('echo mended "$2" >> ran/"$1"\n')
    sweep.file.write_text("a: sh job.sh a\nb: sh job.sh b too\n")
    told = sweep.command("--retry", "failed", "--wait")
    assert told["counts"] == {"finished": 2}
    assert sweep.ran() == {"a": ["mended"], "b": ["mended", "too"]}
    assert cell_of(told, "b")["command"] == ["sh", "job.sh", "b", "too"]
    assert [cell["notes"] for cell in told["cells"]] == [[], []]


def test_gates(make: Make, box: Box) -> None:
    sweep = make(
        f"""\
late:   @after=exists:out/final.pt sh -c '{RAN}' {{name}}
never:  @after=exists:out/other.pt @within=1s sh -c '{RAN}' {{name}}
first:  sh -c '{RAN}' {{name}}
bad:    sh -c 'exit 1'
behind: @after=cell:bad sh -c '{RAN}' {{name}}
"""
    )
    sweep.command()
    expected = {"first": "finished", "bad": "failed", "behind": "failed", "never": "failed"}
    box.until(lambda: sweep.standing() == {**expected, "late": "waiting"}, "all but one")
    told = sweep.status()
    assert cell_of(told, "late")["how"].endswith("out/final.pt")
    assert cell_of(told, "never")["how"].startswith("waited 1 s")
    assert "bad, which failed" in cell_of(told, "behind")["how"]
    final = sweep.file.parent / "out" / "final.pt"
    final.parent.mkdir()
    final.write_bytes(b"weights")
    before = time.time() - 60
    os.utime(final, (before, before))
    assert sweep.over()["counts"] == {"finished": 2, "failed": 3}
    assert sweep.ran() == {"late": ["late"], "first": ["first"]}


def test_a_cell_on_each_gpu(make: Make, box: Box) -> None:
    box.extra_env["CUDA_VISIBLE_DEVICES"] = "2,GPU-abc"
    meet = 'echo "$CUDA_VISIBLE_DEVICES" > ran/"$0"; while test $(ls ran | wc -l) -lt 2; do sleep 0.05; done'
    sweep = make(
        f"@command sh -c '{meet}' {{name}}\na:\nb:\nboth: @gpus=2\nmany: @gpus=3\ncpu: @gpus=0\n"
    )
    told = sweep.command("--each-gpu", "--wait")
    assert told["failed"] == ["many"]
    assert "needs 3 GPUs" in cell_of(told, "many")["how"]
    ran = {name: (sweep.file.parent / "ran" / name).read_text().strip() for name in sweep.ran()}
    assert sorted((ran.pop("a"), ran.pop("b"))) == ["2", "GPU-abc"]
    assert ran == {"both": "2,GPU-abc", "cpu": ""}


def test_no_gpu_is_told(make: Make, box: Box) -> None:
    box.extra_env["CUDA_VISIBLE_DEVICES"] = ""
    sweep = make("a: sh -c true\n")
    done = box.command("queue", str(sweep.file), "--each-gpu", check=False)
    assert (done.returncode, "hides all GPUs" in done.stderr) == (2, True)


def test_stop_and_go_on(make: Make, box: Box) -> None:
    wait = "while ! test -e go; do sleep 0.05; done"
    sweep = make(f"a: sh -c '{RAN}{wait}' {{name}}\nb: sh -c '{RAN}' {{name}}\n")
    sweep.command()
    box.until(lambda: sweep.standing().get("a") == "running", "the first cell")
    assert sweep.command("--stop")["state"] == "stopped"
    (sweep.file.parent / "go").touch()
    box.until(lambda: sweep.runner() is None, "the runner has ended")
    assert sweep.standing() == {"a": "finished", "b": "waiting"}
    assert sweep.status()["state"] == "stopped"
    assert sweep.command("--wait")["counts"] == {"finished": 2}
    assert sweep.ran() == {"a": ["a"], "b": ["b"]}


def test_shards_on_two_boxes_run_every_cell_once(make: Make, box: Box) -> None:
    names = [f"c{number}" for number in range(8)]
    parts = [{name for name in names if Shard(i, 2).has(name)} for i in (1, 2)]
    assert all(parts), "the names are such that both boxes have some"
    sweep = make("".join(f"{name}: sh -c '{RAN}' {{name}}\n" for name in names))
    other = Queue(box, sweep.file, box.root / "state2")
    try:
        told = sweep.command("--shard", "1/2", "--wait")
        assert {cell["cell"] for cell in told["cells"]} == parts[0]
        # The other box forgets to name its shard: what is taken stays taken.
        there = other.command("--wait")
        states = {cell["cell"]: cell["state"] for cell in there["cells"]}
        assert states == {n: "elsewhere" if n in parts[0] else "finished" for n in names}
        assert sweep.ran() == {name: [name] for name in names}
        # Without being said again the shard is the same.
        assert {cell["cell"] for cell in sweep.command("--wait")["cells"]} == parts[0]
    finally:
        other.close()
        box.command("stop", "--state-dir", str(other.state))


def test_a_lost_cell_is_started_again_as_it_was(make: Make, box: Box) -> None:
    block = "test -e go || exec sleep 600"
    sweep = make(f"a: sh -c '{RAN}{block}' {{name}}\nb: sh -c '{RAN}' {{name}}\n")
    sweep.command()
    told = box.until(
        lambda: (s := sweep.status())["cells"] and s["cells"][0]["state"] == "running" and s,
        "a runs",
    )
    record = next(r for r in sweep.records() if r["t"] == "started")
    box.until(lambda: (sweep.file.parent / "ran" / "a").exists(), "it has begun")
    sweep.kill_runner()
    # As after a reset of the box: neither the command nor its supervisor has said anything.
    os.kill(record["supervisor"], signal.SIGKILL)
    os.kill(record["pid"], signal.SIGKILL)
    box.until(lambda: procfs.start_ticks(record["pid"]) is None, "it is gone")
    told = sweep.status()
    assert (told["state"], cell_of(told, "a")["state"]) == ("interrupted", "lost")
    assert told["exit"] == 1
    (sweep.file.parent / "go").touch()
    assert sweep.command("--wait")["counts"] == {"finished": 2}
    assert sweep.ran() == {"a": ["a", "a"], "b": ["b"]}
    assert cell_of(sweep.status(), "a")["attempts"] == 2


def test_the_daemon_may_be_away(make: Make, box: Box) -> None:
    sweep = make(f"a: sh -c '{RAN}' {{name}}\nb: sh -c '{RAN}' {{name}}\n")
    sweep.file.write_text(f"@after exists:go\n{sweep.file.read_text()}")
    sweep.command()
    pid = box.ask("ping")["pid"]
    os.kill(pid, signal.SIGKILL)
    box.until(lambda: procfs.start_ticks(pid) is None, "the daemon is gone")
    go = sweep.file.parent / "go"
    go.write_text("x")
    os.utime(go, (1, 1))
    box.until(lambda: sweep.ran() == {"a": ["a"], "b": ["b"]}, "cells run without a daemon")
    # The runner starts one in the end, and tells it of both.
    sweep.over()
    box.until(
        lambda: all(cell["watched"] for cell in sweep.status()["cells"]), "it is told of both"
    )
    told = sweep.status()
    assert {run["run"] for run in box.ask("runs")} == {cell["run"] for cell in told["cells"]}
    assert box.ask("ping")["pid"] != pid


def test_nothing_secret_is_written_down(make: Make, box: Box) -> None:
    token = "hf_" + "aBcD1234" * 4 + "xY"
    box.extra_env["HF_TOKEN"] = token
    sweep = make(f"a: sh -c 'test -n \"$HF_TOKEN\" && true' --token {token}\n")
    told = sweep.command("--wait")
    assert told["counts"] == {"finished": 1}
    place = Path(told["folder"])
    texts = [path.read_text() for path in place.rglob("*") if path.is_file()]
    assert texts
    assert not any(token in text for text in texts)
    assert token not in json.dumps(told)
    assert (place.stat().st_mode & 0o077) == 0


def test_a_time_limit(make: Make) -> None:
    if not shutil.which("timeout"):
        pytest.skip("coreutils' timeout is not here")
    sweep = make("a: @max-time=1s sleep 600\n")
    told = sweep.command("--wait")
    assert cell_of(told, "a")["exit_code"] == 124
