"""``teardown``: may this box be given back? It answers, and never does it.

Nothing is deleted here, and the only connection is the ssh that asks the box what it has.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit.numbers import size

from ..config.platform_profiles import KEYS, profile
from ..remote import manifest as manifests
from ..remote import receipt
from ..remote.boxes import Approval, Boxes, KnownBox
from ..remote.connection import Box, BoxUnreachable
from ..remote.gate import (
    APPROVED_S,
    Blocker,
    Copy,
    Verb,
    approval_blocker,
    blockers,
    phrase,
    unchanged,
)
from ..remote.manifest import BoxName, Manifest, RunFiles
from ..system.clock import Clock, SystemClock, iso
from ..system.errors import Refused
from . import asking, console
from .context import state

GONE_AFTER = 3
"""Connections in a row that have to fail until the box counts as gone: one may fail by chance."""
LOOK_S = 10.0
"""Seconds between two looks whether it is gone. Our choice."""
LONGEST_S = 3600.0
"""Seconds to wait for that: as long as the approval holds."""


def teardown(args: argparse.Namespace) -> int:
    """Say whether the box may be given back; exit 4 when not."""
    clock, boxes, verb = SystemClock(), Boxes(state(args).root), args.verb
    before = boxes.called(args.host)
    box = Box(args.host, clock, before.program if before else "")
    manifest = manifests.parse(box.middlewatch("manifest", "--quick", "--json", ok=(0, 1)))
    known = boxes.of(manifest.box.id, manifest.box.host).with_name(args.host)
    copies = _Copies(manifest.box, [*map(_absolute, args.dest), *known.dests])
    found = blockers(args.host, manifest, copies.of)
    lost = list(_lost(manifest, copies))
    if not args.json:
        _show(args.host, verb, manifest, found, lost)
    if not found:
        known = _approved(args, boxes, known, manifest.box, clock)
    missing = approval_blocker(args.host, manifest.box, verb, known.approval, clock.now())
    every = [*found, *([missing] if missing else ())]
    if args.json:
        console.as_json(_data(args.host, verb, manifest, every, lost, known))
    elif missing is not None:
        _say(missing)
    if every:
        if not args.json:
            what = "1 reason" if len(every) == 1 else f"{len(every)} reasons"
            console.say(f"REFUSED: {what} not to {verb} {args.host}")
        return Refused.exit_code
    if args.json:
        return 0
    console.say(f"ALLOWED until {_until(known)}: {verb} {args.host}. middlewatch does not do it:")
    for line in _verb_lines(manifest.box, verb):
        console.say(f"  {line}")
    return 0 if args.no_wait else _wait(args.host, box, clock)


# ------------------------------------------------------------------------ what is at home


class _Copies:
    """The receipts at home for one box."""

    def __init__(self, box: BoxName, dests: Sequence[str]) -> None:
        self._found: dict[str, Copy] = {}
        for dest in dict.fromkeys(dests):
            signed = receipt.read_receipt(dest)
            if signed is None or signed["box"].get("id") != box.id:
                continue
            for run, entry in signed["runs"].items():
                older = self._found.get(run)
                if older is None or str(older.entry["verified_at"]) < str(entry["verified_at"]):
                    self._found[run] = Copy(dest, entry)

    def of(self, run: str) -> Copy | None:
        """The newest, compared with what lies there now."""
        copy = self._found.get(run)
        if copy is None:
            return None
        folder = Path(copy.dest, run)
        changed = tuple(row["name"] for row in copy.entry["roster"] if _changed(folder, row))
        return replace(copy, changed=changed, volatile=_volatile(copy.dest))


def _changed(folder: Path, row: Mapping[str, Any]) -> bool:
    try:
        info = os.lstat(folder / row["name"])
    except OSError:
        return True
    return not unchanged(row, info.st_size, info.st_mtime_ns)


def _volatile(dest: str) -> str:
    """Why a folder does not last; empty where that is not known."""
    if not sys.platform.startswith("linux"):
        return ""
    from ..system import mounts  # Linux alone

    mount = mounts.Mounts(mounts.readable_table()).of(os.path.realpath(dest))
    if mount is not None and mount.fstype in ("tmpfs", "ramfs"):
        return f"{mount.point} is memory ({mount.fstype})"
    return ""


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


# ------------------------------------------------------------------------ the approval


def _approved(
    args: argparse.Namespace, boxes: Boxes, known: KnownBox, box: BoxName, clock: Clock
) -> KnownBox:
    """With the approval of a person, who is asked where somebody can answer."""
    now, verb = clock.now(), args.verb
    if approval_blocker(args.host, box, verb, known.approval, now) is None:
        return known
    if args.json or not asking.can_ask():
        return known
    wanted = phrase(args.host, verb)
    typed = asking.ask(f"to approve, type: {wanted}")
    if typed != wanted:
        console.complain("that is not it: nothing was approved")
        return known
    known = replace(known, approval=Approval(verb, clock.now(), args.host))
    boxes.keep(known)
    return known


def _until(known: KnownBox) -> str:
    assert known.approval is not None
    return str(iso(known.approval.at + APPROVED_S))[11:16]


# ------------------------------------------------------------------------ words


def _show(
    host: str, verb: Verb, manifest: Manifest, found: Sequence[Blocker], lost: Sequence[str]
) -> None:
    console.say(f"{host} is {manifest.box.host}; to {verb} it takes with it:")
    for line in lost:
        console.say(f"  {line}")
    for one in found:
        _say(one)


def _say(one: Blocker) -> None:
    console.say(console.paint("NO"), f"  {one.why}")
    console.say(f"      {one.step}")


def _lost(manifest: Manifest, copies: _Copies) -> list[str]:
    """What goes with the box, by run."""
    lines = []
    for run in manifest.runs:
        copy = copies.of(run.run)
        where = f"a copy is in {copy.dest}" if copy else "there is no copy"
        lines.append(f"{run.run}: {len(run.files):,} files, {size(run.bytes)}; {where}")
        lines += [f"  {_damage(run, one)}" for one in run.checkpoints if one.state != "ok"]
        lines += [f"  {one.path}: {one.why}" for one in run.left_out if not one.checkpoint]
    lines.append("and everything that middlewatch does not watch: other folders, images, caches")
    return lines


def _damage(run: RunFiles, one: manifests.OneCheckpoint) -> str:
    return f"{run.at_home(one)} is {one.state}: {one.detail}"


def _verb_lines(box: BoxName, verb: Verb) -> list[str]:
    """The platform's own verb, and what goes on costing after it."""
    found = next((one for one in map(profile, box.platforms) if one is not None), None)
    if found is None:
        what = (
            "the platform is not recognised: use its own page, and look there what goes on costing"
        )
        return [what]
    lines = [f"{found.name}: use its own page or program"]
    for key in (f"meter.{verb}", "meter.keeps_billing", "meter.verify"):
        lines += [f"{KEYS[key]}: {row['says']}" for row in found.about(key)]
    return lines


