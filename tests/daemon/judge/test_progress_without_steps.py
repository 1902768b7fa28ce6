"""Runs that show their progress without step numbers, from the text of the log to the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.sentinels.kit import (
    CheckpointSeen,
    Finding,
    LogGrowth,
    ProcessesSeen,
    ProcessSample,
    RunFacts,
    Severity,
    StackSeen,
    discover,
)
from middlewatch.sentinels.kit.pace.suspects import suspects
from middlewatch.sentinels.kit.recovery import OpenIncident

BEGIN = 1_760_000_000.0
PID = 100


class Run:
    """A run with one log and one process, second by second, as the daemon would see it."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.history = RunHistory(RunFacts("run7", BEGIN, BEGIN, PID), BoxHistory())
        self.reader = LiveReader("/data/train.log")
        self.cpu_s = 0.0
        self.moved = 0.0
        self.through_sockets = 0.0
        self.printed = 0
        self.grown_at = BEGIN
        self.rank: int | None = None
        self.told: list[tuple[float, Finding]] = []

    def prints(self, *lines: str) -> Run:
        data = "".join(f"{line}\n" for line in lines).encode()
        for one in self.reader.feed(data, self.now):
            self.history.add(one)
        self.printed += len(data)
        self.grown_at = self.now
        self._growth()
        return self

    def _growth(self) -> None:
        self.history.add(
            LogGrowth(
                self.now,
                "/data/train.log",
                self.printed,
                self.reader.lines,
                self.grown_at,
                signs=self.reader.signs,
            )
        )

    def lives(
        self,
        seconds: float,
        cores: float = 0.0,
        bytes_per_s: float = 0.0,
        socket_bytes_per_s: float | None = None,
        stack: tuple[str, ...] = (),
    ) -> Run:
        for second in range(int(seconds)):
            self.now += 1
            self.cpu_s += cores
            self.moved += bytes_per_s
            self.through_sockets += socket_bytes_per_s or 0.0
            counted = second % 5 == 0 and socket_bytes_per_s is not None
            sample = ProcessSample(
                PID, 7, 1, "python", "S", self.cpu_s, self.rank, 0, int(self.moved),
                socket_bytes=int(self.through_sockets) if counted else None,
            )  # fmt: skip
            self.history.add(ProcessesSeen(self.now, (sample,)))
            if stack and second % 5 == 0 and suspects(self.view(), discover()["hang"].limits):
                self.history.add(StackSeen(self.now, PID, stack, own=len(stack) - 1))
            found = self.asks() if int(self.now) % 3 == 0 else []
            if found and not any(f.severity == found[0].severity for _, f in self.told):
                self.told.append((self.now, found[0]))
        return self

    def view(self) -> Any:
        return self.history.view(self.now)

    def asks(self) -> list[Finding]:
        return discover()["hang"](self.view())

    def first(self, begin: float, severity: Severity = Severity.CRITICAL) -> tuple[float, Finding]:
        """(seconds since ``begin``, the finding) of the first one of this severity."""
        at, finding = next((at, f) for at, f in self.told if f.severity is severity)
        return at - begin, finding


@pytest.fixture
def run() -> Run:
    return Run()


def hf(epoch: float) -> str:
    return str({"loss": 2.31 - epoch, "grad_norm": 1.2, "learning_rate": 4e-05, "epoch": epoch})


# -- hangs ---------------------------------------------------------------------------------------


def test_reports_that_have_only_an_epoch(run: Run) -> None:
    run.prints("loading the tokenizer").lives(20, 0.9)
    for n in range(20):
        run.prints(hf(round(0.02 * n, 2))).lives(10, 0.9)
    begin = run.now - 10
    after_s, finding = run.lives(200).first(begin)
    assert after_s <= 79
    assert finding.summary.startswith("no progress since the last report for ")
    assert len(run.told) == 1


@pytest.mark.parametrize(
    "line",
    ["epoch {n}: loss 0.4{n} acc 0.81", "Epoch {n} finished, train_loss=0.3{n}, val_loss=0.4{n}"],
)
def test_one_line_an_epoch(run: Run, line: str) -> None:
    for n in range(1, 12):
        run.lives(30, 0.95).prints(line.format(n=n))
    begin = run.now
    after_s, _ = run.lives(400).first(begin)
    assert after_s <= 110


def test_lines_of_the_usual_shape_that_no_grammar_knows(run: Run) -> None:
    run.prints("reading the maze", "12 agents", "go")
    for n in range(20):
        run.lives(15, 0.7).prints(f"-- generation {n} through, champion #{n * 7} --")
    begin = run.now
    after_s, finding = run.lives(400).first(begin)
    assert after_s <= 320
    assert finding.summary.startswith("no progress since the last usual line for 5 min")


