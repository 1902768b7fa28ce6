"""``python -m tests.scenes FOLDER``: play scenes, and say how right the watch was.

Every scene is played in process and mount namespaces of its own (root): to the watch it is alone on
its box, however many are played at the same time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .stage import Play, Scene, play
from .verdict import Verdict, judge

ALONE = ("unshare", "--pid", "--fork", "--mount-proc", "--mount", "--kill-child")
Row = dict[str, Any]


def main() -> int:
    """Exit status 1 when a scene could not be played."""
    words = argparse.ArgumentParser(prog="python -m tests.scenes", description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("--only", action="append", default=[], help="name or part of one")
    words.add_argument("--jobs", type=int, default=6)
    words.add_argument("--keep", type=Path, help="folder for what happened in each scene")
    words.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.one:
        return _one(given.folder, given.keep)
    scenes = [Scene.read(f) for f in sorted(given.folder.iterdir()) if (f / "scene.toml").exists()]
    scenes = [s for s in scenes if not given.only or any(o in s.name for o in given.only)]
    scenes.sort(key=lambda s: -s.data["length_s"])
    with tempfile.TemporaryDirectory(prefix="kept-") as kept:
        keep = given.keep or Path(kept)
        keep.mkdir(parents=True, exist_ok=True)
        rows = []
        with ThreadPoolExecutor(given.jobs) as pool:
            for task in as_completed([pool.submit(_apart, scene, keep) for scene in scenes]):
                rows.append(task.result())
                _show(rows[-1])
    _sum(rows)
    return int(any(row["error"] for row in rows))


def _apart(scene: Scene, keep: Path) -> Row:
    command = [
        sys.executable,
        "-m",
        "tests.scenes",
        str(scene.folder),
        "--one",
        "--keep",
        str(keep),
    ]
    done = subprocess.run([*ALONE, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"name": scene.name, "error": done.stderr[-1500:], "healthy": scene.healthy}
    row: Row = json.loads((keep / f"{scene.name}.json").read_text(encoding="utf-8"))
    return row


def _one(folder: Path, keep: Path) -> int:
    scene = Scene.read(folder)
    with tempfile.TemporaryDirectory(prefix="scene-", ignore_cleanup_errors=True) as root:
        done = play(scene, Path(root) / scene.name)
    text = json.dumps(_row(done, judge(done)), indent=1, ensure_ascii=False)
    (keep / f"{scene.name}.json").write_text(text, encoding="utf-8")
    return 0


def _row(done: Play, verdict: Verdict) -> Row:
    return {
        "name": done.scene.name,
        "healthy": done.scene.healthy,
        "verdict": asdict(verdict),
        "onset_s": done.onset_s,
        "ended_s": done.ended_s,
        "exit_code": done.exit_code,
        "error": done.error,
        "truth": done.scene.truth,
        "pushes": [[at, p.title, p.body] for at, p in done.pushes],
        "incidents": done.incidents,
        "runs": done.runs,
        "output": done.output,
    }


def _show(row: Row) -> None:
    if row["error"]:
        print(f"{row['name']}: NOT PLAYED: {row['error'][-300:]}", flush=True)
        return
    verdict = row["verdict"]
    asked = {w: verdict[w] for w in ("noticed", "in_time", "right_class", "cause", "quiet")}
    asked = {w: ok for w, ok in asked.items() if ok is not None}
    said = ", ".join(w if ok else f"NOT {w}" for w, ok in asked.items())
    delay = "" if verdict["delay_s"] is None else f" after {verdict['delay_s']:.0f} s"
    late = "" if row["healthy"] or row["onset_s"] is not None else " (ITS TROUBLE NEVER CAME)"
    print(f"{row['name']}: {said}{delay}{late}", flush=True)
    if not all(asked.values()):
        for line in verdict["told"] or ("nothing was pushed",):
            print(f"    {line}", flush=True)


def _sum(rows: Sequence[Row]) -> None:
    valid = [r for r in rows if not r["error"] and (r["healthy"] or r["onset_s"] is not None)]
    trouble = [r["verdict"] for r in valid if not r["healthy"]]
    healthy = [r["verdict"] for r in valid if r["healthy"]]
    for name, got in (
        ("noticed", [v["noticed"] for v in trouble]),
        ("in time", [v["in_time"] for v in trouble]),
        ("class", [v["right_class"] for v in trouble if v["right_class"] is not None]),
        ("cause", [v["cause"] for v in trouble]),
        ("quiet before the trouble", [v["quiet"] for v in trouble]),
        ("quiet when nothing is wrong", [v["quiet"] for v in healthy]),
    ):
        if got:
            right = sum(map(bool, got))
            print(f"{name}: {right} of {len(got)} ({right / len(got):.1%})")
    print(f"not played, or the trouble did not come: {len(rows) - len(valid)}")


if __name__ == "__main__":
    sys.exit(main())
