"""Paths of a container, seen from outside: right while it runs, and after it is gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.outside import outside

CONTAINER = """
set -e
cd "$1"
mkdir -p lower/app lower/ckpt upper work merged volume/deep
for folder in bin lib lib64 usr; do [ -e /$folder ] && mkdir -p lower/$folder; done
mount -t overlay overlay -o lowerdir=lower,upperdir=$1/upper,workdir=work merged
for folder in bin lib lib64 usr; do [ -e /$folder ] && mount --bind /$folder merged/$folder; done
mount --bind volume merged/ckpt
mount -t tmpfs none merged/usr/local
mkdir merged/app/out merged/usr/local/own
ln -s /ckpt/deep merged/app/link
echo weights > merged/app/out/model.pt
echo weights > volume/deep/last.pt
echo ready
exec chroot merged /bin/sleep 600
"""


@pytest.fixture
def container(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root and unshare, to make mounts of its own")
    child = subprocess.Popen(
        ["unshare", "-m", "bash", "-c", CONTAINER, "-", str(tmp_path)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    if child.stdout.readline() != b"ready\n":
        child.wait()
        child.stdout.close()
        pytest.skip("an overlay cannot be mounted here")
    deadline = time.monotonic() + 180
    while (seen := procfs.stat(child.pid)) and seen.name != "sleep":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


@pytest.mark.system
def test_paths_of_a_container(container: subprocess.Popen[bytes], tmp_path: Path) -> None:
    seen = {
        path: outside(container.pid, path)
        for path in ("/app/out/model.pt", "/app/out/later.pt", "/ckpt/deep/last.pt", "/app/link")
    }
    container.kill()
    container.wait()
    assert seen == {
        "/app/out/model.pt": f"{tmp_path}/upper/app/out/model.pt",
        "/app/out/later.pt": f"{tmp_path}/upper/app/out/later.pt",
        "/ckpt/deep/last.pt": f"{tmp_path}/volume/deep/last.pt",
        "/app/link": f"{tmp_path}/volume/deep",
    }
    assert Path(seen["/app/out/model.pt"]).read_text() == "weights\n"


@pytest.mark.system
def test_what_only_the_container_has(container: subprocess.Popen[bytes]) -> None:
    own = f"/proc/{container.pid}/root/usr/local/own"
    assert outside(container.pid, "/usr/local/own") == own
    assert outside(container.pid, "/usr/bin") == "/usr/bin"


def test_a_process_with_our_mounts(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert outside(child.pid, str(link)) == str(link)
        assert outside(child.pid, "relative") == "relative"


def test_a_process_that_is_gone() -> None:
    assert outside(1 << 22, "/data/x") in ("/data/x", f"/proc/{1 << 22}/root/data/x")
