"""What a box without a package index needs: this program as a wheel, and the wheels that it wants.

The wheel is made of the files that run here, so what is on the box is what is here. The others are those
of ``requirements.lock``, compared with their hashes, for the Python and the processor of the box.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from ..system.errors import UsageError

LOCK = Path(__file__).with_name("requirements.lock")
OLD = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""glibc 2.N -> the older name of the same platform."""
_WHEEL = "Wheel-Version: 1.0\nGenerator: middlewatch\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the wheel: the same files make the same wheel."""
_WORDS = 400


class Target(NamedTuple):
    """For which box."""

    python: str
    """``3.11``."""
    machine: str
    """``x86_64`` or ``aarch64``."""
    glibc: int
    """The N of glibc 2.N."""


def collect(folder: Path, target: Target) -> list[Path]:
    """Have all wheels for the box in a folder; what is there already is not fetched again.

    Raises UsageError when one is missing and no index gives it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pins = folder / "pins.txt"
    told = "\n".join(lines_for(target.python, target.machine)) + "\n"
    whole = folder / "complete"
    if not (whole.is_file() and whole.read_text("utf-8") == told):
        pins.write_text(told, "utf-8")
        abi = f"cp{target.python.replace('.', '')}"
        words = ["--no-deps", "--only-binary=:all:", "--dest", str(folder)]
        words += ["--implementation=cp", f"--python-version={target.python}"]
        words += [f"--abi={one}" for one in (abi, "abi3", "none")]
        words += [f"--platform={one}" for one in platforms(target.glibc, target.machine)]
        _pip("download", *words, "--require-hashes", "--requirement", str(pins))
        _pip("download", *words, "pip")  # a box may have a Python without it
        whole.write_text(told, "utf-8")
    for old in folder.glob("middlewatch-*.whl"):
        old.unlink()
    own_wheel(folder)
    return sorted(folder.glob("*.whl"))


def lines_for(python: str, machine: str) -> Iterator[str]:
    """The pins of the lock file that hold there, with their hashes and without markers."""
    requirement = _requirement()
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
    text = LOCK.read_text(encoding="utf-8")
    for entry in text.replace("\\\n", " ").splitlines():
        if not entry.strip() or entry.lstrip().startswith("#"):
            continue
        told, *hashes = re.split(r"\s+(?=--)", entry.strip())
        one = requirement(told)
        if one.marker is None or one.marker.evaluate(environment):
            yield " ".join((f"{one.name}{one.specifier}", *hashes))


def _requirement() -> Any:
    """The class that reads a requirement: pip has one inside, and pip is needed here anyway."""
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        raise UsageError(
            "wheels are fetched with pip, and this Python has none",
            f"{sys.executable} -m ensurepip",
        ) from None
    return Requirement


def platforms(minor: int, machine: str) -> Iterator[str]:
    """The names of all platforms whose wheels work with glibc 2.``minor``."""
    for one in range(minor, 4, -1):
        yield f"manylinux_2_{one}_{machine}"
        if one in OLD:
            yield f"{OLD[one]}_{machine}"
    yield f"linux_{machine}"
    yield "any"


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(
        command,
        env={**os.environ, "PIP_NO_INPUT": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise UsageError(
            f"the wheels for the box cannot be fetched: {' '.join(lines[-2:])[-_WORDS:]}",
            "where there is a package index: scripts/wheelhouse DIR; then here: --wheels DIR",
        )


# ------------------------------------------------------------------------ our own


def own_wheel(into: Path) -> Path:
    """Make a wheel of the program that runs this; returns its path."""
    import middlewatch

    about = metadata.distribution("middlewatch")
    version = about.version
    info = f"middlewatch-{version.replace('-', '_')}.dist-info"
    made = into / f"middlewatch-{version.replace('-', '_')}-py3-none-any.whl"
    texts = {
        f"{info}/METADATA": _text(about, "METADATA", "PKG-INFO"),
        f"{info}/entry_points.txt": _text(about, "entry_points.txt"),
        f"{info}/WHEEL": _WHEEL,
    }
    record = []
    partial = made.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        packed = [
            *_files(Path(middlewatch.__path__[0])),
            *((n, t.encode()) for n, t in texts.items()),
        ]
        for name, data in packed:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        record.append(f"{info}/RECORD,,")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", _EPOCH), "\n".join(record) + "\n")
    partial.replace(made)
    return made


def _text(about: metadata.Distribution, *names: str) -> str:
    """The first of these files that the installation has: an editable one has other names."""
    for name in names:
        if (text := about.read_text(name)) is not None:
            return text
    raise UsageError(
        f"this installation of middlewatch has no {names[0]}", "install it again with pip"
    )


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    """(name in the wheel, bytes) of every file of the package, in order."""
    for here, folders, found in os.walk(root, followlinks=True):
        folders[:] = sorted(one for one in folders if one != "__pycache__")
        below = Path("middlewatch", Path(here).relative_to(root))
        for name in sorted(found):
            if not name.endswith((".pyc", ".pyo", ".so")):
                yield (below / name).as_posix(), Path(here, name).read_bytes()
