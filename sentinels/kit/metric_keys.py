"""Find our name for a key of a log: ``train/loss/total`` is a training loss.

A key that is in no list is read word by word. It is a training loss if all its other words are
neutral ones; ``best_loss`` and ``style_loss`` keep their names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

from .metric_names import (
    BESIDE,
    EVAL_WORDS,
    FOREIGN_EVAL_LOSS,
    FOREIGN_LOSS,
    KEYS,
    LESS,
    LR_WORDS,
    NEUTRAL,
    NORM_WORDS,
    TRAIN_WORDS,
    WHOLE_LOSSES,
)

_LEARNING = re.compile(
    r"(?:^|[ /._])(?:rew(?:ard)?s?|ep rew(?:ard)? ?mean|ep ?ret(?:urn)?|eprewmean|eplenmean|episodic (?:return|reward|length)"
    r"|episode (?:return|rewards?)|approx ?kl|policy(?: gradient)? loss|(?:value|vf|v|critic|actor|pg|surrogate|td|qf?\d?|entropy)"
    r"(?: function)? loss|loss/policy avg|ppo kl|clip ?frac(?:tion)?|explained variance|env steps?|advantages?|policy entropy"
    r"|ep(?:isode)? (?:reward|rew|ret|len) mean|(?:mean|avg|average|total) (?:ep(?:isode)? )?(?:rewards?|returns?)|averageep ?ret"
    r"|objective/kl|lossq|losspi|lossv|score/mean|rewards/mean|reward std|return mean|奖励|回报)(?:$|[ /.(_])"
)
_NOT_LEARNING = re.compile(
    r"^(?:eval )?rewards/(?:chosen|rejected|accuracies|margins)|model|pretrain"
)
"""Preference tuning (DPO, KTO, ORPO) prints ``rewards/chosen``, but its loss is an ordinary one."""
_ADVERSARIAL = re.compile(
    r"(?:^|[ /._])(?:(?:loss|err|lossgan) ?[dg]|[dg] ?(?:loss|gan|real|fake)|(?:gen(?:erator)?|disc(?:riminator)?|adv(?:ersarial)?|gan)"
    r" loss|loss (?:gen|disc|adv|gan)(?:erator|riminator|ersarial)?|loss/(?:scores|g|d|gen|disc)|aeloss|discloss|reference loss)(?:$|[ /._\d])"
)

_SPEED_TOKENS = re.compile(
    r"\b(?:tok(?:en)?s?|words?|toks)(?: per |/)(?:s|secs?|seconds?)\b(?:(?: per |/)(?:gpu|device|rank|chip|npu))?$"
    r"|^(?:tok(?:en)?s?|words?)(?: per |/)(?:device|gpu|chip|rank)(?: per |/)(?:s|sec|second)$"
    r"|^(?:tok(?:en)?s?)(?: per |/)(?:s|sec|second)\b"
    r"|^(?:throughput )?(?:tok(?:en)?s?)(?: per |/)(?:s|sec|second)/(?:gpu|device)$|^tokens throughput$"
)
_SPEED_DEVICE_TPS = re.compile(r"^throughput/device/t(?:okens )?ps$")
_SPEED_SAMPLES = re.compile(
    r"\b(?:samples?|images?|imgs?|sequences?|seqs?|examples?|utts?|utterances?|items|graphs|frames|nodes|rows)"
    r"(?: per |/)(?:s|secs?|seconds?)\b(?:(?: per |/)(?:gpu|device|chip))?$"
)
_STEP_TIME = re.compile(
    r"^(?:(?:train|training|trainer|perf|avg|average|mean|avr|time|timing|elapsed|last|total|global|current|cur|the|one)[ /])*"
    r"(?:(?:step|iter|iteration|batch|minibatch|update)s?(?: elapsed)?[ /]?(?:time|timing|duration|cost|latency|dt|avg time|time avg)(?: avg| mean| in)?"
    r"|(?:elapsed )?(?:time|seconds|secs|sec|ms|s)(?: per |/)(?:step|iter|iteration|batch|it|update|minibatch)|per step time"
    r"|(?:time )?step timing(?: in)?|seconds per (?:step|iteration|batch)|timing/(?:step|iter)|time/(?:step|iter|batch)"
    r"|elapsed time per iteration|time iter|train step timing(?: in)?)$"
)
_STEP_RATE = re.compile(
    r"(?:^|[ (/])(?:its?|iters?|iterations?|steps?|updates?|batch(?:es)?)(?: per |/)(?:s|secs?|seconds?)\)?$"
)
_WORDS = re.compile(r"[ /.:|]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z]|[A-Z]$)|(?<=[a-z]{2})(?=[A-Z])")
_SPACES = str.maketrans({"_": " ", "-": " ", "\t": " ", "　": " "})
_UNIT_TAIL = re.compile(
    r"[ _]?[\[(](?P<a>s|ms|us|sec|secs|seconds|min|gb|gib|mb|mib|%|k|m|g)[\])]$|(?: in)? (?P<b>s|ms|sec|secs|seconds|gb|gib|mb|mib|pct)$"
)
_PARTS = frozenset(
    [
        *("box", "bbox", "cls", "obj", "dfl", "seg", "mask", "giou", "iou", "l1", "kl", "best", "min", "max", "rpn"),
        *("ctc", "att", "aux", "recon", "reg", "class", "style", "content", "adv", "gan", "g", "d", "weight"),
    ]
)  # fmt: skip
_FACTORS = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "gb": 2.0**30,
    "gib": 2.0**30, "mb": 2.0**20, "mib": 2.0**20, "%": 0.01, "pct": 0.01, "k": 1e3, "m": 1e6, "g": 2.0**30,
}  # fmt: skip


@lru_cache(maxsize=1024)
def fold(key: str) -> str:
    """A key in the form for comparing: lower case, one blank between words."""
    if not key.islower():
        key = _CAMEL.sub(" ", key)
    return " ".join(key.translate(_SPACES).lower().split())


def key_unit(folded: str) -> tuple[str, float | None]:
    """(the key without the unit at its end, the factor of that unit or ``None``)."""
    match = _UNIT_TAIL.search(folded)
    if match is None or match.start() == 0:
        return folded, None
    return folded[: match.start()].rstrip(), _FACTORS[match["a"] or match["b"]]


@lru_cache(maxsize=1024)
def canonical(folded: str) -> str | None:
    """Our name of a folded key, ``None`` if it has none. Counters have names too.

    ``it/s`` is the name of a step time that is given as a rate.
    """
    name = KEYS.get(folded)
    if name is not None:
        return name
    if len(folded) > 80:
        return None
    bare, factor = key_unit(folded)
    if _STEP_RATE.search(folded):
        return None if _evaluates(folded) or "runtime" in folded else "it/s"
    name = _by_words(folded)
    if name is None and bare != folded:
        name = _by_words(bare)
    if name is None and bare != folded and factor is not None:
        name = KEYS.get(bare)
        if name in ("step", "epoch", "total", "train_loss", "eval_loss"):
            name = None
    return name


def _evaluates(folded: str) -> bool:
    return not EVAL_WORDS.isdisjoint(_WORDS.split(folded))


_OBJECTIVES = frozenset(
    {"l1", "l2", "mse", "rmse", "mae", "logloss", "nll", "bce", "kl", "huber", "elbo", "nelbo"}
)
"""Names of formulas that are minimised."""


_DONE = (
    "done",
    "complete",
    "completed",
    "finished",
    "完成",
    "完毕",
    "结束",
    "完了",
    "終了",
    "완료",
)


def _after_status(words: Sequence[str]) -> Sequence[str]:
    """The words after those that say what was just done: ``aggregation done test loss``."""
    done = [place for place, word in enumerate(words) if word.endswith(_DONE)]
    return words[done[-1] + 1 :] if done and done[-1] < len(words) - 1 else words


def _by_words(folded: str) -> str | None:
    folded = " ".join(_after_status(folded.split()))
    last = " ".join(itertools.dropwhile(BESIDE.__contains__, folded.split()))
    if last in FOREIGN_LOSS:
        return "train_loss"
    if FOREIGN_EVAL_LOSS.fullmatch(last):
        return "eval_loss"
    words = [w for w in _WORDS.split(folded) if w]
    if not words or len(words) > 9:
        return None
    kinds = set(words)
    evaluates = not kinds.isdisjoint(EVAL_WORDS)
    if "loss" in kinds or "losses" in kinds or "损失" in folded:
        return _loss_name(words, evaluates)
    if kinds & {"acc", "accuracy", "top1"} or folded.endswith("准确率"):
        if kinds & {"token", "tokens"}:
            return None
        rest = kinds - {"acc", "accuracy", "top1", "1"} - NEUTRAL - EVAL_WORDS
        return "accuracy" if not rest else None
    if evaluates:
        return None
    ends = {words[0], words[-1]}
    if len(words) > 1 and ends & TRAIN_WORDS and ends & _OBJECTIVES:
        return "train_loss"  # train/mel_l1, rmse_training: the objective by its formula
    if _is_rate({w.rstrip("0") for w in kinds}):
        return "lr"
    if (
        "norm" in kinds
        and kinds & {"grad", "grads", "gradient", "gradients"}
        and not kinds - NORM_WORDS
    ):
        return "grad_norm"
    if _SPEED_TOKENS.search(folded) or _SPEED_DEVICE_TPS.match(folded):
        return "tokens_per_s"
    if _SPEED_SAMPLES.search(folded):
        return "samples_per_s"
    if _STEP_TIME.match(folded):
        return "step_time_s"
    return _droppable(words)


def _is_rate(words: set[str]) -> bool:
    """A learning rate, of all parameters or of the first group: ``optim0 lr0``."""
    named = "lr" in words or {"learning", "rate"} <= words
    return named and not words - LR_WORDS - {"learning", "rate", "(group", ")", ""}


def _loss_name(words: list[str], evaluates: bool) -> str | None:
    rest = [w for w in words if w not in NEUTRAL and w not in TRAIN_WORDS and w not in EVAL_WORDS]
    if "cross" in words:
        rest = [w for w in rest if w != "entropy"]
    if words[-2:] == ["loss", "value"]:
        rest.remove("value")
    rest = [w for w in rest if not (w.endswith("损失") and _chinese_loss(w))]
    if rest:
        # eval/c4_en/loss: an evaluation on some data set
        return (
            "eval_loss"
            if words[0] in EVAL_WORDS and words[-1] == "loss" and _is_set(rest)
            else None
        )
    if evaluates or any(w.startswith(("验证", "测试", "评估", "校验")) for w in words):
        return "eval_loss"
    return (
        None
        if words[0] in ("global", "fn", "function") or words[-1] in ("fn", "function")
        else "train_loss"
    )


def _is_set(words: list[str]) -> bool:
    """Whether the words may name a data set: none of them names a part of a loss."""
    return len(words) <= 4 and _PARTS.isdisjoint(words)


def _chinese_loss(word: str) -> bool:
    return word.removesuffix("损失") in (
        "", "训练", "训练集", "平均", "当前", "总", "验证", "验证集", "测试", "测试集", "评估", "校验", "本轮平均", "平均训练",
        "平均验证", "训练平均", "验证平均",
    )  # fmt: skip


def _droppable(words: list[str]) -> str | None:
    """The name of a known key after neutral words: ``info current lr``."""
    for begin in range(1, len(words)):
        if words[begin - 1] not in NEUTRAL and words[begin - 1] not in TRAIN_WORDS:
            return None
        name = KEYS.get(" ".join(words[begin:]))
        if name is not None:
            return None if name in ("accuracy", "total", "epochs") else name
    return None


def loss_rank(folded: str) -> int:
    """Weight of a loss: on one line the highest is taken as the loss that is optimised."""
    if folded in WHOLE_LOSSES:
        return 3
    if folded in KEYS and KEYS[folded] == "eval_loss":
        return 3
    return 1 if not LESS.isdisjoint(_WORDS.split(folded)) else 2


def is_learning(folded: str) -> bool:
    """Whether only reinforcement learning has this key.

    A ``loss`` there may be negative, grow or jump without any trouble, so it does not become
    ``train_loss``.
    """
    return bool(_LEARNING.search(folded)) and not _NOT_LEARNING.search(folded)


def is_adversarial(folded: str) -> bool:
    """Whether it is the loss of a generator or discriminator: one rises as the other falls."""
    return bool(_ADVERSARIAL.search(folded))


def is_loss(folded: str) -> bool:
    """Whether the key names a loss of any kind."""
    words = _WORDS.split(folded)
    return not {"loss", "losses"}.isdisjoint(words) or words[-1].endswith("loss")
