"""What a model reads is no trouble of its run."""

from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.sentinels.kit import LogEvent

BAD = "RuntimeError: CUDA out of memory. Tried to allocate 8.00 GiB"


def troubles(*lines: str) -> list[str]:
    reader = LiveReader("run.log")
    found = []
    for now, line in enumerate(lines):
        found += reader.feed(f"{line}\n".encode(), float(now))
    return [one.trouble for one in found if isinstance(one, LogEvent)]


@pytest.mark.parametrize(
    "form",
    [
        "{!r} -> gpu (0.{:02d})",
        "2026-11-25 23:25:{1:02d} INFO   sample: {0!r} => storage, truth gpu",
        '[{1}] "{0}": predicted network',
    ],
)
def test_quoted_samples(form: str) -> None:
    texts = [
        "my mouse does not move",
        "the printer says hello",
        "since monday: " + BAD,
        "No space left on device",
    ]
    assert troubles(*(form.format(text, n) for n, text in enumerate(texts))) == []


@pytest.mark.parametrize(
    "lines",
    [
        [BAD],
        [f"worker 3 failed: {BAD!r} at step 4"],
        [f'{{"level": "error", "message": "{BAD}", "n": {n}}}' for n in (1, 2, 3)],
        ["loading 'the data set'  ok", "loading 'the tokenizer'  ok", BAD],
    ],
)
def test_what_happens_to_the_run_is_told(lines: list[str]) -> None:
    assert "cuda_oom" in troubles(*lines)


def test_a_trouble_beside_the_quoted_words_is_told_each_time() -> None:
    lines = [f"saving 'run one/best {n}.pt' failed: {BAD}" for n in range(4)]
    assert troubles(*lines) == ["cuda_oom"] * 4
