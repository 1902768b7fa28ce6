"""python -m tests.saves.damage MADE [CASE ...]: what of some damage to the newest save of each opened case is found.

With ``--random N`` there are N of each kind instead, at places that a seed chooses, over all parts; those of the save before
(``stale``) and blocks of other places (``copied block``) among them.

Each damage is done to a copy. Found: `verify` does not call the save ok; for a flipped bit and a block of zeroes also:
the digest is another one than before, so that rot is noticed later.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
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


def at_random(
    chance: random.Random, path: Path, earlier: Path | None
) -> dict[str, Callable[[Path], None]]:
    """Damages to one file, at places that are drawn now."""
    size = path.stat().st_size

    def flip_one(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[chance.randrange(size)] ^= 1 << chance.randrange(8)
        path.write_bytes(data)

    def zero_pages(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(chance.randrange(max(1, size // PAGE)) * PAGE)
            file.write(bytes(min(PAGE * chance.randint(1, 4), size - file.tell())))

    def cut_off(path: Path) -> None:
        os.truncate(path, chance.randrange(size))

    def half_written(path: Path) -> None:
        """It has its length, and zeroes from some page on."""
        end = chance.randrange(max(1, size // PAGE)) * PAGE
        os.truncate(path, end)
        os.truncate(path, size)

    def copied_block(path: Path) -> None:
        with path.open("r+b") as file:
            one, other = (chance.randrange(size // PAGE) * PAGE for _ in range(2))
            file.seek(one)
            block = file.read(PAGE)
            file.seek(other)
            file.write(block)

    found: dict[str, Callable[[Path], None]] = {
        "flip": flip_one,
        "zero pages": zero_pages,
        "cut": cut_off,
        "half written": half_written,
    }
    if size >= 4 * PAGE:
        found["copied block"] = copied_block
    if earlier is not None:
        data = earlier.read_bytes()

        def stale(path: Path) -> None:
            path.write_bytes(data)

        found["stale"] = stale
    return found


PAGE = 4096
DAMAGES = {"flip": flip, "zero block": zero, "cut": cut, "empty": empty, "missing": gone}


ROT = ("flip", "zero block", "zero pages", "copied block", "stale", "half written")
"""Damages that leave the length as it was: if nothing else does, the digest of the first check tells."""


def _planned(
    name: str, saves: list[Path], times: int
) -> Iterator[tuple[Path, str, Callable[[Path], None]]]:
    """(part, damage, what does it) for the newest save of a case."""
    newest = saves[-1]
    parts = sorted(files_of(newest, newest, []), key=lambda p: -p.stat().st_size)
    act: Callable[[Path], None]
    if not times:
        for part in parts[:6]:
            for damage, act in DAMAGES.items():
                if damage != "missing" or part != newest:
                    yield part, damage, act
        return
    chance = random.Random(name)
    for _ in range(times):
        part = chance.choice(parts)
        earlier = None
        if len(saves) > 1 and newest.is_dir():
            same = saves[-2] / part.relative_to(newest)
            earlier = same if same.is_file() else None
        for damage, act in at_random(chance, part, earlier).items():
            yield part, damage, act
    for part in [] if newest.is_file() else chance.choices(parts, k=times):
        yield part, "missing", gone


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.saves.damage")
    parser.add_argument("made", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    args = parser.parse_args()
    load()
    done: Counter[str] = Counter()
    found: Counter[str] = Counter()
    by_digest: Counter[str] = Counter()
    for name in args.names or [n for n in sorted(CASES) if not CASES[n].held]:
        case = args.made / name
        if not (case / "truth.json").exists():
            continue
        truth = json.loads((case / "truth.json").read_text())
        saves = [case / "out" / save["path"] for save in truth["saves"]]
        lost = []
        for part, damage, act in _planned(name, saves, args.random):
            with tempfile.TemporaryDirectory() as scratch:
                root = Path(scratch) / "out"
                shutil.copytree(case / "out", root, symlinks=True)
                save, there = (root / one.relative_to(case / "out") for one in (saves[-1], part))
                before, was = levels.describe(str(save)), there.read_bytes()
                act(there)
                if there.exists() and there.read_bytes() == was:
                    continue  # zeroes in the place of zeroes
                after = levels.describe(str(save))
            rot = before["digest"] and after["digest"] != before["digest"]
            good = after["state"] != "ok" or bool(rot and damage in ROT)
            done[damage] += 1
            found[damage] += good
            by_digest[damage] += good and after["state"] == "ok"
            if not good:
                said = f"{after['state']} {after['detail'][:60]}"
                lost.append(f"{damage} of {part.relative_to(case / 'out')}: {said}")
        print(f"{name}: {'all found' if not lost else ''}", *lost, sep="\n    ", flush=True)
    for damage in done:
        print(
            f"{damage}: {found[damage]} of {done[damage]} ({by_digest[damage]} by the digest alone)"
        )
    return 0


sys.exit(main())
