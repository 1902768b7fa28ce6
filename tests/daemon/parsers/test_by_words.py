"""An error in words that no library of ours uses still has the class of what it speaks of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.by_words import trouble_of

MEANT = [
    ("host_alloc_failed", "malloc of size 17179869184 failed"),
    ("host_alloc_failed", "could not allocate buffer of 12 GiB for the replay memory"),
    ("cuda_oom", "GPU memory exhausted while allocating workspace (needed 3221225472 bytes)"),
    ("accel_oom", "not enough memory on NPU 3 for the optimizer"),
    ("shm_exhausted", "not enough shared memory: /dev/shm has 64 MB"),
    ("disk_full", "not enough space on volume E: to write the snapshot"),
    ("disk_full", "the file system of /scratch is full, cannot save"),
    ("quota_exceeded", "block quota of the project exceeded"),
    ("ckpt_corrupt", "checkpoint step_900: checksum of shard 3 differs"),
    ("ckpt_mismatch", "checkpoint was saved with a different architecture"),
    ("loss_nan", "probability tensor contains either `inf`, `nan` or element < 0"),
    ("grad_nonfinite", "the norm of the gradients is non-finite"),
    ("network_error", "cannot connect to host data.example.org:443 [refused]"),
]
ANYTHING_ELSE = [
    "list index out of range",
    "checkpoint interval must be positive",
    "loss weights must sum to 1",
    "action space is not compatible with Box",
    "Input X contains NaN.",
    "cannot allocate 4 GPUs: only 2 are visible",
    "out of resource: shared memory, Required: 131072, Hardware limit: 101376",
    "You exceeded your current quota of requests to the API",
    "",
]


@pytest.mark.parametrize(("trouble", "message"), MEANT, ids=lambda text: text[:30])
def test_what_a_message_speaks_of(trouble: str, message: str) -> None:
    assert trouble_of(message) == trouble


@pytest.mark.parametrize("message", ANYTHING_ELSE)
def test_what_speaks_of_something_else(message: str) -> None:
    assert trouble_of(message) == ""


@given(st.text(max_size=2000))
def test_any_text_is_read(text: str) -> None:
    trouble_of(text)
