"""One target under Atheris (coverage-guided) for so many CPU seconds; started by ``scripts/fuzz``.

A finding is an exception, more than :data:`SLOW_S` of CPU time for one input, or memory of the interpreter
that goes on growing. Each is written once by the place where it was raised, and the search goes on; what the
interpreter itself does not survive Atheris writes.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["middlewatch"]):
    from .targets import HERE, LONGEST, TARGETS, Opened

SLOW_S = 2.0
"""CPU seconds for one input of at most 64 KiB. Our choice: a loop that stands so long misses two reads of
every log. Code that is instrumented takes about three times as long as it does in the daemon."""
GREW = 1.05
"""Blocks of memory at the end against those at half time. Caches and tables of known shapes are full by
then."""
HANGS_S = 300
"""Wall seconds after which Atheris ends an input itself: only a loop without end takes so long."""
MOST_MIB = 2048
_SAMPLES = 20


class Search:
    """Feeds inputs to a target and writes down what they did."""

    def __init__(self, name: str, budget_s: float, out: Path) -> None:
        self._target = Opened(name)
        self._name, self._budget_s, self._out = name, budget_s, out
        self._begun = time.process_time()
        self._samples: list[int] = []
        self._found: dict[str, str] = {}
        self._count = 0
        self._slowest = 0.0

    def one(self, data: bytes) -> None:
        """One input; ends the process when the budget is used up."""
        begun = time.process_time()
        try:
            self._target.read(data)
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}"
            self._note(f"{type(error).__name__}-{place}", data, traceback.format_exc())
        now = time.process_time()
        self._count += 1
        if now - begun > self._slowest:
            self._slowest = now - begun
        if now - begun > SLOW_S:
            self._note(f"slow-{len(data) // 8192}", data, f"{now - begun:.1f} s of CPU time")
        spent = now - self._begun
        if spent * _SAMPLES > self._budget_s * len(self._samples):
            gc.collect()
            self._samples.append(sys.getallocatedblocks())
            self._summary(spent)  # what was done so far, should it be ended from outside
        if spent > self._budget_s:
            self._end(spent)

    def _note(self, what: str, data: bytes, why: str) -> None:
        if what not in self._found:
            name = f"{what}-{hashlib.sha256(data).hexdigest()[:8]}"
            self._found[what] = why
            (self._out / name).write_bytes(data)
            print(f"{self._name}: {name}: {why}", file=sys.stderr, flush=True)

    def _summary(self, spent: float) -> str:
        growth = self._samples[-1] / self._samples[len(self._samples) // 2]
        self._found.pop("growth", None)
        if growth > GREW and spent > self._budget_s / 2:
            self._found["growth"] = f"{growth:.2f} times the blocks of memory of half time"
        told = {
            "target": self._name,
            "cpu_s": round(spent, 1),
            "inputs": self._count,
            "slowest_s": round(self._slowest, 2),
            "growth": round(growth, 3),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "findings": sorted(self._found),
        }
        (self._out / "summary.json").write_text(json.dumps(told, indent=1))
        return json.dumps(told)

    def _end(self, spent: float) -> None:
        print(self._summary(spent), flush=True)
        self._target.close()
        os._exit(bool(self._found))


def main() -> None:
    """Fuzz one target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--cpu-minutes", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for what is found")
    asked = parser.parse_args()
    out = asked.out / asked.target
    corpus = out / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    kept = HERE / "kept" / asked.target
    seeds = list(TARGETS[asked.target].seeds())
    seeds += [path.read_bytes() for path in sorted(kept.iterdir())] if kept.exists() else []
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed[:LONGEST])
    search = Search(asked.target, asked.cpu_minutes * 60, out)
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-max_len={LONGEST}",
            f"-timeout={HANGS_S}",
            f"-rss_limit_mb={MOST_MIB}",
            f"-artifact_prefix={out}/",
            "-verbosity=0",
        ],
        search.one,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
