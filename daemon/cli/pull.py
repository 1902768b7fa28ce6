"""``pull``: bring the results of a box home, prove the copy, sign a receipt."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import discover
from middlewatch.sentinels.kit.numbers import number, size

from ..remote.boxes import Boxes
from ..remote.connection import Box
from ..remote.following import Follower
from ..remote.manifest import BoxName, RunFiles, chosen
from ..remote.pulling import Puller, Result
from ..remote.transfer import check_rsync
from ..replay.log_input import open_log
from ..replay.one_log import Replay, ReplayRules
from ..system.clock import SystemClock
from ..system.errors import MiddlewatchError, UsageError
from . import console
from .context import configuration, state
from .sizes import size_of

_LEAST_S = 0.2


def pull(args: argparse.Namespace) -> int:
    """Bring runs home; exit 1 when one is not home whole and proved."""
    check_rsync()
    host, _, run = args.source.partition(":")
    dest = str(Path(args.dest).absolute())
    if os.path.lexists(dest) and not os.path.isdir(dest):
        raise UsageError(f"{args.dest} is not a folder", "name a folder; it is made")
    if args.every < _LEAST_S:
        raise UsageError(f"--every {args.every:g} is too often", "30 is usual")
    if args.follow and not run:
        raise UsageError(
            "--follow follows one run", f"middlewatch pull {shlex.quote(host)}:RUN DEST --follow"
        )
    clock, boxes = SystemClock(), Boxes(state(args).root)
    known = boxes.called(host)
    box = Box(host, clock, known.program if known else "")
    shown = console.progress_wanted(as_json=args.json)
    bars: list[console.ProgressBar] = []

    def progress(label: str, done: int, whole: int) -> None:
        if not bars:
            bars.append(console.ProgressBar(whole, clock, shown=shown))
        bars[0].at(done, label)

    def clear() -> None:
        if bars:
            bars.pop().clear()

    puller = Puller(
        box,
        dest,
        clock,
        progress,
        read_logs=_Logs(args).read,
        python=args.python,
        limit_bytes_per_s=size_of(args.limit) if args.limit else 0,
    )
    _make(dest)
    try:
        manifest = puller.manifest(run or None, quick=args.follow)
        boxes.keep(boxes.of(manifest.box.id, manifest.box.host).with_name(host).with_dest(dest))
        todo: list[tuple[BoxName, RunFiles]] = [
            (manifest.box, one) for one in chosen(manifest, run or None)
        ]
        if args.follow:
            tell = _Events(as_json=args.json, clear=clear)
            one = todo[0][1].run
            todo = [Follower(puller, dest, one, clock, tell, args.every).follow()]
        results = []
        for name, one_run in todo:
            results.append(puller.pull(name, one_run))
            clear()
            if not args.json:
                _show(results[-1])
    finally:
        clear()
    bad = any(not one.ok or one.damaged for one in results)
    if args.json:
        told: dict[str, Any] = {"type": "end"} if args.follow else {}
        told |= {"host": host, "box": asdict(todo[0][0]), "dest": dest, "ok": not bad}
        out = console.as_line if args.follow else console.as_json
        out({**told, "runs": [asdict(one) for one in results]})
    return int(bad)


def _make(dest: str) -> None:
    try:
        os.makedirs(dest, mode=0o700, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{dest} cannot be made: {error.strerror}", "name another folder"
        ) from None


class _Logs:
    """Reads logs at home as ``replay`` does: are the metrics in them readable?"""

    def __init__(self, args: argparse.Namespace) -> None:
        config = configuration(args)
        sentinels = {n: s for n, s in discover().items() if n not in config.disabled}
        self._rules = ReplayRules(sentinels, dict(config.limits), lambda _text: None)

    def read(self, folder: str, logs: Sequence[str]) -> list[dict[str, Any]]:
        """A row a log: how many metrics it has, its last step and its verdict."""
        rows = []
        for name in logs:
            row: dict[str, Any] = {"log": name, "metrics": 0, "last_step": None, "verdict": None}
            try:
                source = open_log(f"{folder}/{name}")
            except (OSError, MiddlewatchError) as error:
                rows.append(row | {"detail": str(error)})
                continue
            try:
                for record in Replay(name, self._rules).read(source.chunks(), metrics=True):
                    row["metrics"] += record["type"] == "metric"
                    if record["type"] == "end":
                        row |= {key: record[key] for key in ("last_step", "verdict", "cause")}
            except (OSError, MiddlewatchError) as error:
                row["detail"] = str(error)
            finally:
                source.close()
            rows.append(row)
        return rows


class _Events:
    """Prints what ``--follow`` sees."""

    def __init__(self, *, as_json: bool, clear: Any) -> None:
        self._json = as_json
        self._clear = clear

    def __call__(self, event: dict[str, Any]) -> None:
        self._clear()
        if self._json:
            console.as_line(event)
        elif event["type"] == "checkpoint":
            step = "" if event["step"] is None else f"step {number(event['step'])}, "
            console.say(
                f"home: {event['name']} ({step}{size(event['bytes'])}, {event['level']})",
                flush=True,
            )
        else:
            console.complain(f"{event.get('name', 'no connection')}: {event['why']}")


def _show(result: Result) -> None:
    """A few lines for a person; what is wrong comes last, where it is seen."""
    loaded = sum(one["level"] == "load" for one in result.checkpoints)
    console.say(
        f"{result.run}: {result.files:,} files, {size(result.bytes)}; {len(result.checkpoints)} "
        f"checkpoints read to the last number, {loaded} loaded with torch"
    )
    for row in result.metrics:
        step = "no step" if row["last_step"] is None else f"last step {number(row['last_step'])}"
        console.say(f"  {row['log']}: {row['metrics']:,} metrics, {step}, {row['verdict']}")
    for note in result.notes:
        console.say(f"  note      {note}")
    for one in result.left_out:
        console.say(f"  left out  {one['path']}: {one['why']}")
    for one in result.waiting if result.ok else ():
        console.say(f"  later     {one['path']}: {one['why']}")
    for one in result.damaged:
        console.say(f"  {one['state'].upper()}  {one['name']}: {one['detail']}")
    for one in result.wrong:
        console.say(f"  WRONG     {one['name']}: {one['why']}")
    if result.ok:
        console.say(f"  proved: {result.receipt}")
    else:
        console.say("  NOT PROVED: no receipt was written; call it again, what has come is kept")
