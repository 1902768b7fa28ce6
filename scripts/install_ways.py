#!/usr/bin/env python3
"""Every way to install that docs/install.md names, as typed, on the box where this is started.

    scripts/install_ways.py [--json]

The commands are read from the table of that page; ``ADDRESS`` becomes this checkout, ``WHEEL`` a wheel
that is built from it, and a command with ``or`` is tried in each of its forms. pipx and uv are installed
for it into an environment of their own. Each command gets a home of its own and must leave a
``middlewatch`` there that examines the box (``audit``) and gives its version. The folder of wheels is tried with no
index to be reached.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "install.md"
HEADING = "| with | type |"
OWN_TESTS = ("quickstart", "no network")
"""Rows with a test of their own: scripts/quickstart, and the folder of wheels below."""
TYPED = re.compile(r"`([^`]+)`")
WAY_S = 900.0
"""Seconds for one; nearly all of it is what the network takes."""


class Failed(Exception):
    """A step did not do what the page promises."""


def typed(page: str) -> Iterator[str]:
    """The commands of the table, one for each form."""
    table = page.partition(HEADING)[2]
    for row in table.splitlines()[2:]:
        if not row.startswith("|"):
            return
        with_, told = row.strip("| ").split(" | ", 1)
        if any(word in with_ for word in OWN_TESTS):
            continue
        first, *others = TYPED.findall(told)
        yield first
        for other in others:
            # In "`… install WHEEL` (or `git+ADDRESS`)" the second form is the last word only.
            yield other if " " in other else " ".join([*first.split()[:-1], other])


def run(line: str, env: dict[str, str], cwd: Path = ROOT) -> str:
    """Output of a shell line; raises Failed with its last words."""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=WAY_S,
        check=False,
    )
    if done.returncode:
        raise Failed(f"`{line}` ended with status {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def home(folder: Path, tools: Path) -> dict[str, str]:
    """The environment of a person with a fresh home, in which the page's folders are on PATH."""
    folder.mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MIDDLEWATCH_", "XDG_"))}
    path = [folder / ".local/bin", folder / ".middlewatch/bin", tools / "bin"]
    places = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    # What was fetched for one way need not be fetched for the next.
    caches = {"PIP_CACHE_DIR": str(tools / "pip"), "UV_CACHE_DIR": str(tools / "uv")}
    return {**kept, **places, **caches, "PATH": ":".join([*map(str, path), os.environ["PATH"]])}


def works(env: dict[str, str]) -> str:
    """The version that the installed command gives; it works, and lies in this home."""
    place = run("command -v middlewatch", env).strip()
    if not place.startswith(env["HOME"]):
        raise Failed(f"middlewatch was not installed into this home but is {place}")
    # 1: it has found something to complain about, such as that nobody is called.
    run("middlewatch audit --json || [ $? = 1 ]", env, Path(env["HOME"]))
    return run("middlewatch --version", env, Path(env["HOME"])).strip()


def play(folder: Path) -> Iterator[tuple[str, float, str]]:
    """Way, seconds and version, one after the other; raises Failed."""
    tools = folder / "tools"
    env = home(folder / "making", tools)
    # What a release is made with; none of it is on a bare box.
    run(
        f"python3 -m venv {tools} && pip install -q pipx uv 'setuptools>=77' 'versioningit>=3.1'",
        env,
    )
    run(f"pip wheel -q --no-deps --wheel-dir {folder} .", env)
    (wheel,) = folder.glob("*.whl")
    lines = list(typed(PAGE.read_text(encoding="utf-8")))
    if len(lines) < 2:
        raise Failed(f"{PAGE} has no table `{HEADING}`")
    for number, line in enumerate(lines):
        env = home(folder / f"home{number}", tools)
        begun = time.perf_counter()
        run(line.replace("WHEEL", str(wheel)).replace("ADDRESS", ROOT.as_uri()), env)
        yield line, time.perf_counter() - begun, works(env)
    run(f"scripts/wheelhouse {folder}/wheels", home(folder / "collecting", tools))
    env = home(folder / "alone", tools)
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_CACHE_DIR": str(folder / "empty")}
    env = {k: v for k, v in env.items() if k != "PIP_FIND_LINKS"} | nowhere
    begun = time.perf_counter()
    run(f"sh {folder}/wheels/install.sh", env)
    yield "sh wheels/install.sh", time.perf_counter() - begun, works(env)


def main() -> int:
    """0 when every way works, else 1."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="example: scripts/install_ways.py --json",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a way")
    asked = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory(prefix="ways-", dir="/var/tmp") as name:
        try:
            for line, seconds, version in play(Path(name)):
                count += 1
                row = {"typed": line, "seconds": round(seconds, 1), "version": version}
                told = f"{seconds:6.1f} s  {version}  {line}"
                print(json.dumps(row) if asked.json else told, flush=True)
        except (Failed, subprocess.TimeoutExpired) as problem:
            print(f"FAILED: {problem}", file=sys.stderr)
            return 1
    if not asked.json:
        print(f"installed in {count} ways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
