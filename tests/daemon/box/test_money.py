from __future__ import annotations

from dataclasses import replace

import pytest

from middlewatch.daemon.box import clocks, money
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.platform_profiles import profile
from middlewatch.daemon.config.schema import Cost
from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.system.clock import epoch
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.sentinels.kit import CheckpointSeen, Severity

NOON = epoch("2026-11-22T12:00+00:00")
PRICE = money.Price(2.10, "$", "[cost] price_per_hour")


def incident(trouble: str, severity: Severity = Severity.CRITICAL, **more: object) -> Incident:
    at = NOON - 41 * 60
    return Incident(
        "abc123",
        "gpt-1",
        trouble,
        "hang",
        "",
        severity,
        "open",
        at,
        at,
        "it stands still",
        **more,  # type: ignore[arg-type]
    )


def save(at: float, state: str = "ok") -> CheckpointSeen:
    return CheckpointSeen(at, f"/out/{at:.0f}.pt", at, 1, 1, "torch", state=state)  # type: ignore[arg-type]


def test_nothing_is_said_without_a_price() -> None:
    known = money.price(Cost(), profile("runpod"))
    assert known is None
    assert money.status_json(Cost(balance=5.0), None, run_s=9.0, box_since=0.0, now=NOON) is None
    assert money.loss_json(money.Loss(60.0, "standstill"), None) is None
    assert money.ended_text("hang", money.Loss(60.0, "standstill"), None) == ""


def test_no_profile_of_ours_guesses_a_price() -> None:
    from middlewatch.daemon.config.platform_profiles import ids

    assert {p.price_per_hour for name in ids() if (p := profile(name))} == {0.0}


def test_a_hang_costs_the_time_since_its_onset() -> None:
    found = money.loss(incident("hang"), (), NOON - 7200, None, NOON)
    assert found is not None
    assert found.seconds == 41 * 60
    assert money.ended_text("hang", found, PRICE) == "The hang cost 41 min, 1.44 $"
    told = money.loss_json(found, PRICE)
    assert told is not None
    assert (told["amount"], told["currency"], told["price_from"]) == (
        1.435,
        "$",
        "[cost] price_per_hour",
    )


def test_its_end_and_the_end_of_the_run_stop_the_count() -> None:
    over = incident("hang", resolved_at=NOON - 60)
    found = money.loss(over, (), NOON - 7200, None, NOON + 9999)
    assert found is not None
    assert found.seconds == 40 * 60
    killed = money.loss(incident("hang"), (), NOON - 7200, NOON - 31 * 60, NOON)
    assert killed is not None
    assert killed.seconds == 10 * 60


def test_nan_wastes_the_time_and_a_spike_does_not() -> None:
    assert money.loss(incident("loss_nan"), (), NOON - 7200, None, NOON) is not None
    mild = incident("loss_spike", Severity.WARNING)
    assert money.loss(mild, (), NOON - 7200, None, NOON) is None
    assert money.loss(incident("disk_full"), (), NOON - 7200, None, NOON) is None


def test_a_crash_costs_the_work_since_the_last_good_save() -> None:
    crash = incident("python_exception", fatal=True)
    saves = [save(NOON - 3600), save(NOON - 1800), save(NOON - 60, "corrupt")]
    found = money.loss(crash, saves, NOON - 7200, NOON, NOON + 500)
    assert found == money.Loss(1800.0, "work")
    assert found.text(PRICE) == "work to be done again: 30 min, 1.05 $ (2.1 $ an hour)"


