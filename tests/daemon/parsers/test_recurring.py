"""What the lines of a live log without a report are about."""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.recurring import LiveReader, RecurringLines


class Log:
    def __init__(self) -> None:
        self.reader = LiveReader("train.log")
        self.now = 0.0

    def prints(self, *lines: str) -> Log:
        self.now += 1.0
        self.reader.feed("".join(f"{line}\n" for line in lines).encode(), self.now)
        return self


@pytest.mark.parametrize(
    "line",
    [
        "batch 7 failed: shape mismatch, skipping",
        "WARNING skipping batch 88 due to error: CUDA error",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        "could not decode clip_7.mp4",
        "第 7 批失败，跳过",
        "request timed out, retrying (3/10)",
    ],
)
def test_complaints(line: str) -> None:
    signs = Log().prints(line).reader.signs
    assert (signs.complaints, signs.fresh) == (1, 0)
    assert signs.complaint == line


@pytest.mark.parametrize(
    "line",
    [
        "shard 7 done, 0 failed",
        "mean absolute error: 0.31",
        "MeanSquaredError: 0.0231",
        "no errors in shard 7",
        "error rate 0.02",
        "-- generation 7 through --",
    ],
)
def test_no_complaints(line: str) -> None:
    signs = Log().prints(line).reader.signs
    assert (signs.complaints, signs.fresh) == (0, 1)


def test_lines_that_come_again_are_usual() -> None:
    log = Log()
    for n in range(10):
        log.prints(f"-- generation {n} through --")
    signs = log.reader.signs
    assert (signs.fresh, signs.usual, signs.usual_at, signs.fresh_at) == (3, 7, 10.0, 10.0)


def test_lines_between_reports_are_background_also_when_reports_end() -> None:
    log = Log()
    for n in range(10):
        log.prints(f"step {n} loss 2.{n}").prints(f"[monitor] rss {n} MiB")
    then = log.reader.signs
    for n in range(10):
        log.prints(f"[monitor] rss {n} MiB")
    assert log.reader.signs == then
    assert then.fresh_at < log.now - 10


def test_lines_of_an_evaluation_are_no_background() -> None:
    log = Log()
    for _ in range(4):
        log.prints("step 5 loss 2.1")
        for n in range(10):
            log.prints(f"judged answer {n}")
    assert log.reader.signs.fresh_at == log.now


def test_a_traceback_is_one_complaint() -> None:
    said = (
        "Traceback (most recent call last):",
        '  File "a.py", line 3',
        "    go()",
        "KeyError: 1",
    )
    signs = Log().prints(*said).reader.signs
    assert (signs.complaints, signs.fresh, signs.complaint) == (1, 0, "KeyError: 1")


def test_a_dump_is_not_counted_line_by_line() -> None:
    signs = Log().prints(*(f"row {n}" for n in range(9000))).reader.signs
    assert (signs.fresh, signs.usual) == (1, 0)


def epochs(log: Log, first: int, last: int, *beside: str, report: bool = True) -> Log:
    """Epochs with two reports each, and lines in which ``{}`` is the epoch."""
    for epoch in range(first, last + 1):
        if report:
            log.prints(f"epoch {epoch} it 10/20 mse {1 / epoch:.4f}")
            log.prints(f"epoch {epoch} it 20/20 mse {1 / epoch:.4f}")
        log.prints(*(line.format(epoch) for line in beside))
    return log


UPLOADED = "[INFO] uploaded ae-epoch{:02d}.npz (0.9 MB)"
FAILED = "[ERROR] upload of ae-epoch{:02d}.npz failed: 507 Insufficient Storage for http://store/ae"


