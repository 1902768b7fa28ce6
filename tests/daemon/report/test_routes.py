"""Who is called: tags and what they let through."""

from __future__ import annotations

from dataclasses import replace

import pytest

from middlewatch.daemon.config.phones import tags_of
from middlewatch.daemon.config.schema import Route
from middlewatch.daemon.config.times import zone_of
from middlewatch.daemon.report.messages import TEST, Message
from middlewatch.daemon.report.routes import fits, targets, unknown_tags

CRITICAL = Message("[CRITICAL] x", "b", "failure", trouble="disk_full", run="gpt-big")
WARNING = replace(CRITICAL, kind="warning")
RESOLVED = replace(CRITICAL, kind="success", severity="critical")
NOON = 1764154800.0
"""2025-11-26 12:00 in Berlin."""
BERLIN = zone_of("Europe/Berlin")
RULES = {
    "night": Route(hours="22:00-07:00"),
    "pager": Route(min_severity="critical"),
    "disks": Route(classes=("disk_*", "inode_exhausted")),
    "big": Route(runs=("*-big",)),
}


def lets(tags: str, message: Message, at: float = NOON) -> bool:
    (target,) = targets([f"{tags}json://h/x" if tags else "json://h/x"])
    return fits(target, message, RULES, at, BERLIN)


def test_tags_are_written_as_in_apprise() -> None:
    assert tags_of("ntfy://h/topic?x=json://y") == ((), "ntfy://h/topic?x=json://y")
    assert tags_of("a, b-2 = ntfys://h/t?k=v") == (("a", "b-2"), "ntfys://h/t?k=v")
    one, two = targets(["json://h/x", "pager=json://h/x"])
    assert one.mark != two.mark
    assert (two.url, two.label) == ("json://h/x", "url 2 (json://)")


@pytest.mark.parametrize(
    ("tags", "message", "goes"),
    [
        ("", WARNING, True),
        ("pager=", CRITICAL, True),
        ("pager=", RESOLVED, True),
        ("pager=", WARNING, False),
        ("pager,disks=", WARNING, True),
        ("disks=", replace(CRITICAL, trouble="loss_nan"), False),
        ("big=", CRITICAL, True),
        ("big=", replace(CRITICAL, run="gpt-small"), False),
        ("mistyped=", WARNING, True),
        ("pager=", TEST, True),
    ],
)
def test_what_goes_where(tags: str, message: Message, *, goes: bool) -> None:
    assert lets(tags, message) is goes


def test_hours_are_those_of_the_person() -> None:
    hour = 3600.0
    assert [lets("night=", CRITICAL, NOON + n * hour) for n in (0, 9, 10, 18, 19)] == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_a_tag_that_no_section_describes() -> None:
    assert unknown_tags(["pager=json://h/x", "typo,big=json://h/x"], RULES) == ["typo"]
