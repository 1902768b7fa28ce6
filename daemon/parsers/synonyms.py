"""What trainers call their numbers, and what we call them.

Keys are compared in lower case with ``_`` and ``-`` read as spaces, so that ``train_loss``,
``Train Loss`` and ``train-loss`` are one entry.
"""

from __future__ import annotations

CANONICAL = (
    "train_loss",
    "eval_loss",
    "lr",
    "grad_norm",
    "tokens_per_s",
    "samples_per_s",
    "step_time_s",
    "mfu",
    "loss_scale",
    "gpu_mem_bytes",
    "accuracy",
)
"""Names of ``metric.values`` in the contract; every other number keeps the log's own name."""

_NAMES = {
    "step": "step|steps|global step|global steps|global step num|step num|iteration|iter|iters|it"
    "|current steps|train step|training step|num updates|update|n updates|trainer/global step"
    "|training/global step|learning iteration|training iteration|optim step|optimizer step"
    "|total timesteps|time/total timesteps|timesteps|global iter|cur iter"
    "|步|步数|迭代|迭代次数|训练步数|当前步数|全局步数|步骤",
    "epoch": "epoch|ep|current epoch|epoch num|epoch number|轮|轮次|轮数|epoch数|周期|训练轮次",
    "total": "total steps|total iters|total iterations",
    "train_loss": "loss|train loss|training loss|train/loss|loss/train|loss train|total loss|loss total"
    "|lm loss|language model loss|ce loss|train/ce loss|train ce loss|trl|avg loss|avr loss"
    "|average loss|mean loss|step loss|loss step|train loss step|train/loss step|train loss epoch"
    "|train/loss epoch|loss/total|train/total loss|train total loss|reduced train loss|batch loss"
    "|running loss|running train loss|train running loss|loss avg|loss mean|loss value|tr loss|trn loss"
    "|training/loss|losses/train|train losses|avg train loss|train avg loss|epoch loss|objective loss"
    "|cross entropy loss|mlm loss|curr loss|current loss|loss train (curr)|train epoch loss|smooth loss"
    "|loss/train loss|train/train loss|train/lm loss|losses/total loss|train/step loss"
    "|损失|训练损失|损失值|总损失|平均损失|训练loss|训练集损失|当前损失|训练误差",
    "eval_loss": "eval loss|val loss|validation loss|valid loss|test loss|dev loss|evaluation loss"
    "|val/loss|valid/loss|validation/loss|eval/loss|test/loss|loss/val|loss/valid|loss/eval|loss/test"
    "|loss val|loss valid|tel|vll|lm loss validation|avg val loss|val avg loss|mean val loss"
    "|val loss epoch|val/loss epoch|eval/ce loss|best eval loss now|val loss avg|average val loss"
    "|val total loss|val/total loss|val epoch loss|eval/total loss|val ce loss|validation loss avg"
    "|eval avg loss|avg eval loss|average test loss|avg test loss|average validation loss"
    "|验证损失|验证集损失|测试损失|评估损失|校验损失|验证loss|测试集损失",
    "lr": "lr|lrate|learning rate|learningrate|base lr|train/lr|train/learning rate|lr 0|lr adam"
    "|actor/lr|train lr|optim/lr|lr/group 0|current lr|cur lr|lr pg 0|lr/pg0|x/lr0|optim/learning rate"
    "|learning rate (group 0)|学习率|当前学习率",
    "grad_norm": "grad norm|gradnorm|gradient norm|gnorm|norm|global grad norm|global norm|total norm"
    "|train/grad norm|train/gradient norm|optim/total grad norm|optim/grad norm|actor/grad norm"
    "|grad norm total|grad 2.0 norm total|grad l2 norm|total grad norm|gn|train grad norm|grad norm avg"
    "|梯度范数|梯度",
    "tokens_per_s": "tok/s|tok/sec|tokens/s|tokens/sec|tokens per second|tokens per sec|tps|wps|tgs"
    "|tokens per gpu|throughput/device/tokens per sec|throughput/tokens per sec|train tokens per second"
    "|tokens/sec/gpu|tokens/s/gpu|tok per sec|token/s|tokens per s|training tokens per second",
    "samples_per_s": "samples/s|samples/sec|samples per second|samples per sec|img/s|imgs/s|images/s"
    "|images/sec|runningavgsamplespersec|currsamplespersec|fps|train samples per second|ips|it samples/s"
    "|steps per second samples|train/samples per second|seq/s|sequences/s|examples/s|examples/sec"
    "|sps|throughput/samples per sec|train imgs/s",
    "step_time_s": "step time|iter time|iteration time|iteration time s|time per step|dt|time/iter"
    "|elapsed time per iteration|time per iteration|step avg|train step timing|perf/time per step"
    "|timing s/step|ms/batch|ms/step|s/step|sec/step|batch time|time/step|train/time|sec/tick|s/it"
    "|time per batch|train/step time|train/iter time|iter timer|time step|sec/iter|s/iter|单步耗时",
    "mfu": "mfu|perf/mfu/actor|mfu/actor|train/mfu|model flops utilization|throughput/device/mfu|hfu mfu",
    "loss_scale": "loss scale|loss scaler|lossscale|attempted loss scale|grad scale|grad scaler|scaler"
    "|train/loss scale|amp scale",
    "gpu_mem_bytes": "gpu mem|gpumem|mem|max mem|memory|gpu memory|peak mem|mem gb|maxmemallocated"
    "|max mem allocated|peak vram mb|max memory|perf/max memory allocated gb|gpu mem gb|memory gb"
    "|peak memory|cuda mem|vram|mem(gb)|gpu memory used|max memory allocated|max mem gb|显存|显存占用",
    "accuracy": "accuracy|acc|eval accuracy|val accuracy|val acc|valid acc|validation accuracy|test acc"
    "|test accuracy|eval acc|acc val|val/acc|val/accuracy|eval/accuracy|top1|acc@1|top 1|top1 acc"
    "|acc top1|accuracy top1|eval mlm accuracy|best acc now|准确率|验证准确率|测试准确率|精度",
}
KEYS: dict[str, str] = {key: name for name, keys in _NAMES.items() for key in keys.split("|")}

