from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.judge.causes import JOIN_S, cause_rank
from middlewatch.daemon.judge.incidents import (
    MAX_EVIDENCE,
    MOST_SYMPTOMS,
    QUIET,
    Change,
    Incident,
    Incidents,
)
from middlewatch.daemon.system import jsonlines
from middlewatch.sentinels.kit import Evidence, Finding, Severity

CRITICAL, WARNING, INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO
CLEARS_S = 60.0
ASKED = dict.fromkeys(("nan", "hang", "oom", "disk", "crash"), CLEARS_S)


def finding(trouble: str, severity: Severity = CRITICAL, **more: object) -> Finding:
    values: dict[str, object] = {"summary": f"{trouble} happened", **more}
    return Finding(trouble, severity, **values)  # type: ignore[arg-type]


class Watch:
    """A supervisor, one run, and its clock."""

    def __init__(self) -> None:
        self.incidents = Incidents()
        self.now = 1000.0
        self.well = "seen to be well"
        """What the sentinels say when they are asked whether a trouble is over."""

    def say(self, *said: tuple[str, Finding], after: float = 1.0) -> list[Change]:
        """What is worth telling; the rest is only written down."""
        self.now += after
        changes = self.incidents.update("run", said, ASKED, self.now, lambda one, since: self.well)
        return [c for c in changes if c.kind not in QUIET]

    def kinds(self, *said: tuple[str, Finding], after: float = 1.0) -> list[tuple[str, str]]:
        return [(c.kind, c.incident.trouble) for c in self.say(*said, after=after)]

    def restart(self) -> None:
        """Through the store, as the daemon does it."""
        docs = json.loads(jsonlines.dumps([i.to_json() for i in self.incidents.all()]))
        self.incidents = Incidents(Incident.from_json(doc) for doc in docs)


@pytest.fixture
def watch() -> Watch:
    return Watch()


# ------------------------------------------------------------------------ one trouble


def test_a_trouble_is_opened_once_however_often_it_is_said(watch: Watch) -> None:
    nan = finding("loss_nan", key="train_loss")
    assert watch.kinds(("nan", nan)) == [("opened", "loss_nan")]
    for _ in range(500):
        assert watch.kinds(("nan", nan)) == []
    (one,) = watch.incidents.open()
    assert (one.count, one.opened_at, one.last_seen_at) == (501, 1001.0, watch.now)


def test_two_mounts_are_two_troubles(watch: Watch) -> None:
    full = [("disk", finding("disk_full", WARNING, key=m)) for m in ("/data", "/tmp")]
    assert watch.kinds(*full) == [("opened", "disk_full")] * 2


def test_it_is_over_when_its_rule_was_asked_and_silent_for_long_enough(watch: Watch) -> None:
    watch.say(("disk", finding("disk_full")))
    assert watch.kinds(after=CLEARS_S - 1) == []
    watch.incidents.update("run", [], {"nan": 1.0}, watch.now + 9999)  # not asked: no news
    watch.incidents.update("other", [], ASKED, watch.now + 9999)  # another run
    assert len(watch.incidents.open()) == 1
    assert watch.kinds() == [("resolved", "disk_full")]
    (one,) = watch.incidents.all()
    assert (one.state, one.resolved_at) == ("resolved", watch.now)
    assert watch.kinds(("disk", finding("disk_full"))) == [("opened", "disk_full")]
    assert len({i.id for i in watch.incidents.all()}) == 2


def test_worse_is_told_and_milder_is_not(watch: Watch) -> None:
    watch.say(("disk", finding("disk_full", WARNING)))
    (change,) = watch.say(("disk", finding("disk_full", CRITICAL, summary="now it is full")))
    assert (change.kind, change.was, change.incident.summary) == (
        "raised",
        "warning",
        "now it is full",
    )
    assert watch.kinds(("disk", finding("disk_full", INFO))) == []
    assert watch.incidents.open()[0].severity is CRITICAL


def test_worse_than_what_was_acknowledged_is_open_again(watch: Watch) -> None:
    watch.say(("disk", finding("disk_full", WARNING)))
    watch.incidents.acknowledge(watch.incidents.open()[0])
    watch.say(("disk", finding("disk_full", WARNING)))
    assert [i.state for i in watch.incidents.open()] == ["acknowledged"]
    assert watch.kinds(("disk", finding("disk_full", CRITICAL))) == [("raised", "disk_full")]
    assert [i.state for i in watch.incidents.open()] == ["open"]


def test_what_is_over_cannot_be_acknowledged(watch: Watch) -> None:
    watch.say(("disk", finding("disk_full")))
    (one,) = watch.incidents.open()
    watch.say(after=CLEARS_S)
    watch.incidents.acknowledge(one)
    assert one.state == "resolved"