def _data(
    host: str,
    verb: Verb,
    manifest: Manifest,
    every: Sequence[Blocker],
    lost: Sequence[str],
    known: KnownBox,
) -> dict[str, Any]:
    return {
        "host": host,
        "box": asdict(manifest.box),
        "verb": verb,
        "allowed": not every,
        "blockers": [asdict(one) for one in every],
        "lost": list(lost),
        "platform": _verb_lines(manifest.box, verb),
        "approved_until": _until_iso(known) if not every else None,
    }


def _until_iso(known: KnownBox) -> str | None:
    return iso(known.approval.at + APPROVED_S) if known.approval else None


# ------------------------------------------------------------------------ afterwards


def _wait(host: str, box: Box, clock: Clock) -> int:
    """Until the box answers no more; 1 when it still does after an hour."""
    console.say(f"waiting until {host} is gone (Ctrl-C ends the waiting only)", flush=True)
    until, failed = clock.monotonic() + LONGEST_S, 0
    while clock.monotonic() < until:
        try:
            box.run("true", tries=1)
            failed = 0
        except BoxUnreachable:
            failed += 1
        if failed >= GONE_AFTER:
            at = str(iso(clock.now()))[:19].replace("T", " ")
            console.say(f"{host} answers no more since {at}.")
            console.say(
                "That is no proof that nothing is billed: look at the page of the platform."
            )
            return 0
        clock.sleep(LOOK_S if not failed else 1.0)
    console.say(f"{host} still answers after an hour: it still costs")
    return 1
