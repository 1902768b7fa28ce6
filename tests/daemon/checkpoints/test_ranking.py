"""Best, milestones, sizes."""

from __future__ import annotations

import math

import pytest

from middlewatch.daemon.checkpoints.index import build
from middlewatch.daemon.checkpoints.ranking import (
    Best,
    RankingRules,
    best_of,
    direction,
    size_trend,
)
from middlewatch.daemon.config import load
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import VerifiedState


def saved(
    step: int,
    *,
    size: int = 1000,
    state: VerifiedState = "ok",
    level: str = "finite",
    name: str = "step-{}.pt",
    **metrics: float,
) -> CheckpointSeen:
    return CheckpointSeen(
        at=1000.0 + step, path="/out/" + name.format(step), saved_at=1000.0 + step, bytes=size,
        files=1, format="torch", step=float(step), state=state, level=level, metrics=metrics,
    )  # fmt: skip


@pytest.mark.parametrize(
    "metric",
    ["accuracy", "eval_accuracy", "val/acc", "eval_f1", "bleu", "eval_rougeL", "rouge2", "mfu",
     "reward_mean", "score", "valAccuracy", "exact_match", "eval_top5_accuracy"],
)  # fmt: skip
def test_more_is_better(metric: str) -> None:
    assert direction(metric) == "max"


@pytest.mark.parametrize(
    "metric",
    ["loss", "eval_loss", "train_loss", "perplexity", "val_ppl", "wer", "error_rate", "evalLoss",
     "reward_loss", "whatever", "map_loss"],
)  # fmt: skip
def test_less_is_better(metric: str) -> None:
    assert direction(metric) == "min"


def test_a_metric_and_a_direction_that_a_person_sets() -> None:
    both = [saved(1, bleu=30.0, oddity=5.0), saved(2, bleu=20.0, oddity=9.0)]
    assert best_of(both, RankingRules("bleu")) == Best("/out/step-1.pt", "bleu", "max")
    assert best_of(both, RankingRules("oddity")) == Best("/out/step-1.pt", "oddity", "min")
    assert best_of(both, RankingRules("oddity", "max")) == Best("/out/step-2.pt", "oddity", "max")


def test_what_the_trainer_itself_calls_best_by() -> None:
    """Lightning's callback saves its monitor's value and the best one."""
    both = [
        saved(1, val_oddity=9.0, best_val_oddity=9.0, eval_loss=3.0),
        saved(2, val_oddity=4.0, best_val_oddity=9.0, eval_loss=1.0),
    ]
    assert best_of(both, RankingRules()) == Best("/out/step-1.pt", "val_oddity", "max")
    assert best_of(both, RankingRules("eval_loss")).path == "/out/step-2.pt"
    assert best_of(both, RankingRules(best_mode="min")).path == "/out/step-2.pt"


def test_the_best_value_without_a_name() -> None:
    """Hugging Face saves the value alone."""
    every = [
        saved(1, eval_f1=0.5, eval_loss=2.0, train_loss=0.7, best_metric=0.5),
        saved(2, eval_f1=0.7, eval_loss=2.5, train_loss=0.6, best_metric=0.7),
        saved(3, eval_f1=0.6, eval_loss=1.5, train_loss=0.5, best_metric=0.7),
    ]
    assert best_of(every, RankingRules()) == Best("/out/step-2.pt", "eval_f1", "max")
    same = [saved(1, eval_a=1.0, eval_b=1.0, eval_loss=3.0, best_metric=1.0)]
    assert best_of(same, RankingRules()).metric == "eval_loss", "nobody can tell which of the two"
    assert best_of([saved(1, eval_loss=2.0, best_metric=9.0)], RankingRules()).metric == "eval_loss"


def test_a_direction_that_no_save_shows_is_that_of_the_name() -> None:
    one = [saved(1, accuracy=0.5, best_accuracy=0.5, eval_loss=1.0)]
    assert best_of(one, RankingRules()) == Best("/out/step-1.pt", "accuracy", "max")