def test_a_better_class_of_the_same_finding_is_a_correction(watch: Watch) -> None:
    watch.say(("crash", finding("process_killed", key="end")))
    (change,) = watch.say(("crash", finding("cgroup_oom_kill", key="end")))
    assert (change.kind, change.was, change.incident.trouble) == (
        "corrected",
        "process_killed",
        "cgroup_oom_kill",
    )
    assert watch.kinds(("crash", finding("process_killed", key="end"))) == []  # and not back


# ------------------------------------------------------------------------ cause and symptom


def test_a_rule_that_knows_more_now_corrects_itself(watch: Watch) -> None:
    """The survivors' error was told first; then the launcher says which rank failed."""
    watch.say(("crash", finding("gloo_error", key="error", fatal=True)))
    end = finding("process_killed", key="end", fatal=True, replaces=("error",))
    (change,) = watch.say(("crash", end))
    assert (change.kind, change.was, change.incident.trouble) == (
        "corrected",
        "gloo_error",
        "process_killed",
    )
    assert change.incident.symptoms == ["gloo_error: gloo_error happened"]
    assert watch.say(("crash", end)) == [], "it is said once"
    assert len(watch.incidents.all()) == 1


def test_words_that_became_false_are_corrected(watch: Watch) -> None:
    alive = finding("cgroup_oom_kill", key="oom", summary="the run itself is still alive")
    watch.say(("oom", alive))
    over = finding(
        "cgroup_oom_kill",
        key="oom",
        summary="the run has ended since",
        fatal=True,
        details={"main": True},
    )
    (change,) = watch.say(("oom", over))
    assert (change.kind, change.incident.summary) == ("corrected", "the run has ended since")
    assert watch.say(("oom", over)) == []


def test_nan_in_loss_gradient_and_validation_is_one_trouble(watch: Watch) -> None:
    (opened,) = watch.say(
        ("nan", finding("loss_nan", key="train_loss")),
        ("nan", finding("grad_nonfinite", WARNING, key="grad_norm")),
    )
    assert opened.incident.trouble == "loss_nan"
    validation = finding("val_loss_nan", WARNING, key="eval_loss")
    both = (("nan", finding("loss_nan", key="train_loss")), ("nan", validation))
    assert watch.say(*both, after=JOIN_S + 600) == [], "an epoch later it is the same"
    assert len(watch.incidents.open()) == 1


def test_a_symptom_joins_its_cause(watch: Watch) -> None:
    watch.say(("oom", finding("cgroup_oom_kill")))
    assert watch.kinds(("hang", finding("hang", summary="no step for 60 s")), after=30) == []
    (one,) = watch.incidents.open()
    assert one.symptoms == ["hang: no step for 60 s"]


def test_a_symptom_whose_numbers_change_stays_one_line(watch: Watch) -> None:
    watch.say(("oom", finding("cgroup_oom_kill")))
    for seconds in range(300):
        said = f"no step for {seconds} s"
        proof = (Evidence("process", said),)
        watch.say(("hang", finding("hang", summary=said, evidence=proof)))
    (one,) = watch.incidents.open()
    assert one.symptoms == ["hang: no step for 299 s"]
    assert len(one.evidence) == 1


def test_symptoms_without_end_are_bounded(watch: Watch) -> None:
    watch.say(("save", finding("ckpt_nonfinite", key="step_0")))
    for step in range(1, MOST_SYMPTOMS + 50):
        said = ("save", finding("ckpt_nonfinite", key=f"step_{step}", summary=f"{step} is NaN"))
        assert watch.say(said) == []
    (one,) = watch.incidents.open()
    assert len(one.symptoms) == len(one.joined) == MOST_SYMPTOMS
    assert one.symptoms[-1] == f"ckpt_nonfinite: {MOST_SYMPTOMS + 49} is NaN"


def test_of_bad_saves_the_newest_is_named(watch: Watch) -> None:
    def save(step: int, severity: Severity = CRITICAL) -> tuple[str, Finding]:
        more = {"path": f"step_{step}", "newest": severity is CRITICAL}
        said = f"{'the newest' if more['newest'] else 'an older'} one, {step}, is NaN"
        return "save", finding(
            "ckpt_nonfinite", severity, key=str(step), summary=said, details=more
        )

    assert watch.kinds(save(1)) == [("opened", "ckpt_nonfinite")]
    assert watch.kinds(save(2), save(1, Severity.WARNING), after=4000) == []
    assert watch.kinds(save(3), save(2, Severity.WARNING), after=4000) == []
    (one,) = watch.incidents.open()
    assert (one.summary, one.details["path"]) == ("the newest one, 3, is NaN", "step_3")


