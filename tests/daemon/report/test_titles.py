from __future__ import annotations

import pytest

from middlewatch.daemon.report.titles import LOCKED, SAID, titled


def test_short_names_are_told_first() -> None:
    title = titled("CRITICAL", "run7", "box3", "loss is NaN since step 4210")
    assert title == "[CRITICAL] run7 on box3: loss is NaN since step 4210"


@pytest.mark.parametrize("label", ["CRITICAL", "WARNING", "CORRECTED", "RESOLVED", "FAILED"])
@pytest.mark.parametrize("name", ["a", "run7"])
@pytest.mark.parametrize("host", ["b", "box3", "f81d4fae7dec", "gpu-box-17.eu-central.example"])
def test_a_locked_screen_says_what_happened(label: str, name: str, host: str) -> None:
    what = "loss is NaN since step 4210"
    title = titled(label, name, host, what)
    assert what[:SAID] in title[:LOCKED]
    assert title.startswith(f"[{label}] {name} on {host[:5]}")
    assert title.endswith(f": {what}")


def test_a_long_name_of_a_box_is_cut_and_told_in_the_body() -> None:
    title = titled("CRITICAL", "gpt", "f81d4fae7dec", "loss is NaN since step 4210")
    assert title == "[CRITICAL] gpt on f81d4fae7…: loss is NaN since step 4210"


def test_the_name_of_a_run_stays_whole() -> None:
    title = titled("CRITICAL", "llama-3-8b-sft-v23", "f81d4fae7dec-17", "loss is NaN")
    assert title == "[CRITICAL] llama-3-8b-sft-v23 on f81d4fa…: loss is NaN"


def test_many_runs_are_counted_where_there_is_no_room() -> None:
    title = titled("CRITICAL", "gpt-small, gpt-medium and 7 more", "box3", "GPU 0 is hot", "9 runs")
    assert title == "[CRITICAL] 9 runs on box3: GPU 0 is hot"