WEAK_KEYS = frozenset({"it", "mem", "memory", "norm", "update", "ep", "top1", "scaler", "gn"})
"""Too common as words to be believed without a separator behind them."""

STEP_RANK = {
    "global step": 3,
    "trainer/global step": 3,
    "step": 3,
    "global steps": 3,
    "num updates": 3,
}
"""A line may count twice (``iter 14 … step 89``): the higher rank names the training step."""
STEP_RANK_ELSE = 1

RL_KEYS = frozenset(
    [
        "reward",
        "rewards",
        "mean reward",
        "reward mean",
        "reward/mean",
        "ep rew mean",
        "rollout/ep rew mean",
        "episode reward",
        "mean episode reward",
        "approx kl",
        "train/approx kl",
        "policy loss",
        "train/policy loss",
        "policy gradient loss",
        "train/policy gradient loss",
        "value loss",
        "train/value loss",
        "vf loss",
        "critic/vf loss",
        "mean value loss",
        "value function loss",
        "surrogate loss",
        "mean surrogate loss",
        "actor loss",
        "critic loss",
        "actor/pg loss",
        "critic/score/mean",
        "critic/rewards/mean",
        "entropy loss",
        "train/entropy loss",
        "actor/ppo kl",
        "clip fraction",
        "loss/policy avg",
        "objective/kl",
        "ep reward mean",
        "episode reward mean",
        "return mean",
        "episodic return",
    ]
)
"""A line or block with one of these comes from reinforcement learning: its ``loss`` may be
negative, grow or jump while all is well, so it is kept apart from ``train_loss``."""

_EVAL_PREFIXES = ("eval", "val", "valid", "validation", "test", "dev")
_DROPPABLE = frozenset(
    [
        "info",
        "debug",
        "warning",
        "root",
        "train",
        "training",
        "trainer",
        "current",
        "cur",
        "avg",
        "average",
        "mean",
        "step",
        "iter",
        "iteration",
        "epoch",
        "batch",
        "at",
        "the",
        "and",
        "total",
        "global",
        "after",
        "logs",
        "log",
        "metrics",
        "result",
        "results",
        "running",
        "on",
        "for",
        "of",
        "rank",
        "worker",
        "actor",
        "main",
    ]
)
_SPACES = str.maketrans({"_": " ", "-": " ", "\t": " ", "　": " "})


def fold(key: str) -> str:
    """The form in which keys are compared."""
    return " ".join(key.translate(_SPACES).lower().split())


def canonical(folded: str) -> str | None:
    """Our name of a folded key; ``step``, ``epoch`` and ``total`` count as names here."""
    name = KEYS.get(folded)
    if name is not None:
        return name
    head, _, rest = folded.partition(" ")
    if not rest:
        head, _, rest = folded.partition("/")
    if (
        rest
        and head in ("train", "training")
        and KEYS.get(rest) not in (None, "eval_loss", "accuracy")
    ):
        return KEYS[rest]
    if head in _EVAL_PREFIXES and folded.endswith((" loss", "/loss")) and folded.count(" ") < 5:
        return "eval_loss"
    if folded.endswith((" accuracy", "/accuracy")) and head in _EVAL_PREFIXES:
        return "accuracy"
    while rest and head in _DROPPABLE:
        name = KEYS.get(rest)
        if name is not None:
            return name
        head, _, rest = rest.partition(" ")
    return None