def test_bad_saves_after_a_good_one_are_news(watch: Watch) -> None:
    def save(step: int, *, newest: bool = True, over: bool = False) -> tuple[str, Finding]:
        severity = CRITICAL if newest else Severity.WARNING
        more = {"newest": newest, "over": over}
        return "save", finding("ckpt_nonfinite", severity, key=str(step), details=more)

    watch.say(save(1))
    assert watch.kinds(save(2), save(1, newest=False), after=4000) == []
    # a newer one is there, and was not read yet
    assert watch.kinds(save(2, newest=False), save(1, newest=False)) == []
    assert watch.kinds(save(3), save(2, newest=False)) == []
    # that one was good
    past = [save(step, newest=False, over=True) for step in (2, 3)]
    assert watch.kinds(*past, after=4000) == []
    watch.restart()
    (change,) = watch.say(save(9), *past, after=4000)
    assert (change.kind, change.was, change.incident.state) == ("raised", "warning", "open")
    assert watch.kinds(save(10), save(9, newest=False), *past, after=4000) == []


def test_what_is_milder_now_is_said_so_and_is_no_news(watch: Watch) -> None:
    watch.say(("save", finding("ckpt_corrupt", summary="the newest one is bad")))
    milder = finding("ckpt_corrupt", Severity.WARNING, summary="an older one is bad")
    assert watch.say(("save", milder)) == []
    (one,) = watch.incidents.open()
    assert (one.severity, one.summary) == (Severity.CRITICAL, "an older one is bad")


def test_a_cause_that_is_found_later_corrects(watch: Watch) -> None:
    watch.say(("hang", finding("hang", fatal=False)))
    one = watch.incidents.open()[0]
    (change,) = watch.say(("oom", finding("cgroup_oom_kill", fatal=True)), after=60)
    assert (change.kind, change.was, change.incident.id) == ("corrected", "hang", one.id)
    assert (one.trouble, one.sentinel, one.fatal) == ("cgroup_oom_kill", "oom", True)
    assert one.symptoms == ["hang: hang happened"]
    assert watch.kinds(("hang", finding("hang")), ("oom", finding("cgroup_oom_kill"))) == []


def test_causes_go_before_symptoms_within_one_round(watch: Watch) -> None:
    assert watch.kinds(
        ("hang", finding("hang")),
        ("crash", finding("process_killed")),
        ("nan", finding("loss_nan")),
    ) == [("opened", "loss_nan")]
    assert len(watch.incidents.open()[0].symptoms) == 2


def test_joining_ends_two_minutes_after_the_opening(watch: Watch) -> None:
    nan = ("nan", finding("loss_nan"))
    watch.say(nan)
    opened = watch.now
    while watch.now < opened + JOIN_S + 10:
        watch.say(nan, after=10)
    assert watch.kinds(nan, ("hang", finding("hang"))) == [("opened", "hang")]


def test_a_symptom_that_joined_stays_joined_and_keeps_the_trouble_open(watch: Watch) -> None:
    watch.say(("oom", finding("cgroup_oom_kill")))
    for _ in range(100):
        assert watch.kinds(("hang", finding("hang")), after=10) == []
    assert watch.kinds(after=CLEARS_S) == [("resolved", "cgroup_oom_kill")]


def test_troubles_of_their_own_neither_join_nor_take_in(watch: Watch) -> None:
    assert watch.kinds(("disk", finding("disk_full", WARNING))) == [("opened", "disk_full")]
    assert watch.kinds(("hang", finding("hang"))) == [("opened", "hang")]
    assert watch.kinds(("nan", finding("lr_zero", WARNING))) == [("opened", "lr_zero")]


def test_the_trouble_of_another_run_is_another_trouble(watch: Watch) -> None:
    watch.say(("oom", finding("cgroup_oom_kill")))
    (change,) = watch.incidents.update("other", [("hang", finding("hang"))], ASKED, watch.now)
    assert (change.kind, change.incident.run) == ("opened", "other")


@pytest.mark.parametrize(
    ("cause", "symptom"),
    [
        ("gpu_lost", "cuda_oom"),
        ("cgroup_oom_kill", "disk_full"),
        ("disk_full", "loss_nan"),
        ("loss_nan", "stopped"),
        ("stopped", "python_exception"),
        ("python_exception", "hang"),
        ("hang", "process_killed"),
        ("process_killed", "silent_end"),
        ("silent_end", "throughput_collapse"),
    ],
)
def test_the_order_of_causes(cause: str, symptom: str) -> None:
    assert cause_rank(cause) < cause_rank(symptom)


# ------------------------------------------------------------------------ over time


