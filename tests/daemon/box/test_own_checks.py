from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.box import own_checks
from middlewatch.daemon.box.own_checks import LEAST_BYTES, LEAST_INODES, Check, verdict
from middlewatch.daemon.system.descriptors import Figures, Use
from middlewatch.daemon.system.footprint import Footprint, StateDisk

CAP = 64 << 20
GIB = 1 << 30
ROOMY: dict[str, Any] = {
    "path": "/state",
    "free_bytes": GIB,
    "total_bytes": 2 * GIB,
    "free_inodes": 100_000,
    "total_inodes": 200_000,
    "uid": 0,
    "mode": 0o700,
}
SMALL: dict[str, Any] = {
    "rss_bytes": 33 << 20,
    "pss_bytes": 22 << 20,
    "children_rss_bytes": 0,
    "left_bytes": GIB,
    "cpu_s": 1.0,
    "children_cpu_s": 0.0,
    "descriptors": Figures(16, 1024, 0, 128, (0,) * len(Use)),
    "threads": 2,
    "inotify_limit": 65536,
}


def state(**more: Any) -> Check:
    return own_checks.check_state(StateDisk(**{**ROOMY, **more}), 0, CAP)


@pytest.mark.parametrize(
    ("facts", "judged", "words"),
    [
        ({}, "ok", "1.0 GiB free, 100000 inodes free"),
        ({"free_bytes": LEAST_BYTES - 1}, "bad", "is full"),
        ({"free_inodes": LEAST_INODES - 1}, "bad", "is full"),
        ({"free_bytes": CAP - 1}, "odd", "only"),
        ({"free_inodes": 900}, "odd", "only"),
        ({"free_inodes": 0, "total_inodes": 0}, "ok", "1.0 GiB free"),
        ({"read_only": True, "free_bytes": 0}, "bad", "read-only"),
        ({"writable": False}, "bad", "cannot be written to"),
        ({"replaced": True}, "bad", "not the directory any more"),
        ({"trouble": "Input/output error"}, "bad", "Input/output error"),
        ({"mode": 0o755}, "odd", "mode 0755"),
        ({"uid": 1234}, "odd", "uid 1234"),
    ],
)
def test_the_state_directory(facts: dict[str, Any], judged: str, words: str) -> None:
    check = state(**facts)
    assert check.state == judged
    assert words in check.detail


@pytest.mark.parametrize(
    ("left", "rss", "judged"),
    [
        (None, 33 << 20, "ok"),
        (GIB, 33 << 20, "ok"),
        (128 << 20, 33 << 20, "odd"),
        (32 << 20, 33 << 20, "bad"),
        (GIB, 300 << 20, "odd"),
    ],
)
def test_memory(left: int | None, rss: int, judged: str) -> None:
    own = Footprint(**{**SMALL, "left_bytes": left, "rss_bytes": rss})
    assert own_checks.check_memory(own).state == judged


@pytest.mark.parametrize(
    ("used", "kept", "without", "judged"),
    [
        (16, 0, None, "ok"),
        (90, 0, None, "odd"),
        (120, 0, None, "bad"),
        (128, 0, None, "bad"),
        (96, 70, None, "ok"),
        (96, 70, Use.PROCESS, "odd"),
        (96, 70, Use.LOG, "odd"),
        (96, 70, Use.MAIN_EXIT, "bad"),
    ],
)
def test_descriptors(used: int, kept: int, without: Use | None, judged: str) -> None:
    lacking = tuple(3 * (use is without) for use in Use)
    check = own_checks.check_descriptors(Figures(used, 128, kept, 32, lacking))
    assert check.state == judged
    assert f"{used} of 128 open, {kept} of them kept" in check.detail
    assert ("how 3 processes end" in check.detail) == (without is Use.MAIN_EXIT)


def test_inotify_that_is_used_up_is_odd_and_a_mount_without_it_is_not() -> None:
    def judged(why: str, *, available: bool) -> str:
        return own_checks.check_inotify(3, 64, why, available=available).state

    assert judged("", available=True) == "ok"
    assert judged("nfs sends no events: looking once a second", available=True) == "ok"
    assert judged("all inotify watches of this user are taken", available=True) == "odd"
    assert judged("no inotify in the C library", available=False) == "odd"


def worker(**more: Any) -> dict[str, Any]:
    row = {"name": "disk", "alive": True, "pid": 7, "starts": 1, "stuck_pid": None}
    return row | {"start_error": "", "exit_status": None, "waits": False} | more


