"""A mount that becomes read-only under a run."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.disk_read_only import Limits, recovered
from middlewatch.sentinels.kit import OpenIncident, Severity

from .story import GIB, Story


def looks(story: Story, count: int, *, read_only: bool, **other: object) -> Story:
    for _ in range(count):
        story.train(1).disk(50 * GIB, read_only=read_only, **other)  # type: ignore[arg-type]
    return story


def test_it_turns_read_only(story: Story) -> None:
    looks(story, 5, read_only=False)
    assert looks(story, 1, read_only=True).asks("disk_read_only") == []
    (finding,) = looks(story, 1, read_only=True).asks("disk_read_only")
    assert (finding.trouble, finding.severity) == ("disk_read_only", Severity.CRITICAL)
    assert finding.place == "mount:/data"
    assert finding.summary.startswith("/data has become read-only")


def test_it_is_over_when_it_can_be_written_to(story: Story) -> None:
    looks(looks(story, 5, read_only=False), 4, read_only=True)
    (finding,) = story.asks("disk_read_only")
    case = OpenIncident("disk_read_only", finding.key, story.now, story.now)
    assert recovered(story.view(), Limits(), case) == ""
    assert looks(story, 1, read_only=False).asks("disk_read_only") == []
    assert recovered(story.view(), Limits(), case) == "/data can be written to again"


@pytest.mark.parametrize("holds", [("tmp",), ("state",), ("shm",)])
def test_what_the_run_does_not_write_to(story: Story, holds: tuple[str, ...]) -> None:
    looks(looks(story, 5, read_only=False, holds=holds), 5, read_only=True, holds=holds)
    assert story.asks("disk_read_only") == []


def test_data_that_was_never_writable(story: Story) -> None:
    assert looks(story, 9, read_only=True).asks("disk_read_only") == []