def test_the_steps_of_it() -> None:
    onset = NOON - 41 * 60
    times = [(onset - 600.0 + 10 * n, float(n)) for n in range(60)]  # one in ten seconds
    hang = incident("hang", resolved_at=NOON)
    back = [*times, (NOON - 5.0, 60.0)]
    found = money.loss(hang, (), NOON - 7200, None, NOON, back)
    assert money.ended_text("hang", found, None) == "The hang cost 41 min, about 246 steps"
    assert money.ended_text("hang", found, PRICE) == "The hang cost 41 min, about 246 steps, 1.44 $"
    assert money.loss(hang, (), NOON - 7200, None, NOON, back[-2:]) == money.Loss(
        2460.0, "standstill"
    )
    through = [*times, *((onset + 10.0 * n, 60.0 + n) for n in range(240))]
    found = money.loss(incident("loss_nan"), (), NOON - 7200, None, NOON, through)
    assert found == money.Loss(2460.0, "standstill", 240.0)
    crash = incident("python_exception", fatal=True)
    good = replace(save(onset - 300.0), step=30.0)
    found = money.loss(crash, [good], NOON - 7200, onset, NOON, times)
    assert found == money.Loss(300.0, "work", 29.0)
    assert found.text(PRICE) == "work to be done again: 5 min, 29 steps, 0.17 $ (2.1 $ an hour)"
    told = money.loss_json(found, PRICE)
    assert told is not None
    assert told["steps"] == 29


def test_without_a_good_save_the_lost_work_is_not_known() -> None:
    crash = incident("python_exception", fatal=True)
    assert money.loss(crash, [save(NOON - 60, "corrupt")], NOON - 7200, NOON, NOON) is None
    before = [save(NOON - 9000)]  # of an earlier run in the same folder
    assert money.loss(crash, before, NOON - 7200, NOON, NOON) is None


def test_the_balance_falls_from_the_time_it_was_read_at() -> None:
    cost = Cost(2.10, "$", balance=21.0, balance_at="2026-11-22T10:00+00:00")
    left = money.balance(cost, PRICE, NOON)
    assert left is not None
    assert round(left.left, 2) == 16.8
    assert left.ends_at == epoch("2026-11-22T20:00+00:00")
    told = money.status_json(cost, PRICE, run_s=3600.0, box_since=NOON - 7200, now=NOON)
    assert told is not None
    assert (told["run_amount"], told["box_amount"], told["balance_hours"]) == (2.1, 4.2, 8.0)
    assert money.balance(Cost(2.10, balance=21.0), PRICE, NOON) is None  # read at an unknown time


def test_a_balance_that_is_used_up_is_zero_and_said_to_be() -> None:
    cost = Cost(2.10, "$", balance=2.1, balance_at="2026-11-22T10:00+00:00")
    told = money.status_json(cost, PRICE, run_s=60.0, box_since=None, now=NOON)
    assert told is not None
    assert (told["balance"], told["balance_hours"]) == (0.0, 0.0)
    assert "used up" in told["text"]
    assert "box so far" not in told["text"]


def test_small_amounts_keep_their_digits() -> None:
    assert PRICE.money(0.0123) == "0.0123 $"
    assert money.Price(1.0, "", "x").money(3.0) == "3.00"


def test_a_time_that_cannot_be_read_is_a_mistake_of_the_configuration() -> None:
    for key in ("balance_at", "since"):
        with pytest.raises(ConfigError, match=f"cost.{key} cannot read"):
            parse(f'[cost]\n{key} = "tomorrow"\n', "config.toml")


def test_the_clock_of_the_balance_uses_the_words_of_the_platform() -> None:
    runpod = profile("runpod")
    cost = Cost(2.10, "$", balance=21.0, balance_at="2026-11-22T10:00+00:00")
    left = money.balance(cost, PRICE, NOON)
    (one,) = clocks.running(runpod, None, left, PRICE, NOON)
    assert one.name == "balance"
    assert "deleted" in one.effect
    assert one.is_due(NOON)
    assert not one.is_due(NOON - 5 * 86400)


def test_a_session_counts_from_the_start_of_the_box() -> None:
    kaggle = profile("kaggle")
    (one,) = clocks.running(kaggle, NOON - 11.6 * 3600, None, None, NOON)
    assert abs(one.ends_at - (NOON + 0.4 * 3600)) < 1
    assert one.is_due(NOON)
    assert not one.is_due(NOON - 3600)


def test_the_date_of_a_stop_now_is_told() -> None:
    autodl = profile("autodl")
    assert autodl is not None
    (sentence,) = clocks.if_stopped(autodl, NOON)
    assert "7 Dec" in sentence
    assert "released" in sentence
    told = clocks.status_json(autodl, [], NOON)
    assert told is not None
    assert told["stop_can_be_undone"] is True
