"""What is known of one run is found without a look at what is known of the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.judge.incident import Incident, age
from middlewatch.daemon.judge.incidents import Incidents
from middlewatch.daemon.judge.register import Register
from middlewatch.sentinels.kit import Finding, Severity

RUNS = ("a", "b", "c")
PLACES = ("", "mount:/data", "gpu:0")
MANY = 300


def incident(number: int, run: str, place: str = "") -> Incident:
    return Incident(
        id=f"{number:06}",
        run=run,
        trouble="disk_full",
        sentinel="disk_full",
        key="/data",
        severity=Severity.WARNING,
        state="open",
        opened_at=1000.0 + number % 7,
        last_seen_at=1000.0,
        summary="full",
        place=place,
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("file", "resolve", "share", "move", "forget")),
            st.integers(0, 12),
            st.sampled_from(RUNS),
            st.sampled_from(PLACES),
        ),
        max_size=40,
    )
)
def test_it_finds_what_a_search_through_all_finds(
    acts: list[tuple[str, int, str, str]],
) -> None:
    register, known = Register(), dict[str, Incident]()
    for number, (act, which, run, place) in enumerate(acts):
        one = list(known.values())[which % len(known)] if known else None
        if act == "file":
            fresh = incident(number, run, place)
            known[fresh.id] = fresh
            register.file(fresh)
        elif one is None:
            continue
        elif act == "resolve":
            one.state, one.resolved_at = "resolved", float(number)
        elif act == "forget":
            register.forget_resolved(float(number) / 2)
            gone = [i for i in known.values() if (i.resolved_at or number) < number / 2]
            for each in gone:
                del known[each.id]
        elif one.state != "resolved":
            if act == "share":
                one.runs = list(dict.fromkeys([one.run, *one.runs, run]))
            else:
                one.place, one.runs = place, []
            register.file(one)
        living = sorted((i for i in known.values() if i.state != "resolved"), key=age)
        assert register.open() == living
        for name in RUNS:
            assert register.of_run(name) == [i for i in living if i.concerns(name)]
            over = [i.id for i in known.values() if i.state == "resolved" and i.concerns(name)]
            assert sorted(i.id for i in register.resolved_of(name)) == sorted(over)
        for where in PLACES[1:]:
            found = {i.id for i in register.at_place(where)}
            assert found == {i.id for i in living if i.place == where}
    assert {i.id for i in register.all()} == known.keys()


def test_a_judgement_looks_at_the_incidents_of_its_run_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = [incident(n, f"run{n}") for n in range(MANY)]
    for one in known[: MANY // 2]:
        one.state, one.resolved_at = "resolved", 1000.0
    incidents = Incidents(known)
    looked: list[str] = []
    concerns = Incident.concerns

    def counted(self: Incident, run: str) -> bool:
        looked.append(self.id)
        return concerns(self, run)

    monkeypatch.setattr(Incident, "concerns", counted)
    told = Finding("loss_nan", Severity.CRITICAL, "not a number")
    for now in range(5):
        incidents.update(f"run{MANY - 1}", [("nan_loss", told)], {"nan_loss": 60.0}, 2000.0 + now)
    assert set(looked) <= {one.id for one in incidents.of_run(f"run{MANY - 1}")}
