"""How a finished log ended, read over time: what recovered, what came after, what is noise."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.daemon.parsers.signatures import SIGNATURES
from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

from ..parsers.examples import EXAMPLES

SENTINELS = discover()


def read(*parts: str) -> list[dict[str, Any]]:
    bugs: list[str] = []
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    said = list(replay.read([part.encode() for part in parts], metrics=False))
    assert not bugs
    return said


def ending(*parts: str) -> tuple[str, str | None]:
    last = read(*parts)[-1]
    return last["verdict"], last["cause"]


def found(*parts: str) -> dict[str, dict[str, Any]]:
    return {r["class"]: r for r in read(*parts) if r["type"] == "finding"}


def steps(first: int, last: int, total: int | None = 1000, *, rank: int | None = None) -> str:
    of = "" if total is None else f"/{total}"
    prefix = "" if rank is None else f"[rank{rank}]: "
    return "".join(
        f"{prefix}step {n}{of} | train_loss {3 - n / 900:.4f} | lr 3.0e-04\n"
        for n in range(first, last + 1)
    )


OOM = """\
Traceback (most recent call last):
  File "/srv/train.py", line 9, in <module>
    loss.backward()
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB
"""
RAISED = """\
Traceback (most recent call last):
  File "/srv/train.py", line 9, in <module>
    main()
