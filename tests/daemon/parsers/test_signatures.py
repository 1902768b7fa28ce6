"""Every signature against its own examples, picked up by itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from middlewatch.daemon.parsers import signatures
from middlewatch.daemon.parsers.matcher import candidates, matches
from middlewatch.daemon.parsers.numbers.program_text import is_code
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.signatures import SIGNATURES
from middlewatch.sentinels.kit import LogEvent

from .examples import EXAMPLES, FOLDER

VOCABULARY = frozenset(
    [
        "loss_nan",
        "loss_inf",
        "val_loss_nan",
        "loss_missing",
        "loss_zero",
        "loss_diverged",
        "loss_spike",
        "grad_spike",
        "grad_nonfinite",
        "overflow_skip",
        "loss_scale_exhausted",
        "cuda_oom",
        "accel_oom",
        "host_alloc_failed",
        "host_oom_kill",
        "cgroup_oom_kill",
        "process_killed",
        "dataloader_worker_killed",
        "shm_exhausted",
        "nccl_timeout",
        "nccl_error",
        "gloo_timeout",
        "gloo_error",
        "rank_failed",
        "rendezvous_failed",
        "launch_error",
        "cuda_device_assert",
        "cuda_illegal_access",
        "cuda_launch_failure",
        "cuda_ecc",
        "cuda_unavailable",
        "cublas_error",
        "cudnn_error",
        "gpu_lost",
        "xid",
        "nvswitch",
        "disk_full",
        "inode_exhausted",
        "quota_exceeded",
        "fd_exhausted",
        "io_error",
        "disk_error",
        "fs_error",
        "mce",
        "kernel_panic",
        "ckpt_write_failed",
        "ckpt_corrupt",
        "checkpoint_stale",
        "ckpt_mismatch",
        "network_error",
        "tracker_network_error",
        "tracker_write_failed",
        "slurm_time_limit",
        "slurm_cancelled",
        "preempted",
        "sigterm_received",
        "interrupted",
        "segfault",
        "python_exception",
        "throughput_collapse",
        "hang",
        "silent_end",
    ]
)
FROM_NUMBERS = frozenset(
    [
        "loss_zero",
        "loss_spike",
        "grad_spike",
        "throughput_collapse",
        "silent_end",
    ]
)
"""Classes that no line tells by itself: sentinels decide them."""

ROWS_OF = {
    trouble: [s for s in SIGNATURES if s.trouble == trouble]
    for trouble in sorted({s.trouble for s in SIGNATURES})
}


@pytest.mark.parametrize("trouble", ROWS_OF)
def test_speaks_in_a_log(trouble: str) -> None:
    """The reader asks a row by the shape of the line, where every number is a ``0``."""
    unheard = [
        f"{row.id}: {line}"
        for row in ROWS_OF[trouble]
        for line in EXAMPLES[row.id].hits
        if not re.search(row.pattern, line) or not (trouble in told(line) or is_code(line))
    ]
    assert unheard == []


def told(line: str) -> set[str]:
    """The troubles that the reader finds in a log of this one line."""
    reader = LogReader("a.log")
    said = [*reader.feed(f"{line}\n".encode(), 1.0), *reader.finish(1.0)]
    return {seen.trouble for seen in said if isinstance(seen, LogEvent)}


def test_stays_silent() -> None:
    heard = [
        f"{s.id}: {line}"
        for s in SIGNATURES
        for line in EXAMPLES[s.id].misses
        if re.search(s.pattern, line)
    ]
    assert heard == []


def test_every_class_that_a_line_can_tell_has_a_signature() -> None:
    assert {s.trouble for s in SIGNATURES} == VOCABULARY - FROM_NUMBERS


def test_every_row_has_examples_in_the_file_of_its_module() -> None:
    assert len({s.id for s in SIGNATURES}) == len(SIGNATURES)
    assert set(EXAMPLES) == {s.id for s in SIGNATURES}
    for signature in SIGNATURES:
        assert EXAMPLES[signature.id].hits, signature.id
        assert EXAMPLES[signature.id].misses, signature.id
    modules = {p.stem for p in Path(signatures.__file__).parent.glob("*.py")}
    assert {p.stem for p in FOLDER.iterdir()} == modules - {"__init__", "form", "ends"}


@pytest.mark.parametrize(
    ("line", "details"),
    [
        (
            "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79 GiB",
            {"requested_bytes": 2684354560, "gpu": 3},
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=12, GPU has fallen off the bus.",
            {"xid": 79, "gpu_bus": "0000:3b:00"},
        ),
        (
            "failed (exitcode: -9) local_rank: 2 (pid: 4711) of binary: /usr/bin/python3",
            {"exitcode": -9, "signal": 9, "rank": 2},
        ),
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. ", {"signal": 9}),
        (
            "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0",
            {"loss_scale": 16384.0},
        ),
        ("node: task 1: Exited with exit code 3", {}),
    ],
)
def test_details(line: str, details: dict[str, object]) -> None:
    found: dict[str, object] = {}
    for _, more in matches(line, candidates(line)):
        found |= more
    assert found == details | {k: v for k, v in found.items() if k not in details}


@pytest.mark.parametrize(
    "bit",
    ["a ", "1 ", "out of memory ", "saving checkpoint ", "| ", "[", "(", ": ", "loss ", "Error: "],
)
def test_no_pattern_blows_up_on_long_lines(bit: str) -> None:
    line = (bit * 4096)[:4096]
    for signature in SIGNATURES:
        re.search(signature.pattern, line)
