"""The table of peers: what counts, what is no miss, and who has been heard."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..bench import Bench
from ..lab import Alarm, Fault, Outcome
from . import together
from .all import PEERS, peers
from .cells import cell, markdown, of_middlewatch
from .peer import Peer, PeerAlarm
from .table import ROWS, asked, cells_of, main, read, write
from .together import Together, can_speak, rules

DISK = Fault("24", "disk", lambda bench: None, classes=frozenset({"disk_full"}))
NAN = Fault("1", "nan", lambda bench: None, classes=frozenset({"loss_nan"}))
QUIET = Fault("C", "quiet", lambda bench: None, kind="control", length_s=9)


def outcome(fault: Fault, watcher: str, *alarms: Alarm, watched_s: float = 60.0) -> Outcome:
    injected = None if fault.kind == "control" else 100.0
    return Outcome(
        fault, watcher, 0, injected=injected, ended=100.0 + watched_s, alarms=list(alarms)
    )


def alarm(at: float, trouble: str | None = "disk_full", box: bool = False) -> PeerAlarm:
    return PeerAlarm(at, "page", "x", trouble=trouble, box=box)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (outcome(DISK, "monit-tuned", alarm(114)), "14 s"),
        (outcome(DISK, "monit-tuned", alarm(95), alarm(114)), "14 s, 1 false"),
        (outcome(DISK, "monit-tuned"), "no"),
        (outcome(DISK, "monit-tuned", alarm(130, "silent_end")), "no (other: 30 s)"),
        (outcome(DISK, "monit-tuned", alarm(130, None, box=True)), "no"),
        (outcome(DISK, "monit-tuned", alarm(130, None)), "no (other: 30 s), 1 false"),
        (outcome(DISK, "prometheus-default"), "n/a (waits 30 min)"),
        (outcome(DISK, "gpuwatch-tuned"), "—"),
        (outcome(DISK, "gpuwatch-tuned", alarm(130, "silent_end")), "— (other: 30 s)"),
        (outcome(DISK, "gpuwatch-tuned", alarm(110)), "*10 s*"),
        (outcome(QUIET, "monit-tuned"), "quiet"),
        (outcome(QUIET, "monit-tuned", alarm(101), alarm(102)), "2 false"),
        (outcome(QUIET, "monit-tuned", alarm(101, None, box=True)), "quiet"),
    ],
)
def test_a_cell_says_what_was_told(told: Outcome, text: str) -> None:
    assert cell(told).text() == text


def test_a_peer_that_could_not_be_run_is_not_judged() -> None:
    one = dataclasses.replace(outcome(DISK, "monit-tuned"), state="broken", reason="it ended")
    assert cell(one).text() == "not run"


def test_the_sums_leave_out_what_is_slow_by_design() -> None:
    watchers = ["monit-tuned", "prometheus-default", "gpuwatch-tuned"]
    cells = {w: cell(outcome(DISK, w)) for w in watchers}
    cells["monit-tuned"] = cell(outcome(DISK, "monit-tuned", alarm(112)))
    text = markdown(watchers, [(DISK, cells)])
    assert "| faults claimed | 1 | 1 | 0 |" in text
    assert "| of these too slow by design for the time watched | 0 | 1 | 0 |" in text
    assert "| found of the others | 1 of 1 (100%) | 0 of 0 | 0 of 0 |" in text
    assert "| median seconds to the alarm | 12 | — | — |" in text


def test_the_column_of_middlewatch_comes_from_its_own_report() -> None:
    one = {"after_s": 4.2, "severity": "page"}
    row = {"kind": "fault", "runs": 1, "found": 1.0, "p50_s": 4.2, "told": [[one]]}
    rows = [
        {**row, "name": "a", "false_pages": []},
        {**row, "name": "b", "false_pages": ["x"], "found": 0.0, "p50_s": None},
        {**row, "name": "c", "kind": "control", "found": None, "false_pages": ["x"]},
        {**row, "name": "d", "runs": 0, "not_run": ["no torch"], "broken": [], "told": []},
        {**row, "name": "e", "runs": 5, "false_pages": [], "found": 0.8},
    ]
    found = of_middlewatch([{"watcher": "middlewatch", "rows": rows}])
    texts = {name: cells["middlewatch"].text() for name, cells in found.items()}
    assert texts == {
        "a": "4 s",
        "b": "no (other: 4 s), 1 false",
        "c": "1 false",
        "d": "not run",
        "e": "4 s (80%)",
    }


def test_every_rule_has_a_time_and_every_name_of_a_row_is_one() -> None:
    classes = {one for row in ROWS.values() for one in row.classes}
    classes |= {"storage_stall", "process_killed", "ckpt_write_failed", "memory_pressure"}
    for peer in PEERS:
        for style, known in peer.rule_s.items():
            assert set(known) <= {""} | classes | set(ROWS), (peer.peer, style)


def test_what_a_peer_cannot_be_shown_is_not_asked_of_it() -> None:
    assert rules("monit-tuned", ROWS["xid_79"]) is None
    assert rules("gpuwatch-tuned", ROWS["endless_loop"]) is None
    assert rules("monit-tuned", ROWS["endless_loop"]) is not None
    assert all(peer.not_shown <= set(ROWS) for peer in PEERS)


def test_a_row_waits_for_the_slowest_rule_that_can_speak_in_time() -> None:
    names = list(peers())
    hang = ROWS["lock"]
    assert can_speak("netdata-tuned", hang, 200)
    assert not can_speak("monit-default", hang, 200)
    slowest = max(took[1] for n in names if (took := rules(n, hang)) and took[0] <= 200)
    assert asked(hang, names, 200).patience_s == pytest.approx(slowest)
    assert asked(ROWS["slow_divergence"], names, 200).patience_s == pytest.approx(45)


def test_what_was_written_down_is_read_again(tmp_path: Path) -> None:
    row = ROWS["traceback"]
    told = PeerAlarm(104.0, "page", "gone", trouble="python_exception", fits=("python_exception",))
    record = {"row": row.name, "watcher": "monit-tuned", "state": "judged", "reason": ""}
    record |= {"begun": 90.0, "injected": 100.0, "ended": 130.0}  # type: ignore[dict-item]
    late = {**record, "alarms": [dataclasses.asdict(told)]}
    gone = {**record, "row": "a row of yesterday", "alarms": []}
    file = tmp_path / "rows"
    file.write_text("".join(json.dumps(r) + "\n" for r in ({**record, "alarms": []}, late, gone)))
    cells = cells_of(read(file))
    assert {name: one["monit-tuned"].text() for name, one in cells.items()} == {"traceback": "4 s"}
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table -->\nold\n<!-- end of table -->\nafter\n")
    assert main(["--read", str(file), "--peers", "monit-tuned", "--write", str(page)]) == 0
    text = page.read_text()
    assert "| 20a traceback | 4 s |" in text
    assert text.startswith("before\n<!-- table -->\n")
    assert text.endswith("\n<!-- end of table -->\nafter\n")
    assert "old" not in text


def test_a_page_keeps_what_is_around_its_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- table -->\n<!-- end of table -->\nb\n")
    for text in ("one", "two"):
        write(page, text)
    assert page.read_text() == "a\n<!-- table -->\ntwo\n<!-- end of table -->\nb\n"


class Parrot(Peer):
    """A peer that says what it is told to say."""

    says: Sequence[PeerAlarm] = ()
    stopped = False

    def alarms(self) -> list[Alarm]:
        return list(self.says)

    def stop(self) -> None:
        super().stop()
        self.stopped = True


@pytest.fixture
def parrots(monkeypatch: pytest.MonkeyPatch) -> dict[str, Parrot]:
    made: dict[str, Parrot] = {}

    def parrot(name: str) -> Parrot:
        made[name] = one = Parrot.__new__(Parrot)
        one.peer = name.partition("-")[0]  # type: ignore[misc]
        one.install = ""  # type: ignore[misc]
        Peer.__init__(one, "tuned")
        return one

    monkeypatch.setattr(together, "READY_S", 0.0)
    makers = {n: lambda n=n: parrot(n) for n in ("monit-tuned", "netdata-tuned")}
    monkeypatch.setattr(together, "peers", lambda: makers)
    return made


def test_all_see_the_same_job_and_each_keeps_its_own_alarms(parrots: dict[str, Parrot]) -> None:
    everybody = Together(["monit-tuned", "netdata-tuned"], NAN, 60)
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(Path(root), everybody, "1")
        try:
            subject = bench.train(sys.executable, "-c", "import time; time.sleep(60)")
            pids = {int(p.pid_file(subject).read_text()) for p in parrots.values()}
            assert pids == {subject.pid}
            assert os.getpgid(subject.pid) == subject.pid
            one = outcome(NAN, "together")
            parrots["monit-tuned"].says = [alarm(107, "loss_nan")]
            assert len(everybody.alarms()) == 1
            assert not everybody.heard_enough(one)
            parrots["netdata-tuned"].says = [alarm(103, "loss_nan"), alarm(104, "loss_nan")]
            assert [a.at for a in everybody.alarms()] == [103, 104, 107]
            assert everybody.heard_enough(one)
        finally:
            bench.close()
    assert all(p.stopped for p in parrots.values())
    shares = {share.watcher: cell(share).text() for share in everybody.shares(one)}
    assert shares == {"monit-tuned": "7 s", "netdata-tuned": "3 s"}


def test_a_peer_whose_program_ended_is_no_peer_that_missed(parrots: dict[str, Parrot]) -> None:
    everybody = Together(["monit-tuned"], NAN, 60)
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(Path(root), everybody, "1")
        try:
            bench.train(sys.executable, "-c", "import time; time.sleep(60)")
            parrots["monit-tuned"].launch("false")
            bench.until(parrots["monit-tuned"].ended, 10, "it ended")
            everybody.alarms()
        finally:
            bench.close()
    (share,) = everybody.shares(outcome(NAN, "together"))
    assert (share.state, share.reason) == ("broken", "ended by itself: exit status 1")


def test_a_row_that_nobody_claims_is_watched_to_its_end() -> None:
    everybody = Together(["gpuwatch-tuned"], NAN, 60)
    assert not everybody.heard_enough(outcome(NAN, "together"))
