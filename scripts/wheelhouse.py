"""Collect the wheels for a box without a network; see ``scripts/wheelhouse``.

The pins of ``requirements.lock`` that hold for the given Python and platform are downloaded without
their dependencies, so that nothing is chosen here, and pip compares every file with its hash.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from daemon.remote.wheels import lines_for, platforms  # noqa: E402
from scripts.sources import copy_sources  # noqa: E402

PLATFORM = re.compile(r"(?:manylinux_2_(?P<minor>\d+)|(?P<old>manylinux2014))_(?P<machine>\w+)")
NEWEST = 28
"""glibc 2.28: of Debian 10, Ubuntu 20.04, RHEL 8. The oldest that all pinned wheels are made for."""
INSTALL = """\
#!/bin/sh
# Install middlewatch from this folder, without a network: ./install.sh [DIR], by default ~/.middlewatch.
# PYTHON names another Python than python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$HOME/.middlewatch}
"${PYTHON:-python3}" -m venv "$into"
"$into/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$here" middlewatch
"$into/bin/middlewatch" --version
echo "export PATH=$into/bin:\\$PATH"
"""


def main() -> int:
    """0 when the folder is whole, 1 when something was missing, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="scripts/wheelhouse",
        description="Collect the wheels that a box without a network needs.",
        epilog="example: scripts/wheelhouse /tmp/wheels --python 3.10 --platform manylinux2014_x86_64",
    )
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument("dir", nargs="?", type=Path, default=ROOT / "build" / "wheelhouse")
    parser.add_argument("--python", default=here, help=f"version of its Python (default {here})")
    parser.add_argument(
        "--platform",
        default=f"manylinux_2_{NEWEST}_{platform.machine()}",
        help="manylinux_2_N_MACHINE: glibc 2.N or newer (default %(default)s)",
    )
    parser.add_argument(
        "--wheel", type=Path, help="the wheel of a release, instead of this checkout"
    )
    asked = parser.parse_args()
    known = PLATFORM.fullmatch(asked.platform)
    if known is None or not re.fullmatch(r"3\.\d+", asked.python):
        parser.error("--python is like 3.12, --platform like manylinux_2_28_x86_64")
    if asked.wheel and not asked.wheel.is_file():
        parser.error(f"there is no {asked.wheel}")
    asked.dir.mkdir(parents=True, exist_ok=True)
    machine = known["machine"]
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder, "pins.txt")
        pins.write_text("\n".join(lines_for(asked.python, machine)) + "\n", encoding="utf-8")
        words = ["download", "--no-deps", "--require-hashes", "--only-binary=:all:"]
        words += ["--dest", str(asked.dir), "--requirement", str(pins)]
        words += ["--implementation=cp", f"--python-version={asked.python}"]
        abi = f"cp{asked.python.replace('.', '')}"
        words += [f"--abi={one}" for one in (abi, "abi3", "none")]
        words += [f"--platform={one}" for one in platforms(int(known["minor"] or 17), machine)]
        if not pip(*words):
            newest = f"manylinux_2_{NEWEST}_{machine}"
            told = f"no index was reached, or a pinned release has no wheel for {asked.platform}"
            print(f"{told} (each has one for {newest})", file=sys.stderr)
            return 1
        if asked.wheel:
            shutil.copy(asked.wheel, asked.dir)
        elif not build(Path(folder, "source"), asked.dir):
            return 1
    install = asked.dir / "install.sh"
    install.write_text(INSTALL, encoding="utf-8")
    install.chmod(0o755)
    wheels = sorted(asked.dir.glob("*.whl"))
    megabytes = sum(one.stat().st_size for one in wheels) / 1e6
    print(
        f"{len(wheels)} wheels, {megabytes:.0f} MB, for Python {asked.python} and {asked.platform}"
    )
    print(f"copy {asked.dir} to the box, then there: sh {asked.dir.name}/install.sh")
    return 0


def build(source: Path, into: Path) -> bool:
    """The wheel of this checkout, from a copy: setuptools leaves folders where it builds."""
    for old in into.glob("middlewatch-*.whl"):
        old.unlink()
    clone = ["git", "clone", "--quiet", str(ROOT), str(source)]
    if not (ROOT / ".git").exists() or shutil.which("git") is None or subprocess.call(clone):
        copy_sources(source)
    return pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(into), str(source))


def pip(*words: str) -> bool:
    """Run pip; False when it failed, and has said why."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    return subprocess.call(command, env={**os.environ, "PIP_NO_INPUT": "1"}) == 0


if __name__ == "__main__":
    sys.exit(main())
