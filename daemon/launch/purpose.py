"""What a program is for, by its own words: its name, its subcommand and its options.

What it does is told elsewhere, by its log and its saves. Words decide two things only: that a
program is a training from its first second on, or that it says of itself that it is something else
(an evaluation, a server, a conversion) although a launcher started it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal

Purpose = Literal["train", "other", ""]

BOOSTS = "it has a library of boosted trees loaded"
"""Why a run is provisional that has shown no round of boosting yet."""

TRAIN = re.compile(
    r"(?:^|[_\-.])(?:pre|post|re)?(?:train|fine_?tun|sft|dpo|grpo|ppo|rlhf)", re.IGNORECASE
)
"""Part of a name that says training. A part begins the name, or follows one of ``_-.``"""
_OTHER = re.compile(
    r"""(?:^|[_\-.])(?:eval|validat|infer|predict|generat|sampl|serv(?:e|er|ing)\b|serv(?:e|er|ing)_
    |demo|app\b|api|chat|bench|preproc|prep(?:are)?(?:_|\b)|export|convert|quanti[sz]|upload|download
    |dashboard|monitor|plot|visuali[sz]|test|embed|annotat|label|scor(?:e|ing)|inspect|report|push
    |sync|watch)|tokeni[sz]""",
    re.IGNORECASE | re.VERBOSE,
)
"""Part of a name that says anything else. The first part of a name decides: ``train_and_eval``
trains, ``prepare_train_data`` does not."""
_BOTH = re.compile(r"[_\-.](?:then|and|n)[_\-.](?:pre|post|re)?(?:train|fine_?tun)", re.IGNORECASE)
"""``prepare_then_train`` does both."""
_SUBCOMMAND = re.compile(r"[A-Za-z][A-Za-z_-]{1,30}")
_OPTION = re.compile(r"(?:--?|\+{1,2})?([A-Za-z][\w.\-]*)(?:=(.*))?", re.DOTALL)
_OPTIMIZER = re.compile(
    r"""(?:\w*_)?(?:lr|learning_rate)|optim(?:izer)?|weight_decay|do_train
    |grad(?:ient)?_accum\w*|(?:max_|clip_)grad(?:ient)?(?:_norm)?|grad(?:ient)?_clip\w*""",
    re.VERBOSE,
)
"""Options that only a program with an optimizer has, with ``-`` written as ``_``."""
_LENGTH = re.compile(
    r"""(?:max_|num_|n_|total_|num_train_|train_)?epochs
    |(?:max_|total_|train_|num_train_|max_train_)(?:steps|iters|iterations|updates)
    |warmup_\w+|(?:per_device_)?train_batch_size""",
    re.VERBOSE,
)
"""Options that plan a training, but that a benchmark may have as well."""
_MODE = frozenset(("mode", "task", "action", "phase", "stage", "command", "job"))


def purpose(name: str, arguments: Sequence[str] = ()) -> Purpose:
    """What a program called ``name`` is for when it is given ``arguments``; empty: not said.

    A subcommand (``main.py train``) counts more than the name of the program, options of an
    optimizer (``--lr``) more than a name that says something else.
    """
    said = _of_name(name)
    if arguments and _SUBCOMMAND.fullmatch(arguments[0]):
        said = _of_name(arguments[0]) or said
    for option, value in _options(arguments):
        if _OPTIMIZER.fullmatch(option):
            return "train"
        if option in _MODE:
            said = _of_name(value) or said
        elif not said and _LENGTH.fullmatch(option):
            said = "train"
    return said


def command_purpose(command: Sequence[str]) -> Purpose:
    """What a command line says of itself: by its first script or module, else by its program."""
    words = list(command)
    for place, word in enumerate(words):
        if word in ("-m", "--module") and place + 1 < len(words):
            return purpose(words[place + 1].rpartition(".")[2], words[place + 2 :])
        if word.endswith((".py", ".ipynb")):
            return purpose(PurePosixPath(word).stem, words[place + 1 :])
    return purpose(PurePosixPath(words[0]).name, words[1:]) if words else ""


def _of_name(name: str) -> Purpose:
    trains, other = TRAIN.search(name), _OTHER.search(name)
    if trains is None or other is None:
        return "train" if trains else "other" if other else ""
    if _BOTH.search(name):
        return "train"
    if "tokeni" in other[0].lower():
        return "other"  # train_tokenizer.py
    return "train" if trains.start() < other.start() else "other"


def _options(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """(name without dashes, value) of every option, also of ``trainer.max_epochs=5``."""
    found = []
    for word, following in zip(arguments, (*arguments[1:], ""), strict=False):
        match = _OPTION.fullmatch(word)
        if match is None or not (word.startswith(("-", "+")) or match[2] is not None):
            continue
        name = match[1].rpartition(".")[2].replace("-", "_").lower()
        found.append((name, following if match[2] is None else match[2]))
    return found
