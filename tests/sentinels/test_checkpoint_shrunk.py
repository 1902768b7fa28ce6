"""Saves that lack what their siblings have."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from middlewatch.sentinels.checkpoint_shrunk import Limits
from middlewatch.sentinels.kit import CheckpointSeen, Finding, ProcessesSeen, Severity
from middlewatch.sentinels.kit.saves.siblings import KINDS, Siblings, counted

from .story import MIB, Story, sample

FULL = ("model.safetensors×1", "optimizer.pt×1", "scheduler.pt×1", "rng_state_#.pth×8")
BARE = ("model.safetensors×1", "rng_state_#.pth×8")


def save(
    story: Story,
    parts: tuple[str, ...] = FULL,
    size: int = 300 * MIB,
    *,
    name: str = "checkpoint-{}",
    **fields: Any,
) -> Story:
    """The next save, ten minutes of training later."""
    story.wait(600).step()
    given = {"state": "ok", "level": "structure", "format": "hf", "step": story.number, **fields}
    files = sum(counted(parts).values()) or 1
    path = "/data/out/" + name.format(int(story.number))
    seen = CheckpointSeen(story.now, path, story.now, size, files, parts=parts, **given)
    story.checkpoints = [c for c in story.checkpoints if c.path != path] + [seen]
    story.seen(seen)
    return story


def asked(story: Story, wait_s: float = 100) -> list[Finding]:
    return story.wait(wait_s).asks("checkpoint_shrunk")


def test_saves_that_are_alike_say_nothing(story: Story) -> None:
    for number in range(9):
        save(story, size=300 * MIB + number * 1000)
        assert asked(story) == []


def test_the_optimizer_is_missing(story: Story) -> None:
    save(save(save(story)))
    save(story, BARE, 100 * MIB)
    (finding,) = asked(story)
    assert (finding.trouble, finding.severity) == ("ckpt_shrunk", Severity.WARNING)
    assert finding.summary == (
        "out/checkpoint-4 (step 4) has less than the 3 saves before it: optimizer.pt is missing,"
        " scheduler.pt is missing, 100.0 MiB instead of 300.0 MiB"
    )
    assert finding.remedy is not None
    assert finding.remedy.endswith("from deletion: /data/out/checkpoint-3")
    assert finding.details["missing"] == ["optimizer.pt", "scheduler.pt"]


def test_a_rank_is_missing(story: Story) -> None:
    save(save(story))
    save(story, (*FULL[:3], "rng_state_#.pth×7"))
    (finding,) = asked(story)
    assert "7 of 8 rng_state_#.pth" in finding.summary


def test_a_group_of_tensors_is_missing_in_one_file(story: Story) -> None:
    for parts in [("state_dict×148", "optimizer_states×296")] * 2 + [("state_dict×148",)]:
        save(story, parts, name="ep-{}.ckpt", format="lightning")
    (finding,) = asked(story)
    assert "optimizer_states is missing" in finding.summary


def test_far_fewer_bytes_alone(story: Story) -> None:
    for size in (1000, 1010, 700):
        save(story, (), size * MIB, name="{}.pt", format="torch")
    (finding,) = asked(story)
    assert "700.0 MiB instead of 1010.0 MiB" in finding.summary


def test_one_sibling_is_not_enough(story: Story) -> None:
    save(save(story), BARE)
    assert asked(story) == []


def test_siblings_that_do_not_agree_prove_nothing(story: Story) -> None:
    save(save(save(story), (*FULL, "ema.pt×1")))
    save(save(story), FULL)
    assert asked(story) == []


@pytest.mark.parametrize("sizes", [(100, 150, 90), (100, 100, 91), (60, 100, 55), (10, 20, 30)])
def test_sizes_that_vary_anyway(story: Story, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        save(story, (), size * MIB)
    assert asked(story) == []


def test_the_first_saves_without_optimizer_state_are_no_measure(story: Story) -> None:
    for parts in (BARE, BARE, FULL, FULL, FULL):
        save(story, parts)
    assert asked(story) == []


def test_other_names_are_other_kinds(story: Story) -> None:
    save(save(save(story)))
    save(story, BARE, MIB, name="best-{}")
    save(story, BARE, MIB, name="checkpoint-{}/adapter")
    save(story, BARE, MIB, format="safetensors")
    assert asked(story) == []


def test_two_kinds_that_take_turns_under_one_name(story: Story) -> None:
    for _ in range(3):
        save(save(save(story), BARE, MIB), BARE, MIB)
    assert asked(story) == []


def test_it_stays_told_while_every_later_one_lacks_it(story: Story) -> None:
    save(save(save(story)))
    for _ in range(3):
        save(story, BARE)
    assert len(asked(story)) == 3
    assert len(story.asks("checkpoint_shrunk", Limits(told=1))) == 1


def test_a_folder_is_given_time(story: Story) -> None:
    save(save(save(story)), BARE)
    assert asked(story, 80) == []
    assert asked(story, 10) != []


def test_a_folder_that_was_finished_after_all(story: Story) -> None:
    save(save(save(story)), BARE)
    assert asked(story) != []
    late = replace(story.checkpoints[-1], parts=FULL, files=11, saved_at=story.now)
    story.checkpoints[-1] = late
    story.seen(replace(late, state="pending"))
    story.seen(late)
    assert asked(story) == []


def test_the_siblings_may_be_pruned(story: Story) -> None:
    save(save(save(story)), BARE)
    story.checkpoints = story.checkpoints[-1:]
    assert len(asked(story)) == 1
    story.checkpoints = []
    assert asked(story) == []


def test_one_file_that_is_written_again_and_again(story: Story) -> None:
    for parts in (("model×9", "optimizer×18"), ("model×9", "optimizer×18"), ("model×9",)):
        save(story, parts, name="ckpt.pt", format="torch")
    assert len(asked(story)) == 1


def test_saves_of_the_run_before_are_no_siblings(story: Story) -> None:
    save(save(save(story)))
    story.run(started_at=story.now + 1)
    assert asked(save(story, BARE)) == []


@pytest.mark.parametrize("state", ["corrupt", "incomplete", "pending"])
def test_what_is_not_whole_is_another_trouble(story: Story, state: str) -> None:
    save(save(save(story)), BARE, state=state)
    assert asked(story) == []


def test_it_is_remembered_over_a_restart(story: Story) -> None:
    save(save(save(story)), BARE)
    again = Siblings()
    again.restore(json.loads(json.dumps(story.accumulators[Siblings].save())))
    story.accumulators[Siblings] = again
    assert len(asked(story)) == 1


@pytest.mark.parametrize("saved", [{"a": 1}, {"a": [[1]]}, {"a": [[1, "p", 2, 3, 4]]}, {"a": []}])
def test_a_memory_that_makes_no_sense(saved: Any) -> None:
    siblings = Siblings()
    siblings.restore(saved)
    assert siblings.quiet


def test_it_remembers_no_more_than_it_needs(story: Story) -> None:
    for kind in "abcdefghijklmnopqrstuvwxyz":
        for _ in range(12):
            save(story, name=kind + "-{}")
    kept = story.accumulators[Siblings].save()
    assert len(kept) == KINDS
    assert all(len(saves) == 8 for saves in kept.values())


def test_counts_of_parts() -> None:
    assert counted(["a×2", "b", "×3", "c×d", "x×y×4"]) == {"a": 2, "x×y": 4}


def of_ranks(story: Story, ranks: int, files: int) -> list[Finding]:
    """What is told of a save by so many ranks that left so many files of theirs."""
    seen = tuple(sample(pid=200 + rank, rank=rank) for rank in range(ranks))
    story.seen(ProcessesSeen(story.now, seen))
    save(story, (*FULL[:3], f"rng_state_#.pth×{files}"))
    return asked(story)


def test_fewer_ranks_leave_fewer_files(story: Story) -> None:
    for _ in range(3):
        assert of_ranks(story, 8, 8) == []
    for ranks in (6, 6, 6, 8, 8):
        assert of_ranks(story, ranks, ranks) == []


def test_a_rank_that_left_no_file(story: Story) -> None:
    for _ in range(3):
        of_ranks(story, 8, 8)
    (finding,) = of_ranks(story, 8, 7)
    assert "7 of 8 rng_state_#.pth" in finding.summary


def test_models_of_folds_and_quantiles_are_of_any_size(story: Story) -> None:
    for size in (66, 65, 28):
        save(story, (), size * MIB, name="model_q{}0.pkl", step=None, format="pickle")
    assert asked(story) == []
    for size in (66, 65, 28):
        save(story, (), size * MIB, name="model_{}.pkl", format="pickle")
    assert len(asked(story)) == 1


def test_one_that_is_written_in_place_is_compared_without_a_step(story: Story) -> None:
    for size in (66, 65, 28):
        save(story, (), size * MIB, name="last.pkl", step=None, format="pickle")
    assert len(asked(story)) == 1
