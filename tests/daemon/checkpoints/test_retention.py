from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.index import build
from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.checkpoints.retention.policy import (
    Policy,
    choose,
    newest_verified,
    series_of,
)
from middlewatch.sentinels.kit import CheckpointSeen

NOW = 1_800_000_000.0


def seen(
    name: str, step: float | None, state: str = "ok", saved: float | None = None, **metrics: float
) -> CheckpointSeen:
    return CheckpointSeen(
        at=NOW,
        path=f"/out/{name}",
        saved_at=NOW - 10_000 + (step or 0) if saved is None else saved,
        bytes=100,
        files=1,
        format="torch",
        step=step,
        state=state,  # type: ignore[arg-type]
        level="finite",
        metrics=metrics,
    )


def index_of(*checkpoints: CheckpointSeen, **rules: Any) -> dict[str, Any]:
    return build("run", checkpoints, NOW, rules=RankingRules(**rules))


def kept(index: dict[str, Any], policy: Policy, **held: str) -> list[str]:
    choices = choose(index, policy, {f"/out/{name}": why for name, why in held.items()})
    return [c.path.removeprefix("/out/") for c in choices if c.keep]


def test_newest_best_multiples_and_milestones_stay() -> None:
    losses = {300: 0.5, 700: 0.2}
    saves = [seen(f"s{n}", n, train_loss=losses.get(n, 1.0)) for n in range(100, 1001, 100)]
    index = index_of(*saves, seen("milestone-150", 150, train_loss=2.0))
    assert kept(index, Policy(latest=2, best=2, every=400)) == [
        *("milestone-150", "s300", "s400", "s700", "s800", "s900", "s1000")
    ]


def test_best_may_be_the_highest() -> None:
    saves = [seen(f"s{n}", n, accuracy=n % 4) for n in range(1, 9)]
    index = index_of(*saves, best_metric="accuracy", best_mode="max")
    assert kept(index, Policy(latest=1, best=2)) == ["s3", "s7", "s8"]


def test_multiples_are_met_when_saves_miss_them() -> None:
    saves = [seen(f"s{n}", n) for n in (0, 499, 999, 1499, 1999, 2499, 2999)]
    assert kept(index_of(*saves), Policy(latest=1, best=0, every=1000)) == [
        "s0",
        "s1499",
        "s2499",
        "s2999",
    ]


@pytest.mark.parametrize("state", ["unverifiable", "corrupt", "incomplete"])
def test_what_is_not_verified_stays_until_a_verified_one_is_newer(state: str) -> None:
    policy = Policy(latest=1, best=0, damaged=True)
    alone = index_of(seen("s1", 1), seen("s2", 2, state), seen("s3", 3, state))
    assert kept(alone, policy) == ["s1", "s2", "s3"]
    later = index_of(seen("s1", 1), seen("s2", 2, state), seen("s3", 3))
    assert kept(later, policy) == ["s3"]


def test_newer_means_by_step_and_by_time() -> None:
    """After a restart from step 100 the saves of the lost stretch have the higher steps."""
    index = index_of(
        seen("s100", 100, saved=NOW - 500),
        seen("s150", 150, saved=NOW - 100),
        seen("s200", 200, "unverifiable", saved=NOW - 300),
        seen("s300", 300, saved=NOW - 400),
    )
    assert kept(index, Policy(latest=1, best=0)) == ["s150", "s200", "s300"]


def test_a_pending_one_always_stays() -> None:
    index = index_of(seen("s1", 1, "pending"), seen("s2", 2), seen("s3", 3))
    assert kept(index, Policy(latest=1, best=0, damaged=True)) == ["s1", "s3"]


def test_damaged_ones_are_evidence_unless_asked_for() -> None:
    index = index_of(seen("s1", 1, "corrupt"), seen("s2", 2, "incomplete"), seen("s3", 3))
    assert kept(index, Policy(latest=1)) == ["s1", "s2", "s3"]
    assert kept(index, Policy(latest=1, damaged=True)) == ["s3"]


def test_without_a_step_it_may_be_what_training_began_with() -> None:
    index = index_of(seen("base", None, saved=NOW - 90_000), seen("s2", 2), seen("s3", 3))
    assert kept(index, Policy(latest=1, best=0)) == ["base", "s3"]


def test_a_reason_of_the_disk_holds_one() -> None:
    index = index_of(*(seen(f"s{n}", n) for n in range(1, 5)))
    assert kept(index, Policy(latest=1, best=0), s2="it is open") == ["s2", "s4"]


def test_the_only_verified_one_stays_with_a_policy_of_nothing() -> None:
    index = index_of(seen("s1", 1), seen("s2", 2, "corrupt"))
    assert kept(index, Policy(latest=0, best=0, damaged=True)) == ["s1", "s2"]


