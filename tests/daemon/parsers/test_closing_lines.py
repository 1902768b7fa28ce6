"""The last line of a log by what it pairs with."""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.closing_lines import begins, closes, without_shell


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (
            "2021-09-24 16:59:03,847 INFO START predict.py",
            "2021-09-24 16:59:09,916 INFO END predict.py",
        ),
        ("Starting sweep", "Finished sweep"),
        ("--- Начало оценки ---", "--- Конец оценки ---"),
        ("开始 训练", "结束 训练"),
    ],
)
def test_what_began_and_has_ended(first: str, last: str) -> None:
    assert closes([first, "step 3 loss 1.2", last])
    assert not closes([last, "step 3 loss 1.2"])
    assert not closes(["step 3 loss 1.2", last])


def test_the_end_of_a_part_is_not_the_end_of_another() -> None:
    assert not closes(["Starting training", "Finished loading"])
    assert not closes(["Starting epoch 1 of the longer part of this run", "Finished"])
    assert not closes([])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--- val Эпизод 1/2 начало ---", True),
        ("Starting evaluation", True),
        ("Starte die Auswertung", True),
        ("Finished what was started", False),
        ("Training done, we start to write all of the results to the disk now", False),
        ("restarting", False),
    ],
)
def test_a_new_beginning(line: str, said: bool) -> None:
    assert begins(line) is said


@pytest.mark.parametrize(
    "prompt",
    [
        "[xfu7@c95 s1]$ nvcc --version",
        "root@box:~# ",
        "(base) li@gpu:/data$ ls",
        "PS C:\\w> dir",
        "C:\\w>dir",
    ],
)
def test_what_was_typed_afterwards_is_left_out(prompt: str) -> None:
    lines = [(1, "step 1"), (2, "# Ended (code 1)"), (3, prompt), (4, "Cuda compilation tools")]
    assert without_shell(lines) == lines[:2]
    # the command that started it stands before its words
    assert without_shell([(1, prompt), *lines[:2]]) == [(1, prompt), *lines[:2]]


@pytest.mark.parametrize(
    "line", ["user@host.example wrote it", "loss > 3", "a@b: 12% done", "$ python"]
)
def test_other_lines_are_no_prompts(line: str) -> None:
    assert without_shell([(1, "step 1"), (2, line)]) == [(1, "step 1"), (2, line)]
