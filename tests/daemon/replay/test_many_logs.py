"""Several logs as one run: ranks, rotated parts, attempts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli import main

OOM = """\
Traceback (most recent call last):
  File "/srv/train.py", line 212, in <module>
    loss.backward()
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB (GPU 3; 79.35 GiB total)
"""
NCCL = (
    "[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
    "600024 milliseconds before timing out.\n"
)
BEGAN = datetime(2024, 3, 1, 22, 0, 0)  # noqa: DTZ001 - logs tell no zone


def stamp(seconds: float) -> str:
    return f"{BEGAN + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} INFO "


def steps(last: int, *, total: int = 5000, timed: bool = False, first: int = 0) -> str:
    lines = (
        f"{stamp(n) if timed else ''}step {n}/{total} | train_loss {3 - n / 9000:.4f} | lr 1e-4\n"
        for n in range(first, last, 10)
    )
    return "".join(lines)


def waits(last: int, *, timed: bool = False) -> str:
    """A rank that tells no steps."""
    return "".join(f"{stamp(n) if timed else ''}prefetch is fine\n" for n in range(0, last, 60))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(**texts: str) -> list[str]:
    for name, text in texts.items():
        Path(f"{name}.log").write_text(text, encoding="utf-8")
    return [f"{name}.log" for name in texts]


def replayed(
    capsys: pytest.CaptureFixture[str], names: Sequence[str], *words: str
) -> tuple[list[dict[str, Any]], int]:
    capsys.readouterr()
    status = main(["replay", *names, "--run", "gpt", "--json", *words])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()], status


@pytest.mark.parametrize("timed", [False, True])
def test_the_root_is_found_over_all_ranks(timed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    names = put(
        rank0=steps(3000, timed=timed),
        rank1=waits(3000, timed=timed) + (stamp(3600) if timed else "") + NCCL,
        rank2=waits(3000, timed=timed) + (stamp(3601) if timed else "") + NCCL,
        rank3=waits(3000, timed=timed) + (stamp(3000) if timed else "") + "failed\n" + OOM,
    )
    said, status = replayed(capsys, names)
    assert status == 1
    *rest, run = said
    assert (run["run"], run["files"]) == ("gpt", names)
    assert (run["verdict"], run["cause"], run["cause_file"]) == ("failed", "cuda_oom", "rank3.log")
    assert run["lines"] == sum(Path(n).read_bytes().count(b"\n") for n in names)
    assert run["bytes"] == sum(Path(n).stat().st_size for n in names)
    assert run["last_step"] == 2990
    oom = next(r for r in rest if r.get("class") == "cuda_oom")
    place = Path("rank3.log").read_text(encoding="utf-8").splitlines()
    assert "OutOfMemoryError" in place[oom["line"] - 1]
    assert (oom["file"], oom["details"]["rank"]) == ("rank3.log", 3)
    ends = {r["file"]: (r["rank"], r["verdict"]) for r in rest if r["type"] == "end"}
    assert list(ends) == names
    assert ends["rank0.log"] == (0, "cut")
    assert ends["rank3.log"] == (3, "failed")


@pytest.mark.parametrize("timed", [False, True])
def test_trouble_of_a_rank_that_was_overcome_fails_nobody(
    timed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    middle = (stamp(1500) if timed else "") + "torch.cuda.OutOfMemoryError: CUDA out of memory\n"
    done = (stamp(3000) if timed else "") + "Training completed.\n"
    names = put(
        rank0=steps(3000, total=2991, timed=timed) + done,
        rank1=waits(1500, timed=timed) + middle + waits(3000, timed=timed),
    )
    said, status = replayed(capsys, names)
    assert (said[-1]["verdict"], said[-1]["cause"], status) == ("finished", None, 0)
    assert said[-1]["finished_at_file"] == "rank0.log"


def test_steps_of_many_ranks_are_one_series(capsys: pytest.CaptureFixture[str]) -> None:
    names = put(**{f"rank{r}": steps(2000, total=1991) for r in range(4)})
    said, status = replayed(capsys, names, "--metrics")
    assert status == 0
    assert [r for r in said if r["type"] == "finding"] == []
    metrics = [(r["file"], r["rank"], r["line"]) for r in said if r["type"] == "metric"]
    assert len(metrics) == len(set(metrics)) == 800
    assert said[-1]["last_step"] == 1990


def test_a_nan_on_one_rank_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    nan = "".join(f"step {n}/5000 | train_loss nan | lr 1e-4\n" for n in range(1000, 1500, 10))
    names = put(rank0=steps(1500), rank1=steps(1000) + nan)
    said, _ = replayed(capsys, names)
    found = next(r for r in said if r.get("class") == "loss_nan")
    assert (found["file"], found["line"]) == ("rank1.log", 101)


def test_standard_error_beside_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        Path(f"attempt_0/{rank}").mkdir(parents=True)
    Path("attempt_0/0/stderr.log").write_text("a warning\n")
    Path("attempt_0/0/stdout.log").write_text(steps(900))
    Path("attempt_0/1/stderr.log").write_text(OOM + "and more\n" * 60)
    names = sorted(map(str, Path("attempt_0").rglob("*.log")))
    said, _ = replayed(capsys, names)
    assert (said[-1]["cause"], said[-1]["cause_file"]) == ("cuda_oom", "attempt_0/1/stderr.log")


def test_a_later_attempt_overcomes_an_earlier_one(capsys: pytest.CaptureFixture[str]) -> None:
    for attempt, text in ((0, steps(900) + OOM), (1, steps(2000, total=1991, first=500))):
        Path(f"attempt_{attempt}/0").mkdir(parents=True)
        Path(f"attempt_{attempt}/0/stdout.log").write_text(text)
    said, status = replayed(capsys, ["attempt_1/0/stdout.log", "attempt_0/0/stdout.log"])
    assert (said[-1]["verdict"], status) == ("finished", 0)


def test_parts_of_a_rotated_log_are_read_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = steps(3000) + OOM
    lines = text.splitlines(keepends=True)
    last = lines.index("    loss.backward()\n")  # the traceback is cut in two
    Path("app.log.2.gz").write_bytes(gzip.compress("".join(lines[:100]).encode()))
    Path("app.log.1").write_text("".join(lines[100:last]))
    Path("app.log").write_text("".join(lines[last:]))
    said, _ = replayed(capsys, ["app.log", "app.log.1", "app.log.2.gz"], "--metrics")
    run = said[-1]
    assert run["files"] == ["app.log.2.gz", "app.log.1", "app.log"]
    assert (run["cause"], run["cause_file"], run["cause_line"]) == ("cuda_oom", "app.log", 2)
    places = [(r["file"], r["line"]) for r in said if r["type"] == "metric"]
    assert places[99:101] == [("app.log.2.gz", 100), ("app.log.1", 1)]
    assert [r["lines"] for r in said if "rank" in r and r["type"] == "end"] == [
        100,
        last - 100,
        len(lines) - last,
    ]


def test_a_file_that_cannot_be_read_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = put(rank0=steps(300))
    said, status = replayed(capsys, [*names, "rank1.log"])
    assert status == 2
    assert said[-1]["files"] == names
    assert replayed(capsys, ["rank1.log"]) == ([], 2)


def test_a_name_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    names = put(rank0=steps(300), rank1=steps(300))
    capsys.readouterr()
    for words in (["--run", *names], [*names, "--run"]):
        assert main(["replay", "--json", *words]) == 0
        run = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (run["run"], run["files"]) == ("run", names)


def test_the_report_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = put(rank0=steps(3000), rank3=waits(3000) + OOM)
    assert main(["replay", *names, "--run", "gpt"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("gpt  2 files · ")
    assert "✗ FAILED" in text
    assert "cause     cuda_oom, rank3.log, line 54" in text
    assert "rank 3:54 ✗" in text
    table = text[text.index("FILE ") :].splitlines()
    assert [line.split()[:3] for line in table[1:3]] == [
        ["rank0.log", "0", "cut"],
        ["rank3.log", "3", "failed"],
    ]
