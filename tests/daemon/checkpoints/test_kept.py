"""An index and back: what was known of the checkpoints of a run that ended under an earlier daemon."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.index import build
from middlewatch.daemon.checkpoints.kept import kept_checkpoints
from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import Durability

STATES = ("ok", "corrupt", "incomplete", "unverifiable", "pending")
NOW = 1_800_000_000.0
numbers = st.one_of(st.none(), st.integers(0, 10**9).map(float), st.floats(0, 1e9))
seen = st.builds(
    CheckpointSeen,
    at=st.integers(1_700_000_000_000, 1_799_000_000_000).map(lambda ms: ms / 1000),
    path=st.from_regex(r"/[a-z]{1,8}/step-[0-9]{1,6}", fullmatch=True),
    saved_at=st.integers(1_700_000_000_000, 1_799_000_000_000).map(lambda ms: ms / 1000),
    bytes=st.integers(0, 1 << 50),
    files=st.integers(1, 99),
    format=st.sampled_from(("safetensors", "torch_zip", "")),
    step=numbers,
    epoch=numbers,
    state=st.sampled_from(STATES),
    level=st.sampled_from((None, "structure", "finite")),
    detail=st.sampled_from(("", "cut short")),
    metrics=st.dictionaries(st.sampled_from(("loss", "acc")), st.floats(allow_nan=False)),
    step_origin=st.sampled_from((None, "name", "log")),
    parts=st.sampled_from(((), ("rng_state_#.pth×8",))),
    durability=st.sampled_from((None, Durability(True, False, "network volume"))),
)


@given(st.lists(seen, max_size=5, unique_by=lambda one: one.path))
def test_the_index_of_what_was_kept_is_the_same_index(known: list[CheckpointSeen]) -> None:
    index = build("gpt-1", known, NOW)
    again = build("gpt-1", kept_checkpoints(index), NOW, before=index)
    assert again == index


json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda below: st.one_of(st.lists(below), st.dictionaries(st.text(), below)),
    max_leaves=8,
)


@given(
    st.lists(
        st.one_of(
            json,
            st.fixed_dictionaries(
                dict.fromkeys(
                    ("path", "saved_at", "bytes", "files", "verified", "metrics", "step"), json
                )
            ),
        )
    )
)
def test_what_cannot_be_understood_is_left_out(entries: list[Any]) -> None:
    good = build("gpt-1", [CheckpointSeen(NOW, "/a/step-1", NOW, 1, 1, "")], NOW)["checkpoints"]
    kept = kept_checkpoints({"checkpoints": [*entries, *good]})
    assert kept[-1].path == "/a/step-1"
