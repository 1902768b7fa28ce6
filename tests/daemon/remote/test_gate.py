"""Every refusal of the gate: what speaks against giving a box back, one row each."""

from __future__ import annotations

import copy as copying
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from middlewatch.daemon.remote.boxes import Approval
from middlewatch.daemon.remote.gate import APPROVED_S, Copy, approval_blocker, blockers
from middlewatch.daemon.remote.manifest import (
    SCHEMA,
    BoxName,
    LeftOut,
    Manifest,
    OneCheckpoint,
    OneFile,
    Place,
    RunFiles,
)

BOX = BoxName("0123456789abcdef", "gpu-7")
PLACES = [
    Place("checkpoints/out", "/w/out"),
    Place("logs", "/w"),
    Place("watch", "/s/runs/gpt-5db0"),
]
FILES = [
    OneFile(0, "step-100.pt", 10, 1_000),
    OneFile(1, "train.log", 20, 2_000),
    OneFile(2, "exit.json", 5, 3_000),
]
SAVE = OneCheckpoint(
    0, "step-100.pt", "/w/out/step-100.pt", "ok", "finite", "xxh3:1", 10, ["step-100.pt"], 100.0
)
RUN = RunFiles(
    "gpt-5db0",
    "gpt",
    "finished",
    alive=False,
    places=PLACES,
    files=FILES,
    checkpoints=[SAVE],
    logs=["logs/train.log"],
)
CRITICAL = {"id": "8d516f", "class": "loss_nan", "severity": "critical", "state": "open"}


def entry() -> dict[str, Any]:
    """What a pull of this run signs."""
    rows = [
        {"name": RUN.at_home(f), "path": RUN.on_box(f), "bytes": f.bytes, "mtime_ns": f.mtime_ns}
        for f in FILES
    ]
    save = {"name": RUN.at_home(SAVE), "path": SAVE.path, "digest": SAVE.digest, "level": "load"}
    return {"alive": False, "roster": rows, "checkpoints": [save], "damaged": []}


def of(run: RunFiles) -> Manifest:
    return Manifest(SCHEMA, BOX, "2026-11-26T08:00:00+00:00", [run])


def kinds(run: RunFiles, copy: Copy | None) -> list[str]:
    return [one.kind for one in blockers("box3", of(run), lambda _run: copy)]


def test_nothing_speaks_against_what_is_home_and_loaded() -> None:
    assert kinds(RUN, Copy("/home/me/results", entry())) == []


def without(key: str, name: str) -> Callable[[dict[str, Any]], None]:
    def change(one: dict[str, Any]) -> None:
        one[key] = [row for row in one[key] if row["path"] != name]

    return change


def level(name: str | None) -> Callable[[dict[str, Any]], None]:
    return lambda one: one["checkpoints"][0].update(level=name)


def digest(value: str) -> Callable[[dict[str, Any]], None]:
    return lambda one: one["checkpoints"][0].update(digest=value)


WAITING = LeftOut("/w/out/step-200.pt", "it is not verified yet", checkpoint=True, step=200)
UNREAD = LeftOut("/w/out/secret.bin", "it cannot be read: Permission denied")
REFUSALS: list[tuple[str, dict[str, Any], Callable[[dict[str, Any]], Any], dict[str, Any], str]] = [
    (
        "alive",
        {"alive": True, "state": "running"},
        lambda _: None,
        {},
        "is still running (running)",
    ),
    ("open_critical", {"incidents": [CRITICAL]}, lambda _: None, {}, "8d516f (loss_nan)"),
    (
        "unverified",
        {"left_out": [WAITING]},
        lambda _: None,
        {},
        "step-200.pt (step 200) is not verified",
    ),
    ("unreadable", {"left_out": [UNREAD]}, lambda _: None, {}, "Permission denied"),
    ("pulled_alive", {}, lambda one: one.update(alive=True), {}, "has ended since"),
    ("newer_files", {}, without("roster", "/w/train.log"), {}, "/w/train.log"),
    (
        "newer_files",
        {"files": [*FILES[:1], replace(FILES[1], bytes=21), FILES[2]]},
        lambda _: None,
        {},
        "newer on the box",
    ),
    (
        "newer_files",
        {"files": [*FILES[:1], replace(FILES[1], mtime_ns=9), FILES[2]]},
        lambda _: None,
        {},
        "newer on the box",
    ),
    ("newer_checkpoint", {}, without("checkpoints", SAVE.path), {}, "(step 100) was saved after"),
    ("newer_checkpoint", {}, digest("xxh3:2"), {}, "was saved after"),
    (
        "changed_at_home",
        {},
        lambda _: None,
        {"changed": ("logs/train.log",)},
        "not as they were proved",
    ),
    ("volatile_copy", {}, lambda _: None, {"volatile": "/tmp is memory (tmpfs)"}, "does not last"),
    ("not_loaded", {}, level("finite"), {}, "never loaded"),
]


@pytest.mark.parametrize(("kind", "run", "change", "copy", "words"), REFUSALS)
def test_each_refusal_has_its_sentence(
    kind: str,
    run: dict[str, Any],
    change: Callable[[dict[str, Any]], Any],
    copy: dict[str, Any],
    words: str,
) -> None:
    signed = copying.deepcopy(entry())
    change(signed)
    found = blockers(
        "box3", of(replace(RUN, **run)), lambda _run: Copy("/home/me/results", signed, **copy)
    )
    assert [one.kind for one in found] == [kind], "this reason and no other"
    assert words in found[0].why
    assert found[0].step


def test_never_pulled_and_nothing_known() -> None:
    assert kinds(RUN, None) == ["not_pulled"]
    empty = replace(of(RUN), runs=[])
    assert [one.kind for one in blockers("box3", empty, lambda _run: None)] == ["no_runs"]


def test_reasons_add_up() -> None:
    run = replace(RUN, alive=True, incidents=[CRITICAL], left_out=[WAITING])
    assert kinds(run, None) == ["alive", "open_critical", "unverified", "not_pulled"]


def test_an_acknowledged_critical_is_no_reason() -> None:
    seen = {**CRITICAL, "state": "acknowledged"}
    run = replace(RUN, incidents=[seen])
    assert kinds(run, Copy("/home/me/results", entry())) == []


@pytest.mark.parametrize(
    ("approval", "kind"),
    [
        (None, "not_approved"),
        (Approval("stop", 1000.0, "box3"), "approval_of_other"),
        (Approval("destroy", 1000.0, "box4"), "approval_of_other"),
        (Approval("destroy", 1000.0 - APPROVED_S - 1, "box3"), "approval_expired"),
        (Approval("destroy", 2000.0, "box3"), "approval_expired"),  # of the future: a wrong clock
        (Approval("destroy", 1000.0 - APPROVED_S + 1, "box3"), None),
    ],
)
def test_an_approval_names_the_box_and_the_verb_and_ends(
    approval: Approval | None, kind: str | None
) -> None:
    found = approval_blocker("box3", BOX, "destroy", approval, 1000.0)
    assert (found.kind if found else None) == kind


def test_the_verb_is_that_of_the_platform() -> None:
    from middlewatch.daemon.cli.teardown import _verb_lines

    told = _verb_lines(replace(BOX, platforms=["runpod"]), "destroy")
    assert told[0].startswith("RunPod")
    assert any(line.startswith("destroys the box: ") for line in told)
    assert any(line.startswith("still billed after it: ") for line in told)
    assert "not recognised" in _verb_lines(BOX, "stop")[0]
