"""python -m tests.saves.score MADE [--held | --open] [CASE ...]: what middlewatch says of the saves, against the truth.

For each case an index is made as the daemon makes it after a restart (every save verified up to level
finite), and the same folder is given to `verify`. A case is right when nothing in its row is wrong:

found   every save has an entry, by its name or that of a part of it
false   saves that are called corrupt or incomplete; nothing here is damaged
step    entries whose step is another one than that of the save
split   saves that have more than one entry which does not say what it is a part of
resume  `resume_from` is the newest save that the training can go on from (or nothing verified is)
best    `best` is the one that the trainer calls best, where it says so in a file
half    `resume_from` or `best` is an optimizer, a discriminator, a state file
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from middlewatch.daemon.checkpoints import rebuild
from middlewatch.daemon.checkpoints.ranking import RankingRules

from .case import CASES, load


@dataclass
class Row:
    name: str
    saves: int = 0
    found: int = 0
    checked: int = 0
    wrong: list[str] = field(default_factory=list)


def judged(folder: Path) -> tuple[Row, dict[str, Any]]:
    truth = json.loads((folder / "truth.json").read_text())
    root = folder / "out"
    index = rebuild.rebuilt("score", [str(root)], time.time(), RankingRules())
    entries = {e["path"][len(str(root)) + 1 :] or ".": e for e in index["checkpoints"]}
    row = Row(folder.name, len(truth["saves"]))
    named = set()
    for save in truth["saves"]:
        own = [n for n in (save["path"], *save["also"]) if n in entries]
        named.update(own)
        if not own:
            row.wrong.append(f"not found: {save['path']}")
            continue
        row.found += 1
        first = entries[own[0]]
        row.checked += first["verified"]["state"] == "ok"
        alone = [n for n in own if not entries[n].get("part_of")]
        if len(alone) > 1 and len({s["path"] for s in truth["saves"]} & set(alone)) < len(alone):
            row.wrong.append(f"split: {', '.join(alone)}")
        if save["step"] is not None and first["step"] not in (save["step"], None):
            row.wrong.append(f"step {first['step']} of {own[0]}")
    for name, entry in entries.items():
        if entry["verified"]["state"] in ("corrupt", "incomplete"):
            row.wrong.append(
                f"false: {name}: {entry['verified']['state']}: {entry['verified']['detail']}"
            )
        elif entry["verified"]["state"] == "unverifiable" and not entry["verified"]["detail"]:
            row.wrong.append(f"no reason: {name}")
    resume, best = (relative(root, index[k]) for k in ("resume_from", "best"))
    good = {truth["resume_from"]}
    for save in truth["saves"]:
        if save["path"] == truth["resume_from"]:
            good |= set(save["also"]) - set(truth["never"])
    if truth["resume_from"] is None:
        good = {s["path"] for s in truth["saves"][-1:]} | set(truth["saves"][-1]["also"]) | {None}
    if resume not in good and not (resume is None and not row.checked):
        row.wrong.append(f"resume_from {resume}, not {truth['resume_from']}")
    if truth["best"] is not None and best not in (truth["best"], None):
        row.wrong.append(f"best {best}, not {truth['best']}")
    for what, path in (("resume_from", resume), ("best", best)):
        if path in truth["never"]:
            row.wrong.append(f"half: {what} is {path}")
    return row, index


def relative(root: Path, path: str | None) -> str | None:
    return None if path is None else (path[len(str(root)) + 1 :] or ".")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.saves.score")
    parser.add_argument("made", type=Path)
    parser.add_argument("names", nargs="*")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--held", action="store_true")
    which.add_argument("--open", action="store_true")
    parser.add_argument("-v", action="store_true", help="every entry")
    args = parser.parse_args()
    load()
    names = [
        n
        for n in sorted(CASES)
        if CASES[n].held == args.held and (args.made / n / "truth.json").exists()
    ]
    rows = []
    for name in args.names or names:
        assert name in names, f"{name} is not one of these"
        row, index = judged(args.made / name)
        rows.append(row)
        print(
            f"{'WRONG' if row.wrong else 'right':6} {name}: {row.found}/{row.saves} found, {row.checked} ok",
            flush=True,
        )
        for what in row.wrong[:6]:
            print(f"         {what}")
        for entry in index["checkpoints"] if args.v else ():
            v = entry["verified"]
            print(
                f"    {v['state']}/{v['level']} {entry['format']} step {entry['step']} files {entry['files']} "
                f"{entry['path'][len(str(args.made)) :]} part_of {entry.get('part_of')} {v['detail'][:150]} {entry['parts'][:6]}"
            )
        if args.v:
            print("    resume", index["resume_from"], "best", index["best"])
    saves = sum(r.saves for r in rows)
    print(
        f"{sum(not r.wrong for r in rows)} of {len(rows)} cases right; of {saves} saves "
        f"{sum(r.found for r in rows)} found, {sum(r.checked for r in rows)} ok"
    )
    return 0


sys.exit(main())