ValueError: the tokenizer has no padding token
"""
TIMED_OUT = (
    "[rank1]: [E ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600069 milliseconds\n"
)
TIME_LIMIT = (
    "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-10T15:27:25 DUE TO TIME LIMIT ***\n"
)
DONE = "Training completed.\n"
START = "***** Running training *****\n"


# ------------------------------------------------------------------------ the vocabulary


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.id)
def test_every_signature_comes_out_through_a_sentinel(row: Any) -> None:
    """Its wording in a small log gives a finding of its class, or a better one.

    Once, or three times in a row where one report alone proves nothing.
    """
    told = set[str]()
    for hit in EXAMPLES[row.id].hits:
        for times in (1, 3):
            told |= set(found(steps(1, 3), (hit + "\n") * times))
        if row.trouble in told:
            return
    pytest.fail(f"{row.id} is told as {sorted(told)}")


# ------------------------------------------------------------------------ what recovered


def test_the_run_went_on_after_a_fatal_line() -> None:
    assert ending(steps(1, 9), OOM, steps(10, 20)) == ("cut", None)
    assert found(steps(1, 9), OOM, steps(10, 20))["cuda_oom"]["severity"] == "info"


def test_one_step_after_a_fatal_line_waited_in_a_buffer() -> None:
    assert ending(steps(1, 9), OOM, steps(10, 10)) == ("failed", "cuda_oom")


def test_a_step_that_was_known_before_proves_nothing() -> None:
    assert ending(steps(1, 9), RAISED, steps(9, 10)) == ("failed", "python_exception")


def test_a_run_that_is_told_to_end_uses_its_time_of_grace() -> None:
    assert ending(steps(1, 9), TIME_LIMIT, steps(10, 14)) == ("failed", "slurm_time_limit")


def test_a_job_that_was_requeued_and_went_on() -> None:
    log = (steps(1, 90), TIME_LIMIT, START, steps(80, 1000), DONE)
    assert ending(*log) == ("finished", None)


def test_a_failure_after_a_restart_is_the_cause() -> None:
    assert ending(steps(1, 90), OOM, START, RAISED) == ("failed", "cuda_oom")
    mismatch = RAISED.replace("ValueError: the tokenizer has no padding token", "").strip()
    mismatch += "\nOSError: [Errno 28] No space left on device\n"
    assert ending(steps(1, 90), OOM, START, mismatch) == ("failed", "disk_full")


def test_a_restart_that_says_nothing_more_leaves_the_failure() -> None:
    assert ending(steps(1, 90), OOM, START) == ("failed", "cuda_oom")


def test_the_same_trouble_again_after_it_was_overcome() -> None:
    assert ending(steps(1, 9), OOM, steps(10, 30), OOM) == ("failed", "cuda_oom")


def test_a_loss_that_came_back_fails_nobody() -> None:
    nan = "".join(f"step {n}/1000 | train_loss nan | lr 3.0e-04\n" for n in (10, 11, 12))
    log = (steps(1, 9), nan, steps(13, 1000), DONE)
    assert ending(*log) == ("finished", None)
    assert found(*log)["loss_nan"]["severity"] == "warning"
    assert ending(steps(1, 9), nan) == ("failed", "loss_nan")


# ------------------------------------------------------------------------ root and fallout


def test_ranks_that_wait_are_not_the_cause() -> None:
    log = steps(1, 9), TIMED_OUT, OOM
    assert ending(*log) == ("failed", "cuda_oom")


def test_an_exception_before_the_timeout_of_the_others() -> None:
    assert ending(steps(1, 9), RAISED, TIMED_OUT) == ("failed", "python_exception")


def test_an_exception_that_the_timeout_raises() -> None:
    assert ending(steps(1, 9), TIMED_OUT, RAISED) == ("failed", "nccl_timeout")


def test_a_watchdog_that_repeats_what_its_gpu_said() -> None:
    said = "NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered\n"
    told = found(steps(1, 9), f"[E ProcessGroupNCCL.cpp:916] [Rank 1] {said}")
    assert told["cuda_ecc"]["severity"] == "critical"
    assert told.get("nccl_error", {"severity": "info"})["severity"] == "info"


# ------------------------------------------------------------------------ the end


def test_the_last_planned_step() -> None:
    assert ending(steps(1, 1000)) == ("finished", None)
    assert ending(steps(0, 999)) == ("finished", None)
    assert ending(steps(1, 990)) == ("cut", None)


def test_the_last_report_lies_one_interval_before_the_end() -> None:
    every = "".join(f"step {n}/995 | train_loss {3 - n / 900:.4f}\n" for n in range(50, 995, 50))
    assert ending(every) == ("finished", None)


def test_a_claim_that_the_numbers_contradict() -> None:
    assert ending(steps(1, 400), DONE) == ("cut", None)
    assert ending(steps(1, 400, None), DONE) == ("finished", None)


def test_a_claim_that_makes_the_plan_void() -> None:
    early = "Early stopping: training completed, no improvement for 10 evaluations.\n"
    assert ending(steps(1, 400), early) == ("finished", None)
    told = "{'train_runtime': 12.5, 'train_loss': 2.1, 'epoch': 3.0}\n"
    assert ending(steps(1, 400), told) == ("finished", None)


def test_a_claim_about_something_else() -> None:
    log = steps(1, 40, None), DONE, steps(41, 60, None)
    assert ending(*log) == ("cut", None)


def test_noise_after_the_end() -> None:
    assert ending(steps(1, 1000), DONE, TIMED_OUT) == ("finished", None)
    assert ending(steps(1, 1000), TIMED_OUT) == ("finished", None)


def test_no_claim_overrides_an_error_after_it() -> None:
    assert ending(steps(1, 1000), DONE, RAISED) == ("failed", "python_exception")


def test_what_is_lost_after_the_last_step() -> None:
    full = "OSError: [Errno 28] No space left on device\n"
    assert ending(steps(1, 1000), DONE, full) == ("failed", "disk_full")
    assert ending(steps(1, 1000), OOM) == ("failed", "cuda_oom")


def test_a_last_evaluation_out_of_its_rhythm() -> None:
    log = ""
    for n in range(1, 1001):
        log += f"step {n} | train_loss {3 - n / 900:.4f}\n"
        if n % 128 == 0:
            log += f"step {n} | val_loss {3 - n / 900:.4f}\n"
    assert ending(log) == ("cut", None)
    assert ending(log + "step 1001 | val_loss 1.9\n") == ("finished", None)


def test_a_learning_rate_that_ran_out() -> None:
    def log(last: int) -> str:
        rows = (
            f"step {n} | train_loss 2.0 | lr {3e-4 * (1000 - n) / 1000:.4e}\n" for n in range(last)
        )
        return "".join(rows)

    assert ending(log(1000)) == ("finished", None)
    assert ending(log(900)) == ("cut", None)
    stepwise = "".join(
        f"step {n} | train_loss 2.0 | lr {1e-2 * 0.1 ** (n // 50):.4e}\n" for n in range(300)
    )
    assert ending(stepwise) == ("cut", None)


def test_arguments_refused_with_other_words_are_another_start() -> None:
    first = "train.py: error: argument --lora: invalid choice: 'x'\n"
    second = "train.py: error: argument --fp16: Truthy value expected: got s\n"
    said = read(first, "usage: train.py [-h]\n" * 40, second, second)
    assert [r["line"] for r in said if r["type"] == "finding"] == [1, 42]


def test_a_crash_while_the_program_is_taken_down() -> None:
    """The exception that ended it had gone through the top of its script."""
    crash = "FatalError: `Segmentation fault` is detected by the operating system.\n"
    assert ending(steps(1, 60), RAISED, crash) == ("failed", "python_exception")
    assert ending(steps(1, 60), crash) == ("failed", "segfault")


def test_a_loss_that_has_no_number_yet() -> None:
    """The mean of nothing, until the buffer of an agent is full."""
    warm_up = "".join(f"episode={n} step={n * 9} reward=9.0 loss=nan\n" for n in range(1, 16))
    learns = "".join(
        f"episode={n} step={n * 9} reward=9.0 loss={2 - n / 900:.4f}\n" for n in range(16, 400)
    )
    assert ending(warm_up, learns, "training finished\n")[0] == "finished"
    assert ending(learns, warm_up, "training finished\n") == ("failed", "loss_nan")


def test_a_spinner_that_stands_far_from_its_end() -> None:
    table = "key      | value    | mean\nmel/loss | 0.823981 | 0.851631\n"
    bars = "\u2827 Iteration (train) 1001/2500000   0:04:09 / 111:43:06\n\u2827 Iteration (val)   0/21   0:00:00 / -:--:--\n"
    assert ending(table, bars)[0] == "cut"


def test_a_worker_that_ended_with_an_exception_of_its_own() -> None:
    frames = RAISED.rpartition("ValueError")[0]
    died = (
        f"{frames}RuntimeError: DataLoader worker (pid 7) exited unexpectedly with exit code 1.\n"
    )
    assert ending(steps(1, 60), RAISED, died) == ("failed", "python_exception")
    assert ending(steps(1, 60), died) == ("failed", "dataloader_worker_killed")


def test_a_module_is_missing_and_then_another_one() -> None:
    frames = RAISED.rpartition("ValueError")[0]
    one, other = (
        f"{frames}ModuleNotFoundError: No module named '{name}'\n" for name in ("jax", "optuna")
    )
    told = [r for r in read(one, "some line\n", other) if r["type"] == "finding"]
    assert [t["details"]["message"] for t in told] == [
        "No module named 'jax'",
        "No module named 'optuna'",
    ]
    assert [t["severity"] for t in told] == ["info", "critical"], "the last attempt is what counts"


def trials(first: int, last: int) -> str:
    return "".join(
        f"[I 2026-11-28 01:27:{n:02d},9] Trial {n} finished with value: 0.7{n:02d} and parameters: {{'c': {n}}}.\n"
        for n in range(first, last + 1)
    )


def test_the_error_of_one_trial_is_none_of_the_search() -> None:
    failed = "[W 2026-11-28 01:27:09,9] Trial 9 failed with value None.\n"
    closing = "Number of finished trials: 20\nBest trial: 3\n"
    assert ending(trials(1, 8), RAISED, failed, trials(10, 20), closing)[0] != "failed"
    assert ending(trials(1, 8), RAISED, failed) == ("failed", "python_exception")
    assert ending(trials(1, 8), RAISED, failed, RAISED) == ("failed", "python_exception")
