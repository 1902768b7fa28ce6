"""The wheel: what is in it, and that it works away from its source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from scripts.sources import copy_sources

ROOT = Path(__file__).resolve().parent.parent
KINDS = (".in", ".py", ".service", ".tcss", ".toml", ".txt", ".typed")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, because setuptools leaves folders behind where it builds."""
    source, out = tmp_path_factory.mktemp("source") / "tree", tmp_path_factory.mktemp("wheel")
    copy_sources(source)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source))
    (built,) = out.iterdir()
    return built


def pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_only_our_own_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert len(info) == 1
    data = {name for name in names if name.split("/")[0].endswith(".data")}
    assert {name.partition("/")[2] for name in data} == {"data/share/man/man1/middlewatch.1"}
    assert tops - info - {name.split("/")[0] for name in data} == {"middlewatch"}


def test_the_wheel_holds_every_file_of_the_rooms(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {n for n in archive.namelist() if n.startswith("middlewatch/")}
    rooms = {
        f"middlewatch/{path.relative_to(ROOT).as_posix()}"
        for room in ("daemon", "sentinels", "systemd", "tui")
        for path in (ROOT / room).rglob("*")
        if path.suffix in KINDS
    }
    assert packed == rooms | {
        f"middlewatch/{n}"
        for n in ("__init__.py", "_version.py", "notebook.py", "py.typed", "saving.py")
    }


def test_the_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """What `pip install middlewatch-X.tar.gz` builds, where there is no git and no checkout."""
    source, out = tmp_path / "source", tmp_path / "out"
    copy_sources(source)
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", code, str(out)]
    out.mkdir()
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = out.iterdir()
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(archive))
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(built) as other:
        assert set(one.namelist()) == set(other.namelist())


def test_it_installs_and_runs_away_from_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    # Dependencies come from the environment the tests run in: nothing is downloaded.
    pip("install", "--no-deps", "--no-index", "--target", str(site), str(wheel))
    env = os.environ | {"PYTHONPATH": str(site)}

    def told(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    code = "import middlewatch.daemon.service.app as app, middlewatch as m; print(m.__version__, app.__file__)"
    version, path = told(sys.executable, "-c", code).split(maxsplit=1)
    assert Path(path).is_relative_to(site)
    for command in ("middlewatch", "mw"):
        assert version in told(str(site / "bin" / command), "--version")
    assert "nan_loss" in told(str(site / "bin" / "middlewatch"), "explain")
