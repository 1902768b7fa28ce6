"""Saves that go when the box goes."""

from __future__ import annotations

from dataclasses import replace

from middlewatch.sentinels.checkpoint_not_durable import Limits
from middlewatch.sentinels.kit import Durability, Finding, Severity
from middlewatch.sentinels.kit.observations import VerifiedState

from .story import Story

MEMORY = Durability(False, False, "memory (tmpfs /dev/shm)", "save below /workspace")
VOLUME = Durability(True, False, "volume disk of the Pod (RunPod, /workspace)", "a network volume")
NETWORK = Durability(True, True, "network volume (RunPod, /workspace)")
UNKNOWN = Durability(None, None, "local disk (ext4 /)")
LAYER = Durability(None, False, "container layer (overlay /)")


def save(
    story: Story,
    where: Durability | None,
    *,
    state: VerifiedState = "ok",
    mirrored: str = "",
    path: str = "",
    wait_s: float = 600.0,
) -> Story:
    story.train(5).saved(state=state, path=path)
    newest = story.checkpoints[-1]
    story.checkpoints[-1] = replace(newest, durability=where, mirrored=mirrored)
    return story.wait(wait_s)


def told(story: Story) -> Finding:
    (finding,) = story.asks("checkpoint_not_durable")
    return finding


def test_all_saves_lie_in_memory(story: Story) -> None:
    finding = told(save(save(story, MEMORY), MEMORY))
    assert (finding.trouble, finding.severity) == ("ckpt_not_durable", Severity.WARNING)
    assert finding.summary == (
        "every good checkpoint lies where a stop of the box takes it: memory (tmpfs /dev/shm)"
    )
    newest = story.checkpoints[-1].path
    assert newest in finding.remedy
    assert "middlewatch mirror" in finding.remedy
    assert finding.remedy.endswith("from now on save below /workspace")
    assert finding.evidence[0].text.endswith(newest)
    assert finding.details["survives_stop"] is False
    assert not finding.fatal


def test_it_is_one_trouble_for_the_whole_run(story: Story) -> None:
    first = told(save(story, MEMORY))
    later = told(save(save(story, MEMORY), MEMORY))
    assert (first.trouble, first.key) == (later.trouble, later.key)


def test_before_the_first_save_that_passed(story: Story) -> None:
    assert story.train(5).asks("checkpoint_not_durable") == []
    for state in ("pending", "incomplete", "corrupt", "unverifiable"):
        save(story, MEMORY, state=state)
    assert story.asks("checkpoint_not_durable") == []


def test_one_good_save_that_lasts_is_enough(story: Story) -> None:
    save(save(story, NETWORK), MEMORY)
    assert story.asks("checkpoint_not_durable") == []


def test_a_bad_save_that_lasts_is_not(story: Story) -> None:
    save(save(story, NETWORK, state="corrupt"), MEMORY)
    assert told(story).severity is Severity.WARNING


def test_what_only_the_end_of_the_box_takes_is_a_note(story: Story) -> None:
    finding = told(save(save(story, VOLUME), MEMORY))
    assert finding.severity is Severity.INFO
    assert "given back" in finding.summary
    assert finding.details["survives_stop"] is True
    assert story.asks("checkpoint_not_durable", Limits(note_destroy=False)) == []


def test_nobody_knows(story: Story) -> None:
    assert save(story, UNKNOWN).asks("checkpoint_not_durable") == []
    assert save(story, LAYER).asks("checkpoint_not_durable") == []
    assert save(story, None).asks("checkpoint_not_durable") == []


def test_a_copy_that_was_read_back(story: Story) -> None:
    save(story, MEMORY, mirrored="/mnt/far/run7")
    assert story.asks("checkpoint_not_durable") == []
    save(story, MEMORY)  # the next one is on its way there
    assert story.asks("checkpoint_not_durable") == []


def test_an_old_log_knows_no_box(story: Story) -> None:
    assert save(story, MEMORY).replayed().asks("checkpoint_not_durable") == []


def test_a_place_without_better_advice(story: Story) -> None:
    finding = told(save(story, Durability(False, False, "as configured")))
    assert finding.remedy.endswith(story.checkpoints[-1].path)


def test_a_first_save_may_be_moved_yet(story: Story) -> None:
    assert save(story, MEMORY, wait_s=500).asks("checkpoint_not_durable") == []
    assert story.asks("checkpoint_not_durable", Limits(after_s=400))
    assert story.wait(100).asks("checkpoint_not_durable")
    save(story, MEMORY, wait_s=1)
    assert story.asks("checkpoint_not_durable"), "the first one still lies there"
