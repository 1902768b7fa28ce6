"""The double of the NVIDIA library: built once, told by a scenario file what to answer."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "nvml"
FLAGS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-fvisibility=hidden")


def build(folder: Path) -> Path:
    """Compile into ``folder`` unless another test process did; skips without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) for the double of libnvidia-ml.so.1")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libnvidia-ml.so.1"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            fresh = folder / "fresh.so"
            source = str(HERE / "libnvidia-ml.c")
            name = f"-Wl,-soname,{library.name}"
            subprocess.run([compiler, *FLAGS, name, "-o", str(fresh), source], check=True)
            fresh.rename(library)
    return library


class NvmlDouble:
    """A box with the GPUs of a scenario, for programs started with ``env``."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.library = library
        self.path = folder / "nvml.scenario"
        self.env = {
            "LD_LIBRARY_PATH": str(library.parent),
            "FAKE_NVML_SCENARIO": str(self.path),
        }
        """To be added to the environment of the program."""

    @property
    def whole_env(self) -> dict[str, str]:
        """This environment with ``env`` added."""
        return {**os.environ, **self.env}

    def scenario(self, text: str) -> None:
        """From now on the driver answers this, in programs that run already as well."""
        fresh = self.path.with_suffix(".fresh")
        fresh.write_text(text)
        fresh.rename(self.path)

    def stored(self, name: str) -> str:
        """The text of ``nvml/NAME.scenario``: ``two_h100`` or ``mig``."""
        return (HERE / f"{name}.scenario").read_text()

    def unload(self) -> None:
        """From now on the driver is not loaded."""
        self.path.unlink(missing_ok=True)