def test_an_error_in_the_place_of_a_usual_line() -> None:
    log = epochs(Log(), 1, 4, UPLOADED, "[INFO] lr is now 0.{:02d}")
    epochs(log, 5, 6, FAILED, "[INFO] lr is now 0.{:02d}")
    assert log.reader.signs.instead == ""
    signs = epochs(log, 7, 8, FAILED, "[INFO] lr is now 0.{:02d}").reader.signs
    assert (signs.instead, signs.instead_of) == (FAILED.format(8), UPLOADED.format(1))
    assert signs.instead_times == 4
    signs = epochs(log, 9, 9, UPLOADED).reader.signs
    assert (signs.instead, signs.instead_of) == ("", UPLOADED.format(9))


@pytest.mark.parametrize(
    "beside",
    [
        (UPLOADED, FAILED),  # a retry that works
        ("[INFO] val_loss improved, saving model", FAILED),
    ],
)
def test_an_error_beside_it_is_none(beside: tuple[str, ...]) -> None:
    log = epochs(Log(), 1, 4, beside[0])
    assert epochs(log, 5, 12, *beside).reader.signs.instead == ""


@pytest.mark.parametrize(
    "after",
    [
        "val_loss did not improve, saving skipped",
        "EarlyStopping counter: {} out of 20",
        "cannot plot: no display",  # nothing in common with what stays away
    ],
)
def test_other_things_that_come_instead(after: str) -> None:
    log = epochs(Log(), 1, 5, "val_loss improved, saving model to best.pt")
    assert epochs(log, 6, 14, after).reader.signs.instead == ""


def test_errors_from_the_start_and_lines_that_came_once() -> None:
    assert epochs(Log(), 1, 9, FAILED).reader.signs.instead == ""
    log = epochs(epochs(Log(), 1, 1, UPLOADED), 2, 9, FAILED)
    assert log.reader.signs.instead == ""


def test_whoever_says_again_and_again_that_he_waits_gets_nowhere() -> None:
    log = Log()
    for n in range(9):
        log.prints(f"paso {n} perdida 2.{n}")
    heard = [
        log.prints(f"esperando el fragmento 18 ({n} s)").reader.signs.fresh_at for n in range(1, 30)
    ]
    assert heard[-1] == 12.0
    counted = [log.prints(f"translated {n}/40").reader.signs.fresh_at for n in range(1, 30)]
    assert counted[-1] == log.now


def test_the_usual_lines_of_a_second_evaluation_are_heard() -> None:
    log = Log()
    for epoch in range(3):
        log.prints(f"step {epoch} loss 2.1")
        for n in range(6):
            log.prints(f"wrote picture {n}")
    assert log.reader.signs.fresh_at == log.now


def test_complaints_that_count_on_are_a_row() -> None:
    log = Log()
    for batch in range(40):
        log.prints(
            f"skipping batch {batch % 30}: The size of tensor a (32) must match tensor b (31)"
        )
        if batch % 30 == 29:
            log.prints(f"epoch {batch // 30} loss 2.1657 acc 0.457")
    signs = log.reader.signs
    assert (signs.row, signs.row_reports) == (40, 1)
    assert signs.row_text.startswith("skipping batch 9:")


def test_a_row_goes_on_over_epochs_in_any_language() -> None:
    log = Log()
    for batch in range(100):
        log.prints(
            f"эпоха {batch // 40} батч {batch % 40 + 1} пропущен: [Errno 2] No such file: 'u_{batch * 7}.npz'"
        )
    assert log.reader.signs.row == 100


@pytest.mark.parametrize("gap", [2, 5, 9])
def test_complaints_with_gaps_are_none(gap: int) -> None:
    log = Log()
    for batch in range(0, 40 * gap, gap):
        log.prints(f"skipping batch {batch}: truncated image")
    assert log.reader.signs.row == 0


def test_a_report_takes_back_the_time_at_which_the_run_goes_on() -> None:
    lines = RecurringLines()
    lines.add(b"20:00:00 paused, goes on at 20:10:00\n", 0, 100.0)
    assert lines.signs.goes_on_at == 700.0
    lines.add(b"20:00:05 step 3 eta 20:30:00\n", 1, 105.0)
    assert lines.signs.goes_on_at == 0.0
