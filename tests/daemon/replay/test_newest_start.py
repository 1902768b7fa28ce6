"""Logs to which several starts of one job were appended: the newest one is judged."""

from __future__ import annotations

import pytest

from middlewatch.daemon.replay.newest_start import began_after, newest_start
from middlewatch.daemon.replay.one_log import Replay, ReplayRules

from .test_endings import SENTINELS, ending, hf

OPENING = "Loaded module: python3/3.11.2\nLoaded dependency [cudnn/8.9]: cuda/12.1\nnode gpu04\n"


def raised(error: str, script: str = "train.py") -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "{script}", line 31, in <module>\n    main()\n'
        f'  File "{script}", line 20, in main\n    for batch in loader:\n{error}\n'
    )


def fatal(log: str) -> list[tuple[int, bool]]:
    """(line, whether it is fatal) of the findings in a log."""
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, print))
    said = replay.read([log.encode()], metrics=False)
    return [(r["line"], r["fatal"]) for r in said if r["type"] == "finding"]


def test_a_start_of_which_only_the_beginning_is_there_has_not_failed() -> None:
    told = ending(OPENING + raised("KeyError: 'image'") + OPENING)
    assert (told["verdict"], told["cause"]) == ("cut", None)


def test_of_several_failed_starts_the_newest_counts() -> None:
    log = (
        OPENING
        + raised("KeyError: 'image'")
        + OPENING
        + raised("RuntimeError: CUDA out of memory.")
    )
    told = ending(log)
    assert (told["verdict"], told["cause"]) == ("failed", "cuda_oom")


def test_an_earlier_start_s_good_end_is_not_the_newest_one_s() -> None:
    done = hf(10, 300) + "Training completed\n"
    first = OPENING + done + OPENING + raised("KeyError: 'image'") + OPENING
    assert ending(first)["verdict"] == "cut"


def test_ranks_that_say_the_same_are_one_start() -> None:
    log = OPENING * 4 + hf(10, 100) + raised("KeyError: 'image'")
    told = ending(log)
    assert (told["verdict"], told["cause"]) == ("failed", "python_exception")
    # what a launcher repeats far below an error is no new start
    far = OPENING + raised("KeyError: 'image'") + "clean up\n" * 20 + OPENING
    assert ending(far)["verdict"] == "failed"


@pytest.mark.parametrize(
    ("opening", "again"),
    [
        (OPENING, 40),
        ("----\n----\n", 0),  # a ruler says nothing
        ("one line alone of a job\n", 0),
        ("1 2\n3 4\n", 0),
    ],
)
def test_the_newest_place_of_the_opening(opening: str, again: int) -> None:
    tail = [(39, "KeyError: 'x'"), *enumerate(opening.splitlines(), 40)]
    assert newest_start(opening.encode(), tail) == again


def test_two_exceptions_through_the_top_of_one_script_are_two_starts() -> None:
    between = "Starting the job again\nLoading the data\nBuilding the model\nReady\n"
    log = raised("KeyError: 'image'") + between + raised("ValueError: too many values to unpack")
    assert fatal(log) == [(6, False), (16, True)]
    # the ranks of one start write theirs one below the other
    ranks = raised("KeyError: 'image'") + raised("ValueError: too many values to unpack")
    assert fatal(ranks) == [(6, True)]


def test_another_process_after_one_that_ended() -> None:
    banner = "2026-04-20 13:51:34.764103: I tensorflow/core/platform/cpu_feature_guard.cc:193] This binary is optimized\n"
    missing = raised("ModuleNotFoundError: No module named 'tensorflow'", "<string>")
    assert ending(missing + banner)["verdict"] == "cut"
    assert ending(missing + banner + raised("KeyError: 'x'"))["verdict"] == "failed"
    warned = (
        "/opt/lib/python3.9/site-packages/torch/nn/modules/conv.py:456: UserWarning: Plan failed\n"
    )
    stopped = raised("KeyboardInterrupt")
    assert ending(stopped + 2 * warned)["verdict"] == "cut"
    assert ending(stopped + warned)["verdict"] == "failed"
    left = "/opt/lib/python3.9/site-packages/multiprocessing/resource_tracker.py:216: UserWarning: leaked\n"
    assert ending(stopped + 2 * left)["verdict"] == "failed"


def test_ranks_that_die_one_below_the_other_are_one_start() -> None:
    log = 2 * raised("RuntimeError: assigned grad has data of a different type")
    told = ending(log)
    assert (told["verdict"], told["cause"]) == ("failed", "python_exception")


def test_the_exception_of_the_newest_start_of_a_script_counts() -> None:
    rounds = "".join(f"Round {n}\nserver stats: [loss: 1.{n}\n" for n in range(8))
    log = (
        raised("KeyboardInterrupt")
        + rounds
        + raised("ModuleNotFoundError: No module named 'torch'")
    )
    assert ending(log)["cause"] == "launch_error"


def test_an_end_that_epochs_contradict_is_none() -> None:
    said = "training tokenizer: Training completed\n"
    epochs = "".join(f"Epoch {n}/300 - Loss: {5.4 - n / 100:.4f}\n" for n in range(1, 76, 15))
    assert ending(said + epochs)["verdict"] == "cut"


def test_a_line_may_say_that_all_is_done_and_saved() -> None:
    log = (
        hf(10, 100)
        + "Training complete. Final model saved to results/final.zip\nStatistics saved to s.pkl\n"
    )
    assert ending(log)["verdict"] == "finished"


def test_the_usage_of_the_same_script_is_a_later_start() -> None:
    log = raised("KeyboardInterrupt") + "usage: train.py [-h] --data_dir DATA_DIR\n"
    log += "                [--epochs EPOCHS] [--workers WORKERS]\n                [--seed SEED]\n"
    log += "                [--save SAVE]\ntrain.py: error: the following arguments are required: --data_dir\n"
    assert ending(log)["cause"] == "launch_error"


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        ("[INFO] Entrenamiento finalizado. Modelo guardado como m.pth", "finished"),
        ("Обучение завершено", "finished"),
        ("[launch.py:351:main] Process 41 exits successfully.\n" * 4, "finished"),
        ("slurmstepd: error: Unable to move pid 47694 to init root cgroup (null)", "cut"),
    ],
)
def test_last_words_of_others(end: str, verdict: str) -> None:
    assert ending(hf(10, 100) + end + "\n")["verdict"] == verdict


@pytest.mark.parametrize("prompt", ["$ ", "ana@gpu:~/shop$ ", "(venv) ", "% "])
def test_a_command_that_was_typed_is_a_start(prompt: str) -> None:
    log = (
        f"{prompt}python fa.py --csv shops.csv\n"
        + raised("FileNotFoundError: shops.csv")
        + f"{prompt}nohup python fa.py --csv shop.csv\nepoch 1 loss 0.3\nepoch 2 loss 0.2\nexported shop.pkl\n"
    )
    typed = prompt != "(venv) "
    assert began_after(7, list(enumerate(log.splitlines(), 1))) == (8 if typed else 0)
