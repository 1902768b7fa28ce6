"""Reading for events alone: with every engine the same, and the same as the full reading."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.events import EventReader
from middlewatch.daemon.parsers.matcher import INDEX
from middlewatch.daemon.parsers.prefilter import ENGINES, AtomFinder, best_finder, finder
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.signatures import SIGNATURES
from middlewatch.sentinels.kit import CheckpointSaved, LogEvent, Observation

from .examples import EXAMPLES

LINES = [
    "step 5/100 loss 2.5 lr 1e-4",
    "[rank3]: Traceback (most recent call last):",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    '    raise RuntimeError("Loss is nan, stopping training")',
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "ValueError: no",
    "Exception ignored in: <function f>",
    "import torch",
    "def main():",
    "    loss = 0.0",
    "    Killed",
    "note = Killed process 77 (python)",
    "Saving checkpoint to out/checkpoint-500",
    "***** Running training *****",
    "Training finished",
    "K\u0131lled, or \u212aILLED, or \u7092\u4e86",
    "\r 10%|#         | 10/100 [00:10<00:20,  2.00it/s]",
    "\x1b[31mCUDA out of memory\x1b[0m",
    "x" * 70_000,
    "",
    "nothing",
    "nothing else",
    *(hit for row in SIGNATURES[::7] for hit in EXAMPLES[row.id].hits[:1]),
]
LOG = st.lists(
    st.sampled_from(
        [
            *(f"{line}\n".encode() for line in LINES),
            b"\n",
            b"\xff\xfe\x00",
            b"\r\n",
            b"\r",
            b"import torch\r",
        ]
    ),
    max_size=60,
).map(b"".join)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> AtomFinder:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed (middlewatch[fast])")
    return finder(request.param, INDEX.atoms)


def events(reader: LogReader, *chunks: bytes) -> list[Observation]:
    said = [o for chunk in chunks for o in reader.feed(chunk, 3.0)] + reader.finish(3.0)
    return [o for o in said if isinstance(o, (LogEvent, CheckpointSaved))]


LISTING = b"""import torch
    raise RuntimeError("Loss is nan, stopping training")
    Killed
"""


@given(LOG, st.lists(st.integers(0, 3000), max_size=4))
@example(LISTING, [14])
def test_the_events_are_those_of_the_full_reading(data: bytes, cuts: list[int]) -> None:
    marks = sorted({min(c, len(data)) for c in cuts})
    chunks = [data[a:b] for a, b in zip([0, *marks], [*marks, len(data)], strict=True)]
    assert events(EventReader("x"), *chunks) == events(LogReader("x"), data)


@given(data=LOG, cuts=st.lists(st.integers(0, 3000), max_size=4))
def test_every_engine_finds_the_same(engine: AtomFinder, data: bytes, cuts: list[int]) -> None:
    marks = sorted({min(c, len(data)) for c in cuts})
    chunks = [data[a:b] for a, b in zip([0, *marks], [*marks, len(data)], strict=True)]
    assert events(EventReader("x", finder=engine), *chunks) == events(LogReader("x"), data)


@given(data=LOG | st.binary(max_size=300))
def test_every_line_with_an_atom_is_hit(engine: AtomFinder, data: bytes) -> None:
    hit = {data.count(b"\n", 0, at) for at in engine.find(data)}
    with_atom = {i for i, line in enumerate(data.split(b"\n")) if INDEX.find(line)}
    assert hit == with_atom


@given(st.sampled_from(LINES) | st.text(max_size=80))
def test_the_index_finds_what_looking_for_every_atom_finds(text: str) -> None:
    line = text.encode("utf-8", "surrogateescape")
    low = line.lower()
    assert INDEX.find(line) == {i for atom, ids in INDEX.atoms.items() if atom in low for i in ids}


def test_there_is_an_engine_or_none() -> None:
    best = best_finder(INDEX.atoms)
    assert best is None or best.engine in ENGINES
