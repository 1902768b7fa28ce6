"""Sections `[[rule]]` of the configuration."""

from __future__ import annotations

import pytest

from middlewatch.daemon.config.load import parse, rows
from middlewatch.daemon.config.own_rules import MOST
from middlewatch.daemon.system.errors import ConfigError

FIRST = '[[rule]]\nname = "a"\nmetric = "loss"\nabove = 9.0\nfor = "10m"\n\n'
"""Six lines."""


def test_rules_are_read_in_order() -> None:
    config = parse(
        FIRST + "[[rule]]\nname = 'b'\nmetric = 'reward'\nbelow = -5\nruns = ['gpt-*']\n"
        "severity = 'critical'\n[[rule]]\nname = 'c'\nstate = 'stalled'\nfor = '20m'\n"
        "[[rule]]\nname = 'd'\nmetric = 'acc'\nfalls_by = '20%'\nwithin = '2h'\n"
        "[[rule]]\nname = 'e'\nmetric = 'loss'\nno_report_for = '20m'\n",
        "f",
    )
    a, b, c, d, e = config.rules
    assert (a.key, a.above, a.for_s, a.severity) == ("train_loss", 9.0, 600.0, "warning")
    assert (b.below, b.severity) == (-5.0, "critical")
    assert (c.state, c.for_s, d.falls_by, d.within_s) == ("stalled", 1200.0, "20%", 7200.0)
    assert e.no_report_for_s == 1200.0
    assert [one.name for one in config.rules_for("gpt-small")] == ["a", "b", "c", "d", "e"]
    assert [one.name for one in config.rules_for("bert")] == ["a", "c", "d", "e"]
    shown = {key: (value, origin) for key, value, origin in rows(config) if key.startswith("rule")}
    assert shown["rule.1.for"] == (600.0, "f:5")
    assert shown["rule.2.below"] == (-5.0, "f:10")
    assert "rule.1.message" not in shown  # of a rule only what it says


def test_without_rules_there_are_none() -> None:
    assert parse("", "").rules == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('metric = "loss"\nabove = 1.0', 7, "rule.2 has no name"),
        ('name = "b b"\nmetric = "loss"\nabove = 1.0', 8, "letters, digits"),
        ('name = "a"\nmetric = "loss"\nabove = 1.0', 8, "'a' is the name of another rule"),
        ('name = "b"', 7, "rule.2 has neither a metric nor a state"),
        ('name = "b"\nmetric = "loss"', 9, "has no condition; one of above, below"),
        ('name = "b"\nmetric = "step"\nabove = 5', 9, "'step' is a counter"),
        ('name = "b"\nmetric = "loss"\nabove = 5\nbelow = 1', 11, "is a second condition"),
        ('name = "b"\nmetric = "loss"\nstate = "stalled"', 10, "cannot stand together"),
        ('name = "b"\nstate = "stalled"\nabove = 1', 10, "needs a metric"),
        ('name = "b"\nstate = "bored"', 9, "is none of running, stalled"),
        ('name = "b"\nmetric = "loss"\nabove = "high"', 10, "high"),
        ('name = "b"\nmetric = "loss"\nabove = true', 10, "must be"),
        ('name = "b"\nmetric = "loss"\nabove = nan', 10, "number"),
        ('name = "b"\nmetric = "loss"\nabove = 1\nfor = "soon"', 11, 'write it like "10m"'),
        ('name = "b"\nmetric = "loss"\nabove = 1\nfor = "30d"', 11, "7 days at most"),
        ('name = "b"\nmetric = "loss"\nabove = 1\nwithin = "1h"', 11, "rises_by and falls_by"),
        ('name = "b"\nmetric = "loss"\nrises_by = "lots"', 10, "cannot read 'lots'"),
        ('name = "b"\nmetric = "loss"\nrises_by = -1', 10, "more than zero"),
        ('name = "b"\nmetric = "loss"\nno_report_for = "1h"\nfor = "1m"', 11, "no meaning"),
        ('name = "b"\nmetric = "loss"\nno_report_for = 0', 10, "more than zero"),
        ('name = "b"\nmetric = "loss"\nabove = 1\nruns = [""]', 11, "empty pattern"),
        (
            'name = "b"\nmetric = "loss"\nabove = 1\nseverity = "loud"',
            11,
            "is none of info, warning",
        ),
        ('name = "b"\nmetric = "loss"\nover = 1', 10, "unknown key"),
        ('name = "b"\nmetric = "loss"\nabove = 1\nfor_s = 1', 11, "unknown key"),
    ],
)
def test_a_mistake_names_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(f"{FIRST}[[rule]]\n{text}\n", "box.toml")
    assert str(caught.value).startswith(f"box.toml:{line}: ")
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["rule = 1", "[rule]\nname = 'a'", "rule = ['a']"])
def test_what_is_no_list_of_rules(text: str) -> None:
    with pytest.raises(ConfigError, match=r"must be written as \[\[rule\]\]"):
        parse(text, "f")


def test_there_are_not_too_many() -> None:
    many = "".join(FIRST.replace('"a"', f'"r{n}"') for n in range(MOST + 1))
    with pytest.raises(ConfigError, match="one rule too many"):
        parse(many, "f")
