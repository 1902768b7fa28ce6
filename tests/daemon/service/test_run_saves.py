"""What a run knows of its checkpoint folders, and what it tells other runs."""

from __future__ import annotations

from dataclasses import replace

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.config.save_folder import SaveFolder
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.sentinels.kit import CheckpointSeen, ProcessEnded

from ...fakes.clock import FakeClock

NAMED = RunSpec(name="gpt", id="gpt-1a2b", pid=7, cwd="/w", checkpoint_dirs=("/named",))


def run(*learnt: SaveFolder) -> WatchedRun:
    return WatchedRun(NAMED.learnt(learnt), BoxHistory(), FakeClock())


def seen(path: str, state: str = "ok") -> CheckpointSeen:
    return replace(CheckpointSeen(1.0, path, 1.0, 1, 1, "torch"), state=state)  # type: ignore[arg-type]


def test_folders_are_kept_with_the_run() -> None:
    found = SaveFolder("/w", "best.pt was saved", whole=False, names=("best.pt",))
    spec = NAMED.learnt([found, SaveFolder("/w/ckpt", "it was open")])
    again = RunSpec.from_json(spec.to_json())
    assert again == spec
    assert again.checkpoint_dirs == ("/named", "/w", "/w/ckpt")
    assert again.whole_dirs() == ("/named", "/w/ckpt")
    assert (again.folder("/w"), again.folder("/named").whole) == (found, True)
    more = again.learnt([SaveFolder("/named", "", names=("#.blob",)), replace(found, names=("b",))])
    assert more.checkpoint_dirs == again.checkpoint_dirs
    assert more.folder("/named").whole
    assert more.folder("/w").names == ("best.pt", "b")
    assert "save_folders" not in NAMED.to_json()


def test_a_folder_that_turns_out_to_be_shared() -> None:
    watched = run(SaveFolder("/w/ckpt", "it was open"))
    watched.history.checkpoints = [seen("/w/ckpt/mine_1.pt"), seen("/w/ckpt/theirs_1.pt")]
    theirs = SaveFolder("/w/ckpt", "", whole=False, names=("=theirs_1.pt",))
    watched.saves.give_up([theirs, SaveFolder("/named", "", whole=False, names=("=x",))])
    shared = watched.spec.folder("/w/ckpt")
    assert (shared.whole, shared.names) == (False, ("=mine_1.pt",))
    assert watched.spec.folder("/named").whole  # a person or an option named it
    assert watched.saves.known_to_others("/w")["dirs"] == ["/named"]


def test_an_ended_run_waits_for_its_last_verdict() -> None:
    watched = run()
    watched.saves._pumped = [object()]  # type: ignore[list-item]
    watched.history.checkpoints = [seen("/w/a.pt", "pending")]
    now = watched.clock.now()
    assert not watched.saves.waits(now)  # it lives
    watched.ended_at = now
    assert watched.saves.waits(now + 100)
    assert not watched.saves.waits(now + 121)
    watched.history.checkpoints = [seen("/w/a.pt")]
    assert not watched.saves.waits(now)


def test_what_one_run_tells_another() -> None:
    watched = run()
    watched.saves.see(ProcessEnded(1.0, 7, main=True), 1.0)
    watched.ended_at = 5.0
    here, elsewhere = watched.saves.known_to_others("/w"), watched.saves.known_to_others("/x")
    assert (here["cwd"], here["ended_at"], here["dirs"]) == ("/w", 5.0, ["/named"])
    assert elsewhere["pids"] == elsewhere["claims"] == elsewhere["command"] == []