def test_a_hang_right_after_a_save_that_is_over(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("saved checkpoint to out/step_60.pt")
    begin = run.now
    after_s, _ = run.lives(100).first(begin)
    assert after_s <= 79


def test_a_hang_after_a_save_that_was_announced_and_is_over(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("saving checkpoint to out/step_60.pt").lives(5, 0.5, 2e6)
    run.prints("checkpoint saved to out/step_60.pt in 4.9 s")
    assert run.lives(100).told


def test_a_hang_after_the_result_of_an_evaluation(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("running evaluation").lives(20, 1.0).prints("step 60 val_loss 2.41")
    begin = run.now
    after_s, _ = run.lives(120).first(begin)
    assert after_s <= 85


def test_a_thread_that_talks_on_does_not_hide_a_hang(run: Run) -> None:
    for n in range(1, 121):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
        if n % 5 == 0:
            run.prints(f"[monitor] rss {n} MiB, queue 4")
    begin = run.now
    for _ in range(40):
        run.lives(5, 0.001).prints("[monitor] rss 480 MiB, queue 4")
    after_s, _ = run.first(begin)
    assert after_s <= 85


@pytest.mark.parametrize("pause", ["early", "after ten steps"])
def test_batches_that_all_fail(run: Run, pause: str) -> None:
    if pause != "early":
        for n in range(1, 31):
            run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    begin = run.now
    for n in range(330):
        run.prints(f"batch {n} failed, skipping").lives(1, 0.9)
    after_s, finding = run.first(begin, Severity.WARNING)
    assert after_s <= 140
    after_s, finding = run.first(begin)
    assert after_s <= 320
    assert "fails over and over" in finding.summary
    assert (
        "batch 299 failed, skipping" in finding.summary or "lines like 'batch " in finding.summary
    )


def test_a_run_that_saves_the_same_weights_while_every_batch_fails(run: Run) -> None:
    for epoch in (1, 2):
        for n in range(1, 31):
            run.lives(1, 0.9).prints(f"轮次 {epoch} 步 {n}/30 损失 3.{n}")
    begin = run.now
    for n in range(150):
        run.prints(
            f"WARNING 轮次 3 步 {n} 批次处理失败,已跳过: The size of tensor a (32) must match"
        )
        run.lives(1, 0.9)
        if n % 20 == 0:
            path = "/data/ocr.pt"
            run.history.checkpoints = [CheckpointSeen(run.now, path, run.now, 9, 1, "torch", 60.0)]
    after_s, finding = run.first(begin, Severity.WARNING)
    assert after_s <= 90
    assert "fails over and over" in finding.summary


def test_tracebacks_that_are_printed_for_every_batch(run: Run) -> None:
    for n in range(1, 31):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    begin = run.now
    for _ in range(150):
        run.prints(
            "Traceback (most recent call last):",
            '  File "train.py", line 41, in main',
            "    loss = step(batch)",
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 9x2)",
        ).lives(1, 0.9)
    after_s, finding = run.first(begin)
    assert after_s <= 130
    assert finding.details["verdict"] == "failing"


LOCKED = (
    "acquire (python/threading.py:327)",
    "get (python/queue.py:171)",
    "next_batch (train.py:41)",
)
CHILD = (
    "Popen._wait (python/subprocess.py:2014)",
    "Popen.wait (python/subprocess.py:1264)",
    "evaluate (train.py:55)",
)


def test_few_epochs_and_a_stack_that_waits_for_a_lock(run: Run) -> None:
    for n in range(1, 4):
        run.lives(12, 0.9).prints(f"epoch {n:02d} loss 0.4{n}")
    begin = run.now
    after_s, finding = run.lives(400, stack=LOCKED).first(begin, Severity.WARNING)
    assert after_s <= 85
    assert "waits for a lock (acquire at train.py:41)" in finding.summary
    assert run.first(begin)[0] <= 320


def test_an_announced_evaluation_that_waits_for_a_dead_child(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("running evaluation")
    begin = run.now
    after_s, finding = run.lives(120, stack=CHILD).first(begin, Severity.WARNING)
    assert after_s <= 85
    assert "waits for a child process that does nothing" in finding.summary


def test_a_save_that_lies_on_disk_is_over(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("=> saving checkpoint").lives(5, 0.5, 2e6)
    path = "/data/out/step_60.pt"
    run.history.checkpoints = [CheckpointSeen(run.now, path, run.now - 1, 9, 1, "torch", 60.0)]
    begin = run.now
    assert run.lives(100).first(begin)[0] <= 80


RENDEZVOUS = (
    "_create_c10d_store (torch/distributed/rendezvous.py:189)",
    "_env_rendezvous_handler (torch/distributed/rendezvous.py:270)",
    "init_process_group (torch/distributed/distributed_c10d.py:1710)",
    "wrapper (torch/distributed/c10d_logger.py:95)",
    "main (train.py:12)",
)


def test_a_master_that_never_comes(run: Run) -> None:
    run.prints("node 1 of 2").lives(8, 1.0)
    begin = run.now
    after_s, finding = run.lives(600, stack=RENDEZVOUS).first(begin, Severity.WARNING)
    assert after_s <= 80
    assert "waits for the other processes of its job (init_process_group at train.py:12)" in (
        finding.summary
    )
    assert "MASTER_ADDR" in finding.remedy
    assert run.first(begin)[0] <= 400


def test_it_says_that_reports_came_again(run: Run) -> None:
    for n in range(20):
        run.prints(hf(round(0.02 * n, 2))).lives(10, 0.9)
    run.lives(100)
    opened_at = run.told[0][0]
    case = OpenIncident("hang", "progress", opened_at, opened_at)
    hang = discover()["hang"]
    assert hang.recovered is not None
    assert hang.recovered(run.view(), hang.limits, case) == ""
    run.prints(hf(0.41)).lives(10, 0.9)
    said = hang.recovered(run.view(), hang.limits, case)
    assert said.startswith("it went on by itself after ")
    assert said.endswith(": a report came again")


# -- healthy -------------------------------------------------------------------------------------


def test_data_is_prepared_with_many_bad_files(run: Run) -> None:
    for n in range(500):
        run.prints(f"skipping clip_{n}.wav: too short").lives(1, 0.9)
    assert run.told == []


def test_an_announced_evaluation_elsewhere_that_sleeps(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("running evaluation")
    polls = ("poll_until_done (judge.py:12)", "evaluate (train.py:55)")
    assert run.lives(900, stack=polls).told == []


def test_lines_of_the_start_are_no_rhythm(run: Run) -> None:
    for n in range(12):
        run.prints(f"shard {n} of 12 opened").lives(1, 0.9)
    assert run.lives(900).told == []


def test_an_evaluation_between_reports_that_burns_cpu(run: Run) -> None:
    for n in range(20):
        run.prints(hf(round(0.02 * n, 2))).lives(10, 0.9)
    assert run.lives(900, 0.9).told == []


def test_an_evaluation_that_complains_about_its_data(run: Run) -> None:
    for n in range(1, 31):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("running evaluation")
    for n in range(250):
        run.prints(f"WARNING skipping sample {n}: no reference").lives(1, 0.9)
    assert run.told == []


def test_an_upload_that_is_slow_but_moves(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("uploading checkpoint out/step_60.pt to s3://bucket/run7")
    assert run.lives(1500, 0.001, 0.0, 700.0).told == []


def test_an_upload_that_nothing_announced(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    assert run.lives(900, 0.001, 0.0, 40_000.0).told == []


def test_an_upload_whose_connection_is_dead(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("uploading checkpoint out/step_60.pt to s3://bucket/run7")
    begin = run.now
    after_s, finding = run.lives(600, 0.0, 0.0, 0.0).first(begin)
    assert after_s <= 320
    assert "(transfer announced)" in finding.summary


def test_a_tracker_that_sends_now_and_then_is_no_transfer(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    begin = run.now
    for _ in range(4):
        run.lives(1, 0.001, 0.0, 30_000.0).lives(29, 0.001, 0.0, 0.0)
    assert run.first(begin)[0] <= 85


def test_a_slow_save_that_was_claimed_too_early(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    run.prints("model weights saved to out/step_60/model.safetensors")
    assert run.lives(300, 0.05, 3e6).told == []


def test_retries_that_end(run: Run) -> None:
    for n in range(1, 61):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    for n in range(12):
        run.prints(f"fetching shard 7 failed, retrying ({n}/20)").lives(3, 0.01)
    for n in range(61, 120):
        run.lives(1, 0.9).prints(f"step {n} loss 2.{n}")
    assert run.told == []


def test_a_restart_keeps_the_rhythm_of_reports(run: Run) -> None:
    for n in range(20):
        run.prints(hf(round(0.02 * n, 2))).lives(10, 0.9)
    other = RunHistory(run.history.facts, BoxHistory())
    other.restore(run.history.save())
    run.history = other
    begin = run.now - 10
    assert run.lives(200).first(begin)[0] <= 90
