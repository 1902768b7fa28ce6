from __future__ import annotations

import pytest

from middlewatch.daemon.report.titles import LOCKED, NAME, SAID, shortened, titled


def test_short_names_are_told_first() -> None:
    title = titled("CRITICAL", "run7", "box3", "loss is NaN since step 4210")
    assert title == "[CRITICAL] run7 on box3: loss is NaN since step 4210"


@pytest.mark.parametrize("label", ["CRITICAL", "WARNING", "CORRECTED", "RESOLVED", "FAILED"])
@pytest.mark.parametrize("name", ["a", "run7", "llama-3-8b-sft-long-experiment-v23"])
@pytest.mark.parametrize("host", ["b", "box3", "f81d4fae7dec", "gpu-box-17.eu-central.example"])
def test_a_locked_screen_says_what_happened(label: str, name: str, host: str) -> None:
    what = "loss is NaN since step 4210"
    title = titled(label, name, host, what)
    assert what[:SAID] in title[:LOCKED]
    assert title.startswith(f"[{label}] {name[:3]}")
    assert what in title
    assert host in title or f"{name} on {host[:5]}" in title


def test_a_long_name_of_a_box_is_cut_and_told_in_the_body() -> None:
    title = titled("CRITICAL", "gpt", "f81d4fae7dec", "loss is NaN since step 4210")
    assert title == "[CRITICAL] gpt on f81d4fae7…: loss is NaN since step 4210"


def test_the_ends_of_a_name_stay() -> None:
    assert shortened("llama-3-8b-sft-v23") == "llama-3…ft-v23"
    assert len(shortened("x" * 60)) == NAME
    assert shortened("gpt") == "gpt"