def test_workers() -> None:
    rows = [worker(), worker(name="nvml", stuck_pid=9), worker(name="finder", start_error="ENOMEM")]
    checks = list(own_checks.check_workers(rows))
    assert [(c.what, c.state) for c in checks] == [
        ("worker nvml", "bad"),
        ("worker finder", "bad"),
        ("workers", "ok"),
    ]
    assert "pid 9" in checks[0].detail
    (told,) = own_checks.check_workers([worker(name="verifier", alive=False, waits=True)])
    assert told.state == "odd"
    assert "not started before descriptors are free: verifier" in told.detail


def source(state: str, **more: Any) -> dict[str, Any]:
    row = {"source": "disk", "run": "", "state": state, "detail": "why", "since_s": 10.0}
    return row | {"true_at": None, "age_s": None} | more


@pytest.mark.parametrize(
    ("row", "judged"),
    [
        (source("ok"), "ok"),
        (source("unsupported"), "ok"),
        (source("starting"), "ok"),
        (source("starting", since_s=1000.0), "odd"),
        (source("impaired"), "odd"),
        (source("stalled"), "bad"),
        (source("failed", true_at="2026-01-01", age_s=60.0), "bad"),
    ],
)
def test_sources(row: dict[str, Any], judged: str) -> None:
    assert verdict(own_checks.check_sources([row])) == judged


def part(**more: Any) -> dict[str, Any]:
    row = {"kind": "rule", "name": "hang", "failures": 4, "error": "KeyError: 'x'"}
    return row | {"failed_at": "t", "worked_at": None, "tried_again_at": None} | more


@pytest.mark.parametrize(
    ("rows", "judged"),
    [
        ([], "ok"),
        ([part()], "odd"),
        ([part(tried_again_at="t")], "bad"),
        ([part(worked_at="t")], "odd"),
    ],
)
def test_parts_that_failed(rows: list[dict[str, Any]], judged: str) -> None:
    assert verdict(own_checks.check_parts(rows)) == judged


@pytest.mark.parametrize(
    ("facts", "judged"),
    [
        ({}, "ok"),
        ({"urls": 0}, "odd"),
        ({"trouble": "refused"}, "bad"),
        ({"waiting": 1, "oldest_s": 20.0}, "ok"),
        ({"waiting": 1, "oldest_s": 1000.0}, "odd"),
    ],
)
def test_pushes(facts: dict[str, Any], judged: str) -> None:
    known = {"urls": 1, "waiting": 0, "oldest_s": None, "last_sent_at": None, "trouble": ""}
    assert own_checks.check_pushes(known | facts).state == judged


@pytest.mark.parametrize(
    ("facts", "judged"),
    [
        ({}, "ok"),
        ({"trouble": "disk full"}, "bad"),
        ({"set_aside": "/state/old"}, "odd"),
        ({"lost_in_use": 1}, "odd"),
        ({"size_bytes": 2 * CAP}, "odd"),
    ],
)
def test_the_store(facts: dict[str, Any], judged: str) -> None:
    known = {"size_bytes": 1, "cap_bytes": CAP, "trouble": "", "set_aside": "", "lost_in_use": 0}
    assert own_checks.check_store(known | facts).state == judged


def test_a_clock_that_moved() -> None:
    assert own_checks.check_clock([], None).state == "ok"
    check = own_checks.check_clock([("2026-01-01T00:00:00Z", -3600.0)], "2025-12-31")
    assert check.state == "odd"
    assert "-3600 s" in check.detail


sizes = st.integers(0, 1 << 50)


@given(
    free=sizes,
    inodes=st.integers(0, 1 << 32),
    total=st.integers(0, 1 << 32),
    mode=st.integers(0, 0o7777),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_what_is_not_ok_says_what_to_do(
    free: int, inodes: int, total: int, mode: int, flags: tuple[bool, bool, bool]
) -> None:
    read_only, writable, replaced = flags
    check = state(
        free_bytes=free,
        free_inodes=inodes,
        total_inodes=total,
        mode=mode,
        read_only=read_only,
        writable=writable,
        replaced=replaced,
    )
    assert bool(check.step) == (check.state != "ok")
    assert "/state" in check.detail
    if read_only or replaced or not writable or free < LEAST_BYTES:
        assert check.state == "bad"


@given(st.lists(st.sampled_from(["ok", "odd", "bad"])))
def test_the_verdict_is_the_worst(states: list[Any]) -> None:
    order = {"ok": 0, "odd": 1, "bad": 2}
    worst = verdict(Check("x", one, "y") for one in states)
    assert order[worst] == max((order[one] for one in states), default=0)