def test_train_loss_stands_in_and_stays_a_loss() -> None:
    both = [saved(1, train_loss=1.0), saved(2, train_loss=2.0)]
    assert best_of(both, RankingRules("accuracy", "max")) == Best(
        "/out/step-1.pt", "train_loss", "min"
    )
    assert best_of([saved(1, eval_loss=math.nan)], RankingRules()) == Best()


def test_what_the_trainer_calls_the_best() -> None:
    """Where no evaluation is known its word counts, before the loss of the training."""
    named = saved(2, name="model_best.pt", train_loss=2.0)
    both = [saved(1, train_loss=1.0), named, saved(3, train_loss=1.5)]
    assert best_of(both, RankingRules()) == Best("/out/model_best.pt")
    judged = [*both, saved(4, eval_loss=0.5)]
    assert best_of(judged, RankingRules()) == Best("/out/step-4.pt", "eval_loss", "min")
    assert best_of(both, RankingRules("accuracy", "max")).metric == "train_loss"


def test_the_index_says_by_what() -> None:
    built = build(
        "r", [saved(1, accuracy=0.5), saved(2, accuracy=0.9)], 0.0, rules=RankingRules("accuracy")
    )
    assert (built["best"], built["best_metric"], built["best_mode"]) == (
        "/out/step-2.pt",
        "accuracy",
        "max",
    )


def test_milestones() -> None:
    names = ["final.pt", "step-3-phase1", "run-phase2-end.pt", "semifinal.pt", "step-100.pt"]
    every = [saved(n + 1, name=name) for n, name in enumerate(names)] + [saved(50), saved(51)]
    rules = RankingRules(milestones=("*-phase1", "step-100*"), milestone_every_steps=50)
    tagged = [e["path"] for e in build("r", every, 0.0, rules=rules)["checkpoints"]
              if "milestone" in e["tags"]]  # fmt: skip
    assert sorted(tagged) == sorted(
        f"/out/{name}" for name in (*names[:3], "step-100.pt", "step-50.pt")
    )


def test_sizes_that_grow_shrink_and_stay() -> None:
    assert size_trend([saved(1), saved(2)]) is None
    assert size_trend([]) is None
    assert size_trend([saved(n, size=1000 + n) for n in range(6)]) == {
        "direction": "stable",
        "bytes_per_save": 1,
        "saves": 6,
        "first_bytes": 1000,
        "last_bytes": 1005,
    }
    growing = size_trend([saved(n, size=1000 + 100 * n) for n in range(20)])
    assert growing is not None
    assert (growing["direction"], growing["bytes_per_save"], growing["saves"]) == (
        "growing",
        100,
        8,
    )
    shrinking = size_trend([saved(n, size=1000 - 100 * n) for n in range(4)])
    assert shrinking is not None
    assert shrinking["direction"] == "shrinking"


def test_sizes_of_other_kinds_and_of_unfinished_ones_do_not_count() -> None:
    every = [saved(n) for n in range(4)]
    every += [
        saved(5, size=1, state="pending"),
        saved(6, size=1, state="corrupt", level="checksum"),
    ]
    every += [saved(7, size=1, name="best-{}.pt"), saved(8, size=1010)]
    trend = size_trend(every)
    assert trend is not None
    assert (trend["saves"], trend["last_bytes"]) == (5, 1010)


def test_rules_of_a_configuration() -> None:
    text = """[checkpoints]
best_metric = "bleu"
best_mode = "max"
milestones = ["a*"]
milestone_every_steps = 1000
"""
    assert RankingRules.of(load.parse(text, "x")) == RankingRules("bleu", "max", ("a*",), 1000)
    assert RankingRules.of(load.parse("", "")) == RankingRules()
    with pytest.raises(ConfigError, match="best_mode"):
        load.parse('[checkpoints]\nbest_mode = "most"\n', "x")


def test_a_copy_under_a_moving_name_is_not_the_best_one() -> None:
    """Lightning's ``last.ckpt`` is the best one only until the next save."""
    saves = [saved(4, name=name, eval_loss=1.0) for name in ("step={}.ckpt", "last.ckpt")]
    assert best_of(saves, RankingRules()).path == saves[0].path
    alone = saves[1:]
    assert best_of(alone, RankingRules()).path == alone[0].path
