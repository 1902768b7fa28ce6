"""Which GPUs are those of a run."""

from __future__ import annotations

import pytest

from middlewatch.daemon.judge.gpus import KnownGpus, gpus_of
from middlewatch.sentinels.kit import GpuSample, PartsUsed

OURS = {100, 101}


def cards(*pids: tuple[int, ...] | None) -> list[GpuSample]:
    """A box whose driver numbers its device files from the last card to the first."""
    return [
        GpuSample(0.0, i, uuid=f"GPU-{i}abc", pids=p, minor=len(pids) - 1 - i)
        for i, p in enumerate(pids)
    ]


def parts(opened: set[int] | None = None, allowed: tuple[str, ...] | None = None) -> PartsUsed:
    minors = None if opened is None else frozenset(opened)
    return PartsUsed(0.0, gpu_minors=minors, gpus_visible=allowed)


@pytest.mark.parametrize(
    ("used", "pids", "wanted"),
    [
        (None, ((100,), (7,)), {0}),
        (None, ((7,), (100, 101)), {1}),
        (None, ((7,), ()), None),
        (None, (None, None), None),
        (parts(), ((4242,), (4243,)), None),
        # in a container the driver has the pids of the host: the open device files count
        (parts({0}), ((4242,), (4243,)), {1}),
        (parts({0, 1}), ((4242,), (4243,)), {0, 1}),
        (parts(set()), ((4242,), ()), set()),
        # CUDA opened both, its environment allows one
        (parts({0, 1}, ("1",)), ((), ()), {1}),
        (parts({0, 1}, ("GPU-0",)), ((), ()), {0}),
        # a program that chose another card than its environment had at the start
        (parts({1}, ("1",)), ((), ()), {0}),
        # the files may not be seen: the environment alone
        (parts(None, ("0",)), (None, None), {0}),
        (parts(None, ()), (None, None), set()),
        # the word of the driver is the best
        (parts({0, 1}, ("0", "1")), ((7,), (101,)), {1}),
    ],
)
def test_the_evidence(
    used: PartsUsed | None, pids: tuple[tuple[int, ...] | None, ...], wanted: set[int] | None
) -> None:
    assert gpus_of(used, OURS, cards(*pids)) == wanted


def test_a_board_without_a_minor_number() -> None:
    assert gpus_of(parts({1}), OURS, [GpuSample(0.0, 0), GpuSample(0.0, 1)]) == frozenset({1})


def test_a_process_that_has_ended_still_had_its_gpu() -> None:
    known = KnownGpus()
    known.look(None, OURS, cards((), ()))
    assert known.of_run is None
    known.look(None, OURS, cards((100,), ()))
    known.look(parts(set()), OURS, cards((), ()))
    assert known.of_run == {0}
    known.look(parts(), OURS, cards((), (100,)))
    assert known.of_run == {1}
