"""How programs end, as the last lines of their logs show it; and how they look when cut off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from middlewatch.daemon.parsers.last_words import hear, last_words
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import LastWords, ProcessEnded


def loop(line: str, steps: int, *, of: int = 0, start: int = 0) -> str:
    """What a plain training loop prints; ``{i}`` counts from 0 and ``{i1}`` from 1."""
    return "".join(
        line.format(i=i, i1=i + 1, n=of or steps, loss=2.0 / (i + 1) ** 0.5) + "\n"
        for i in range(start, steps)
    )


def epochs(head: str, count: int, *, of: int, foot: str = "") -> str:
    """Epochs with a head line, five lines of batches, and perhaps a line at their end."""
    batches = "".join(f"  batch {b}/50 loss {2 / b:.4f}\n" for b in range(10, 51, 10))
    return "".join(head.format(e=e, of=of) + "\n" + batches + foot for e in range(1, count + 1))


def bars(last: int, of: int, label: str = "", every: int = 4) -> str:
    """A progress bar that is redrawn in place."""
    return "".join(
        f"\r{label}{i * 100 // of:3d}%|{'█' * (i * 10 // of)}| {i}/{of} [00:05<00:10, 9.8it/s, loss={2 / (i + 1):.3f}]"
        for i in range(0, last + 1, every)
    )


def heard(text: str) -> LastWords:
    reader = LogReader("/data/train.log")
    for line in text.encode().splitlines(keepends=True):
        reader.feed(line, 1.0)
    return last_words(reader.tail)


REACHED = {
    "the last of a count from 0": loop("step {i}/{n}: loss {loss:.4f}", 200),
    "brackets": loop("[{i1}/{n}] loss={loss:.4f} lr=1e-3", 200),
    "words": loop("iter {i1} of {n} | loss {loss:.4f}", 200),
    "parentheses": loop("Iteration ({i1}/{n}) Loss: {loss:.4f}", 200),
    "epochs alone": loop("Epoch [{i1}/{n}], Loss: {loss:.4f}, Val: 0.8", 40),
    "epochs from 0": loop("epoch {i}/{n} train_loss={loss:.4f} val_loss=0.8", 40),
    "few epochs from 0": loop("epoch {i}/{n} train_loss={loss:.4f} val_loss=0.8", 5),
    "leading zeros": loop("Epoch: {i1:03d}/{n:03d} | Loss: {loss:.4f} | Time: 1.2s", 40),
    "percent": loop("progress {i1}%  loss {loss:.4f}", 100),
    "epochs of batches": epochs("Epoch {e}/{of}", 5, of=5, foot="  val_loss 0.5\n"),
    "heads without totals of batches": "".join(
        f"--- epoch {e} of 5 ---\n" + "".join(f"batch {b} loss 0.{b}\n" for b in range(5))
        for e in range(1, 6)
    ),
    "a bar": bars(400, 400) + "\n",
    "bars of epochs": "".join(bars(48, 48, f"Epoch {e}/3: ") + "\n" for e in range(1, 4)),
    "lines of an interval": "".join(f"step {i}/1000 loss 0.{i}\n" for i in range(0, 1000, 50)),
    "verbose Keras": "".join(
        f"Epoch {e}/8\n20/20 - 0s - 7ms/step - loss: {9 / e:.4f} - val_loss: {9 / e:.4f}\n"
        for e in range(1, 9)
    ),
}
NOT_REACHED = {
    "steps": loop("step {i}/{n}: loss {loss:.4f}", 120, of=400),
    "epochs": loop("Epoch [{i1}/{n}], Loss: {loss:.4f}, Val: 0.8", 12, of=40),
    "epochs from 1": loop("Epoch [{i1}/{n}], Loss: {loss:.4f}", 4, of=5),
    "a bar": bars(116, 400),
    "a bar that is full, of an epoch that is not the last": "".join(
        bars(48, 48, f"Epoch {e}/9: ") + "\n" for e in range(1, 4)
    ),
    "in the last epoch": epochs("Epoch {e}/{of}", 4, of=5, foot="  val_loss 0.5\n")
    + "Epoch 5/5\n  batch 10/50 loss 0.2\n  batch 20/50 loss 0.1\n",
    "at the head of the last epoch": epochs("Epoch {e}/{of}", 4, of=5) + "Epoch 5/5\n",
    "heads without totals of batches": "".join(
        f"--- epoch {e} of 5 ---\n" + "".join(f"batch {b} loss 0.{b}\n" for b in range(5))
        for e in range(1, 5)
    )
    + "--- epoch 5 of 5 ---\nbatch 0 loss 0.1\n",
    "after a save": loop("step {i1}/{n} loss {loss:.4f}", 120, of=1000)
    + "saved checkpoint to ckpt/step_120.pt\n",
    "saves and evaluations between": "".join(
        f"step {i}/1000 loss {2 / i:.4f}\n" + ("eval: acc 0.5, best 0.6\n" if i % 40 == 0 else "")
        for i in range(1, 121)
    ),
}
STOPS = (
    "Early stopping at epoch 12",
    "EarlyStopping counter: 5 out of 5\nEarly stopping",
    "no improvement for 10 epochs, stopping training",
    "Validation loss did not improve for 8 evaluations - stopping.",
    "patience exhausted (5/5); best epoch was 7",
    "Stopping early: val loss plateaued. best=0.231 @ epoch 7",
    "reached time budget of 3600s, stopping",
    "Time limit (0.05 h) reached, leaving the training loop",
    "target accuracy 0.95 reached at epoch 12",
    "converged: loss change below 1e-6",
    "Restoring model weights from the end of the best epoch: 7.",
    "loss below threshold, finishing",
    "wall clock budget used up, ending run",
    "stop file found, exiting cleanly",
    "max_time=00:00:10 reached",
    "提前停止",
)
ENDS = (
    "Done.",
    "Training complete in 0m 34s\nBest val Acc: 0.93",
    '{"event": "finished", "best": 0.2}',
    "2025-11-22 10:04:00,123 INFO trainer: all steps done, total 200.3s",
    "saved final model to out/final.pt",
    "final test accuracy: 0.912\nwrote results to out/results.json",
    "训练结束",
    "Training beendet, bestes Modell gespeichert",
)
RESULTS = (
    "best val acc 0.93 at epoch 33",
    "Test set: Average loss: 0.0321, Accuracy: 9891/10000 (99%)",
    "best iteration: 87",
    "saved weights of the best epoch",
    "elapsed: 00:12:33",
    "{'hidden_size': 256, 'dropout': 0.1, 'activation': 'relu', 'encoder_layers': 1}",
)
NOTHING = (
    "UserWarning: the given buffer is not writable",
    "EarlyStopping counter: 2 out of 5",
    "Epoch 12: val_loss did not improve from 0.23",
    "evaluating on 5000 samples",
    "saved checkpoint to ckpt/step_120.pt",
    "Connection to the store was lost, retrying",
    "received signal 15, stopping",
    "RuntimeError: stopped by an error, training finished",
)
LOOPS: dict[str, Callable[[], str]] = {
    "epochs": lambda: loop("Epoch {i1}/{n} loss {loss:.4f} val_loss 0.8", 12, of=100),
    "steps": lambda: loop("step {i1} loss {loss:.4f}", 300),
    "bar": lambda: bars(116, 400) + "\n",
}


@pytest.mark.parametrize("name", REACHED)
def test_counters_at_their_totals(name: str) -> None:
    assert heard(REACHED[name]).reached is True


@pytest.mark.parametrize("name", NOT_REACHED)
def test_counters_below_their_totals(name: str) -> None:
    assert heard(NOT_REACHED[name]).reached is False


def test_where_a_cut_run_stood() -> None:
    assert heard(NOT_REACHED["steps"]).counted == (119.0, 400.0)
    assert heard(NOT_REACHED["in the last epoch"]).counted == (5.0, 5.0)
    assert heard(LOOPS["steps"]()).counted is None


@pytest.mark.parametrize("before", LOOPS)
@pytest.mark.parametrize(
    ("line", "farewell"),
    [
        *((line, "stop") for line in STOPS),
        *((line, "end") for line in ENDS),
        *((line, "results") for line in RESULTS),
        *((line, "") for line in NOTHING),
    ],
)
def test_closing_lines(before: str, line: str, farewell: str) -> None:
    words = heard(LOOPS[before]() + line + "\n")
    assert words.farewell == farewell
    assert words.last_line == line.split("\n")[-1]


def test_words_that_came_in_the_loop_say_nothing_about_its_end() -> None:
    epoch = "step {i}/1000 loss 0.5\nEpoch {i} finished, best accuracy 0.6, early stopping wait 1\n"
    words = heard("".join(epoch.format(i=i) for i in range(30)))
    assert (words.farewell, words.closing) == ("", ())


def test_a_bar_that_is_drawn_once_more_after_the_words() -> None:
    bar = "".join(bars(48, 48, f"Epoch {e}: ") + "\n" for e in range(1, 4))
    words = heard(
        bar
        + "Monitored metric did not improve in the last 3 records. Stopping.\n"
        + bars(48, 48, "Epoch 3: ")
    )
    assert words.farewell == "stop"


def test_a_bar_of_something_else_is_no_plan() -> None:
    lines = loop("loss {loss:.4f} after {i1} updates", 30)
    assert heard(lines + bars(100, 100, "Loading weights: ") + "\n").reached is None


def test_a_table_of_results_is_no_loop() -> None:
    table = "".join(f"class {i}  precision 0.9{i}  recall 0.8{i}\n" for i in range(6))
    words = heard(loop("step {i1}/{n} loss {loss:.4f}", 100) + "Final evaluation\n" + table)
    assert words.farewell == "end"
    assert words.reached is True


def remaining(times: list[str]) -> str:
    report = "Epoch(train) [{n}][14/14] lr: 1e-4 eta: {time} loss: 0.01\nsaving checkpoint at epoch {n}\n"
    return "".join(report.format(n=n, time=time) for n, time in enumerate(times, 38))


def test_the_last_report_alone_leaves_no_time() -> None:
    assert heard(remaining(["1:38:01", "1:13:34", "0:24:27", "0:00:00"])).reached is True
    assert heard(remaining(["2 days, 1:38:01", "1:13:34", "0:24:27", "0:00:00"])).reached is True


def test_the_time_that_an_epoch_has_left_says_nothing_about_the_run() -> None:
    assert heard(remaining(["0:01:00", "0:00:00", "0:01:00", "0:00:00"])).reached is None
    assert heard(remaining(["1:38:01", "1:13:34", "0:24:27"])).reached is None
    assert heard(remaining(["0:00:00"])).reached is None


def test_only_once_the_main_process_is_gone() -> None:
    reader = LogReader("/l")
    reader.feed(b"step 1/2 loss 0.5\nstep 2/2 loss 0.4\n", 1.0)
    known: dict[str, LastWords] = {}
    hear(known, {"/l": reader}, [ProcessEnded(1.0, 5, main=False)])
    assert known == {}
    hear(known, {"/l": reader}, [ProcessEnded(1.0, 5, main=True)])
    assert known["/l"].last_line == "step 2/2 loss 0.4"
    reader.feed(b"bye\n", 2.0)
    hear(known, {"/l": reader}, [ProcessEnded(1.0, 5, main=True)])
    assert known["/l"].last_line == "bye", "lines that arrive late are heard as well"


ENDED_SHORT = (
    "There seems not to be a single sample in your epoch_iterator, stopping training at step 200!",
    "Data iterator can not provide data anymore but required total number of iterations is not reached",
    "UserWarning: Your input ran out of data; interrupting training. Make sure that your dataset can generate enough",
    "`Trainer.fit` stopped: No training batches.",
    "corpus exhausted at step 40",
)


@pytest.mark.parametrize("line", ENDED_SHORT)
def test_the_data_ended_before_the_training(line: str) -> None:
    text = loop("epoch {i}/90 loss {loss:.3f}", 40)
    assert heard(f"{text}{line}\nsaved final.pt\n").ran_out == line[:200]
    assert heard(f"{text}{line}\n{text}").ran_out == "", "it went on"
    assert heard(text).ran_out == ""
    assert heard(f"{text}{line}\nloss 0.3\n{line}\n").ran_out == "", "with every epoch"


@pytest.mark.parametrize(
    ("line", "short_of"),
    [
        ("Training complete. Model saved to out/final (global step 200 of 1000)", (200, 1000)),
        ("all done after epoch 12/40", (12, 40)),
        ("Training complete at step 1000/1000", None),
        ("done, 3 of 4 folds", None),
    ],
)
def test_a_claim_that_counts_less_than_was_planned(
    line: str, short_of: tuple[float, float] | None
) -> None:
    assert heard(loop("loss {loss:.3f} lr 1e-3", 40) + line + "\n").short_of == short_of


def test_an_empty_log() -> None:
    assert heard("") == LastWords()
