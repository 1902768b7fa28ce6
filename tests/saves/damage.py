"""python -m tests.saves.damage MADE [CASE ...]: what of some damage to the newest save of each opened case is found.

Each damage is done to a copy. Found: `verify` does not call the save ok; for a flipped bit and a block of zeroes also:
the digest is another one than before, so that rot is noticed later.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from middlewatch.daemon.checkpoints.verify import levels

from .case import CASES, load


def files_of(save: Path, root: Path, also: list[str]) -> list[Path]:
    if save.is_dir():
        return sorted(p for p in save.rglob("*") if p.is_file() and p.stat().st_size)
    return [save]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def zero(path: Path) -> None:
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes(min(8192, len(data) - middle)) + data[middle + 8192 :])


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def gone(path: Path) -> None:
    path.unlink()


DAMAGES = {"flip": flip, "zero block": zero, "cut": cut, "empty": empty, "missing": gone}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.saves.damage")
    parser.add_argument("made", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    load()
    done: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for name in args.names or [n for n in sorted(CASES) if not CASES[n].held]:
        case = args.made / name
        if not (case / "truth.json").exists():
            continue
        truth = json.loads((case / "truth.json").read_text())
        newest = truth["saves"][-1]
        lost = []
        biggest = sorted(
            files_of(case / "out" / newest["path"], case / "out", []),
            key=lambda p: -p.stat().st_size,
        )
        for part in biggest[:6]:
            for damage, act in DAMAGES.items():
                if damage == "missing" and part == case / "out" / newest["path"]:
                    continue
                with tempfile.TemporaryDirectory() as scratch:
                    root = Path(scratch) / "out"
                    shutil.copytree(case / "out", root, symlinks=True)
                    save = root / newest["path"]
                    before = levels.describe(str(save))
                    act(root / part.relative_to(case / "out"))
                    after = levels.describe(str(save))
                rot = before["digest"] and after["digest"] != before["digest"]
                good = after["state"] in ("corrupt", "incomplete") or bool(
                    rot and damage in ("flip", "zero block")
                )
                done[damage] += 1
                found[damage] += good
                if not good:
                    lost.append(
                        f"{damage} of {part.relative_to(case / 'out')}: {after['state']} {after['detail'][:60]}"
                    )
        print(f"{name}: {'all found' if not lost else ''}", *lost, sep="\n    ", flush=True)
    print(", ".join(f"{d}: {found[d]} of {done[d]}" for d in done))
    return 0


sys.exit(main())