def test_halves_of_one_save_stay_together() -> None:
    """A GAN saves two files at each step; one of the last pair was cut."""
    saves = [seen(f"{half}_{n}", n) for n in (1, 2, 3) for half in "DG"]
    assert kept(index_of(*saves), Policy(latest=1)) == ["D_3", "G_3"]
    cut = [*saves[:-1], seen("G_3", 3, "incomplete")]
    assert kept(index_of(*cut), Policy(latest=1, damaged=True)) == ["D_2", "G_2", "D_3", "G_3"]
    rated = [*saves, seen("E_1", 1, train_loss=0.1), seen("E_2", 2, train_loss=0.9)]
    kept_too = kept(index_of(*rated), Policy(latest=0))
    assert {"D_1", "E_1", "G_1"} <= set(kept_too)


def test_every_folder_keeps_its_newest() -> None:
    index = index_of(
        *(seen(f"{run}/s{n * top}", n * top) for run, top in (("a", 1), ("b", 9)) for n in (1, 2))
    )
    assert kept(index, Policy(latest=0, best=0)) == ["a/s2", "b/s18"]


STATES = st.sampled_from(["ok", "ok", "pending", "corrupt", "incomplete", "unverifiable"])
SAVES = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 60)),
        STATES,
        st.floats(NOW - 1000, NOW, allow_nan=False),
        st.one_of(st.none(), st.sampled_from([0.5, 1.0, float("nan"), float("inf")])),
        st.booleans(),
        st.sampled_from(["s", "s", "D_", "b/s", "run2/ckpt-"]),
    ),
    max_size=16,
)
POLICIES = st.builds(
    Policy,
    latest=st.integers(0, 4),
    best=st.integers(0, 4),
    every=st.sampled_from([0.0, 0.5, 7.0, 20.0]),
    damaged=st.booleans(),
)


def made(saves: list[tuple[Any, ...]]) -> list[CheckpointSeen]:
    found = []
    for number, (step, state, saved, loss, milestone, stem) in enumerate(saves):
        name = f"{'milestone-' if milestone else stem}{number}"
        metrics = {} if loss is None else {"train_loss": loss}
        found.append(seen(name, step, state, saved, **metrics))
    return found


@given(SAVES, POLICIES)
def test_no_policy_takes_what_everything_rests_on(saves: list[Any], policy: Policy) -> None:
    checkpoints = made(saves)
    index = index_of(*checkpoints)
    choices = choose(index, policy)
    assert [c.path for c in choices] == [e["path"] for e in index["checkpoints"]]
    stay = {c.path for c in choices if c.keep}
    assert all(c.why for c in choices)
    assert {index[name] for name in ("latest", "best", "resume_from")} - {None} <= stay
    assert {e["path"] for e in index["checkpoints"] if "milestone" in e["tags"]} <= stay
    rock = newest_verified(index)
    paths = [e["path"] for e in index["checkpoints"]]
    newer = paths[paths.index(rock["path"]) :] if rock else paths
    assert set(newer) <= stay
    sound = [c for c in checkpoints if c.state == "ok"]
    for gone in (c for c in checkpoints if c.path not in stay):
        assert gone.state != "pending"
        assert any(c.path in stay and c.saved_at >= gone.saved_at for c in sound)
    assert (
        policy.damaged
        or not {c.path for c in checkpoints if c.state in ("corrupt", "incomplete")} - stay
    )
    for series in {series_of(c.path) for c in sound}:
        own = [e for e in index["checkpoints"] if e["verified"]["state"] == "ok"]
        own = [e for e in own if series_of(e["path"]) == series]
        newest = own[max(0, len(own) - max(1, policy.latest)) :]
        assert {e["path"] for e in newest} <= stay
    best = sorted(
        (c for c in sound if math.isfinite(c.metrics.get("train_loss", math.nan))),
        key=lambda c: c.metrics["train_loss"],
    )
    if best and policy.best:  # nothing that goes is better than the K-th best that stays
        least = best[min(len(best), policy.best) - 1].metrics["train_loss"]
        assert all(c.metrics["train_loss"] >= least for c in best if c.path not in stay)
    steps = {c.step for c in checkpoints if c.path in stay and c.state == "ok"} - {None}
    damaged = ("corrupt", "incomplete")
    assert not [
        c for c in checkpoints if c.path not in stay and c.step in steps and c.state not in damaged
    ]


@given(SAVES, POLICIES)
def test_a_second_time_takes_nothing_more(saves: list[Any], policy: Policy) -> None:
    checkpoints = made(saves)
    stay = {c.path for c in choose(index_of(*checkpoints), policy) if c.keep}
    again = index_of(*(c for c in checkpoints if c.path in stay))
    assert all(c.keep for c in choose(again, policy))
