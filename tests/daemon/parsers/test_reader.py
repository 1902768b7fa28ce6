from __future__ import annotations

import json
import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import LogEvent, Observation, Step

LINES = [
    "step 5/100 loss 2.5 lr 1e-4",
    "step 6/100 loss nan lr 1e-4",
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "train.py", line 3, in <module>',
    "[rank3]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "\r 10%|#         | 10/100 [00:10<00:20,  2.00it/s]",
    "\r 11%|#         | 11/100 [00:10<00:20,  2.00it/s, loss=2.0]",
    "Step\tTraining Loss\tValidation Loss",
    "500\t2.31\t2.2",
    "[step=100/2000,epoch=0]",
    "    train/CE loss=6.2",
    "--------",
    "|    loss | 56.6 |",
    "|    approx_kl | 0.1 |",
    "Saving checkpoint to out/checkpoint-500",
    "    return x + 1",
    "import torch",
    "Killed",
    "损失: 2.0",
    "\x1b[31mred\x1b[0m",
]
LOG = st.lists(
    st.sampled_from(
        [*(line.encode() for line in LINES), b"\n", b"\n", b"\n", b"\xff\xfe\x00", b" ", b"\r\n"]
    ),
    max_size=40,
).map(b"".join)


def read(reader: LogReader, *chunks: bytes) -> list[Observation]:
    return [o for chunk in chunks for o in reader.feed(chunk, 3.0)]


def same(a: list[Observation], b: list[Observation]) -> bool:
    """Equal, with nan equal to nan."""
    return repr(a) == repr(b)


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    reader = LogReader("x")
    said = read(reader, data) + reader.finish(3.0)
    assert reader.lines == data.count(b"\n")
    assert reader.bytes == len(data)
    assert all(isinstance(getattr(o, "line", 0), int) for o in said)


@given(LOG, st.lists(st.integers(0, 2000), max_size=5))
def test_any_split_gives_the_same_observations(data: bytes, cuts: list[int]) -> None:
    marks = sorted({min(c, len(data)) for c in cuts})
    chunks = [data[a:b] for a, b in zip([0, *marks], [*marks, len(data)], strict=True)]
    whole, split = LogReader("x"), LogReader("x")
    assert same(read(whole, data) + whole.finish(3.0), read(split, *chunks) + split.finish(3.0))
    assert list(whole.tail) == list(split.tail)


@given(LOG, st.integers(0, 2000))
@example(
    b" step 5/100 loss 2.5[rank3]: Traceback (most recent call last):\n step 5/100 loss 2.5", 65
)
def test_a_restored_reader_goes_on_where_it_was(data: bytes, at: int) -> None:
    whole, before = LogReader("x", 2), LogReader("x", 2)
    said = read(before, data[:at])
    after = LogReader.restore("x", json.loads(json.dumps(before.save())), 2)
    said += read(after, data[at:]) + after.finish(3.0)
    assert same(said, read(whole, data) + whole.finish(3.0))
    assert (after.lines, after.bytes) == (whole.lines, len(data))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "cutter",
                        "progress",
                        "header",
                        "tracebacks",
                        "head",
                        "bar",
                        "number",
                        "bytes",
                        "heat",
                    ]
                ),
                x,
            )
        ),
        max_leaves=12,
    )
)
def test_damaged_state_does_not_matter(state: object) -> None:
    reader = LogReader.restore("x", state if isinstance(state, dict) else {"cutter": state})
    read(reader, b"a\nstep 3 loss 2\n")


def test_the_rank_of_the_prefix_wins() -> None:
    said = read(
        LogReader("x", 7), b"[rank3]: step 5 loss 2.0\nstep 6 loss 2.0\n[rank2]: Killed\nKilled\n"
    )
    assert [(type(o).__name__, getattr(o, "rank", None)) for o in said] == [
        ("Step", 3),
        ("Step", 7),
        ("LogEvent", 2),
        ("LogEvent", 7),
    ]


def test_every_occurrence_is_an_event() -> None:
    said = read(
        LogReader("x"),
        b"".join(
            b"[rank%d]: RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB\n" % r
            for r in range(8)
        ),
    )
    assert [o.rank for o in said if isinstance(o, LogEvent)] == list(range(8))


def test_program_text_in_the_log_is_not_news() -> None:
    listing = """import os
import torch
def main():
    loss = 0.0
    if torch.isnan(loss):
        raise RuntimeError("Loss is nan, stopping training")
    # avoid CUDA out of memory
    print("CUDA out of memory")
    val_loss = 3.0
    lr = 0.1
"""
    assert read(LogReader("x"), listing.encode()) == []


def test_a_listing_ends_and_the_training_begins() -> None:
    said = read(
        LogReader("x"),
        b"import os\nimport torch\ndef f():\n    return 1\n====\nRunning torch 2.9\nstep:0/100 train_loss:3.0\n",
    )
    assert [o.number for o in said if isinstance(o, Step)] == [0]


def test_the_tail_keeps_the_newest_state_of_each_line() -> None:
    reader = LogReader("x")
    read(reader, b"one\n\r 1%\r 2%\r 3%\n" + b"z" * 1000 + b"\n\xff\n")
    assert list(reader.tail) == [
        (1, "one"),
        (2, " 3%"),
        (3, "z" * 399 + "…"),
        (4, "\N{REPLACEMENT CHARACTER}"),
    ]
    read(reader, b"line\n" * 1000)
    assert len(reader.tail) == 200
    assert reader.tail[-1] == (1004, "line")


def test_texts_are_short_and_clean() -> None:
    said = read(
        LogReader("x"),
        b"OSError: [Errno 28] No space left on device: \xff\x01" + b"a" * 5000 + b"\n",
    )
    (event,) = (o for o in said if isinstance(o, LogEvent))
    assert len(event.text) == 400
    assert event.text.isprintable()


def test_a_hundred_thousand_shapes_do_not_fill_the_memory() -> None:
    program = """
import resource, sys
from middlewatch.daemon.parsers.reader import LogReader
reader = LogReader("x")
reader.feed(b"warm step 1 loss 2\\n", 1.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
for i in range(20_000):
    reader.feed((" ".join(words[(i * k) % 97] for k in (1, 7, 31, 53, 89)) + words[i % 89] * 9 + "\\n").encode(), 1.0)
for _ in range(320):
    reader.feed(b"x" * 65536, 1.0)
reader.feed(b"\\n", 1.0)
assert reader.clipped == 1, reader.clipped
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    grown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert float(grown) < 6.0


def test_what_the_import_brings_along() -> None:
    program = "import sys; import middlewatch.daemon.parsers.reader; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert not loaded & {
        "asyncio",
        "urllib.request",
        "http",
        "ssl",
        "email",
        "torch",
        "numpy",
        "subprocess",
        "logging",
        "psutil",
    }