def test_a_restart_neither_opens_again_nor_forgets(watch: Watch) -> None:
    said = (
        ("oom", finding("cgroup_oom_kill", details={"step": float("nan")})),
        ("hang", finding("hang", evidence=(Evidence("log", "损失", 3.0),))),
        ("disk", finding("disk_full", WARNING)),
    )
    watch.say(*said)
    for one in watch.incidents.open():
        one.alerted_at, one.reminders = watch.now, 2
    ids = [i.id for i in watch.incidents.open()]
    watch.restart()
    assert watch.kinds(*said, after=3600) == []
    known = watch.incidents.open()
    assert [i.id for i in known] == ids
    assert all(i.alerted_at is not None and i.reminders == 2 for i in known)
    assert sorted(watch.kinds(after=CLEARS_S)) == [
        ("resolved", "cgroup_oom_kill"),
        ("resolved", "disk_full"),
    ]


def test_a_store_of_another_version_can_be_read() -> None:
    (change,) = Incidents().update("run", [("nan", finding("loss_nan"))], {}, 1.0)
    doc = {**change.incident.to_json(), "a_field_of_tomorrow": 3}
    assert Incident.from_json(doc) == change.incident


def test_what_is_long_over_is_forgotten(watch: Watch) -> None:
    watch.say(("disk", finding("disk_full")))
    watch.incidents.forget_resolved(watch.now + 999)
    assert len(watch.incidents.all()) == 1  # it is not over
    watch.say(after=CLEARS_S)
    watch.incidents.forget_resolved(watch.now)
    assert len(watch.incidents.all()) == 1
    watch.incidents.forget_resolved(watch.now + 1)
    assert watch.incidents.all() == []


FINDINGS = st.builds(
    lambda trouble, severity, key, number: finding(
        trouble,
        severity,
        key=key,
        summary=f"said {number}",
        evidence=(Evidence("log", f"line {number}"),),
    ),
    trouble=st.sampled_from(
        [
            "gpu_lost",
            "cgroup_oom_kill",
            "disk_full",
            "loss_nan",
            "python_exception",
            "hang",
            "blind",
        ]
    ),
    severity=st.sampled_from(Severity),
    key=st.sampled_from(["", "a", "b"]),
    number=st.integers(0, 10**6),
)
ROUNDS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(sorted(ASKED)), FINDINGS), max_size=4),
        st.sets(st.sampled_from(sorted(ASKED))),
        st.sampled_from([-50.0, 0.0, 1.0, 30.0, 61.0, 500.0]),
        st.sampled_from(["", "", "", "restart", "ack"]),
    ),
    max_size=25,
)


@given(ROUNDS)
def test_any_order_of_findings(
    rounds: list[tuple[list[tuple[str, Finding]], set[str], float, str]],
) -> None:
    watch = Watch()
    told: Counter[tuple[str, str]] = Counter()
    for said, asked, seconds, event in rounds:
        watch.now += seconds
        before = {i.id: (i.severity, i.state) for i in watch.incidents.all()}
        changes = watch.incidents.update("run", said, dict.fromkeys(asked, CLEARS_S), watch.now)
        for change in changes:
            told[change.incident.id, change.kind] += 1
        known = watch.incidents.open()
        prints = [i.fingerprint for i in known]
        assert len(prints) == len(set(prints))  # one trouble is never two open incidents
        for one in watch.incidents.all():
            assert told[one.id, "opened"] == 1
            over = told[one.id, "resolved"] + told[one.id, "merged"]
            assert over == (one.state == "resolved")
            assert len(one.evidence) <= MAX_EVIDENCE
            assert len(one.symptoms) == len(one.joined) == len(set(one.joined)) <= len(ASKED) * 30
            if one.id in before:
                assert one.severity >= before[one.id][0]
                assert before[one.id][1] != "resolved" or one.state == "resolved"
        spoken = {("run", sentinel, f.key) for sentinel, f in said}
        for change in changes:
            if change.kind == "resolved":
                assert change.incident.sentinel in asked
                assert change.incident.fingerprint not in spoken
        if event == "restart":
            watch.restart()
        elif event == "ack" and known:
            watch.incidents.acknowledge(known[0])


def test_an_incident_that_was_lost_gets_its_id_again(watch: Watch) -> None:
    """A push that a restarted daemon has to repeat names the same incident."""
    said = ("nan", finding("loss_nan", file="train.log", line=7))
    (first,) = watch.say(said)
    lost = Watch()
    (again,) = lost.say(said, after=300.0)
    assert again.incident.id == first.incident.id
    others = [("nan", finding("loss_nan", file="train.log", line=8)), ("crash", said[1])]
    for other in others:
        (change,) = Watch().say(other)
        assert change.incident.id != first.incident.id
    (tomorrow,) = Watch().say(said, after=86400.0)
    assert tomorrow.incident.id != first.incident.id
