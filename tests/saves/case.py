"""What a case is: a function that makes a library save a few times, and notes what is true about it."""

import dataclasses
import hashlib
import importlib
import json
import os
import pkgutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

CASES: dict[str, "Case"] = {}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    make: Callable[["Run"], None]
    needs: tuple[str, ...]  # modules; without one of them the case is skipped

    @property
    def held(self) -> bool:
        """Of the third that is put aside: by the name alone, so nobody chooses."""
        return hashlib.sha256(self.name.encode()).digest()[0] < 256 / 3


def load() -> None:
    """Import every module of cases."""
    import tests.saves.cases as cases

    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"tests.saves.cases.{module.name}")


def case(name: str, *needs: str) -> Callable[[Callable[["Run"], None]], Callable[["Run"], None]]:
    def add(make: Callable[["Run"], None]) -> Callable[["Run"], None]:
        assert name not in CASES, name
        CASES[name] = Case(name, make, needs)
        return make

    return add


class Run:
    """One run of a trainer, below `folder`; `root` is the folder that one would hand to `--checkpoints`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "out"
        self.root.mkdir(parents=True)
        self.saves: list[dict[str, Any]] = []
        self.never: list[str] = []
        self.resume_from: str | None = None
        self.best: str | None = None
        self.format = ""

    def saved(
        self,
        path: str | Path,
        step: int | None,
        *,
        resumable: bool = True,
        also: Iterable[str | Path] = (),
        gone: Iterable[str | Path] = (),
    ) -> None:
        """A save is finished: `path` is its name, `also` are other names that it may rightly go by or that are
        parts of it, `gone` are older saves that the trainer has removed or written over."""
        lost = {self.name(g) for g in gone} | {self.name(path)}
        self.saves = [s for s in self.saves if s["path"] not in lost]
        self.saves.append(
            {
                "path": self.name(path),
                "step": step,
                "resumable": resumable,
                "also": [self.name(a) for a in also],
            }
        )
        if resumable:
            self.resume_from = self.name(path)
        time.sleep(0.05)  # times of files are told apart

    def half(self, *paths: str | Path) -> None:
        """Files that are never what one resumes from, and never the best model."""
        self.never += [self.name(p) for p in paths]

    def name(self, path: str | Path) -> str:
        path = Path(path)
        return os.path.relpath(path if path.is_absolute() else self.root / path, self.root)

    def done(self, name: str, versions: dict[str, str]) -> None:
        for save in self.saves:  # a trainer keeps the last ones only
            assert (self.root / save["path"]).exists(), save
        truth = {
            "name": name,
            "versions": versions,
            "format": self.format,
            "saves": self.saves,
            "resume_from": self.resume_from,
            "best": self.best,
            "never": self.never,
        }
        (self.folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
