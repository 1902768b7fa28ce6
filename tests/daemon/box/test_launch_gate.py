"""What `run` looks at before it starts a command."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.box import audit
from middlewatch.daemon.box.audit_launch import Asked
from middlewatch.daemon.box.launch_gate import look
from middlewatch.daemon.cli import main
from middlewatch.sentinels.kit import GpuSample


def bad(asked: Asked, here: Path, *folders: Path, **environ: str) -> list[str]:
    lines = look(asked, here, [str(one) for one in folders], environ)
    return [line.what for line in lines if line.state == "bad"]


def gpu(index: int) -> GpuSample:
    return GpuSample(at=0.0, index=index, uuid=f"GPU-{index}", name="A100")


@pytest.mark.parametrize(("there", "refused"), [(0, []), (2, ["GPUs asked"]), (4, [])])
def test_gpus(
    there: int, refused: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None can be seen: that proves nothing."""
    monkeypatch.setattr(audit, "look_at_gpus", lambda _: ([gpu(n) for n in range(there)], ""))
    asked = Asked(("torchrun", "--standalone", "--nproc_per_node=4", "train.py"))
    assert bad(asked, tmp_path) == refused
    assert bad(Asked(("python", "train.py")), tmp_path) == []


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        one.listen()
        yield one.getsockname()[1]


def test_the_port_of_a_launcher(taken: int, tmp_path: Path) -> None:
    what = [f"rendezvous port {taken}"]
    port = f"--master-port={taken}"
    assert bad(Asked(("torchrun", port, "train.py")), tmp_path) == what
    assert bad(Asked(("python", "-m", "torch.distributed.run", port, "train.py")), tmp_path) == what
    assert bad(Asked(("python", "train.py", port)), tmp_path) == []
    assert bad(Asked(("torchrun", "--nnodes=2", port, "train.py")), tmp_path) == []
    together = ("torchrun", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{taken}", "train.py")
    assert bad(Asked(together), tmp_path) == []


def test_saves_that_do_not_fit(tmp_path: Path) -> None:
    assert bad(Asked(("python", "a.py"), 1 << 50, 3), tmp_path) == ["checkpoint budget"]
    assert bad(Asked(("python", "a.py"), 1 << 10, 3), tmp_path, tmp_path / "to" / "come") == []


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it mounts a tmpfs")
def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    options = "size=4m,nr_inodes=20"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(small)], check=True)
    out, asked = small / "out", Asked(("python", "train.py"))
    try:
        assert bad(asked, tmp_path, out) == []
        (small / "fill").write_bytes(bytes(7 << 19))
        assert bad(asked, tmp_path, out) == [f"disk of {out}"]
        (small / "fill").unlink()
        for number in range(19):
            (small / f"{number}").touch()
        assert bad(asked, tmp_path, out) == [f"disk of {out}"]
        (small / "0").unlink()
        assert bad(asked, tmp_path, out) == []
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        assert bad(asked, tmp_path, out) == [f"disk of {out}"]
        assert bad(asked, small) == []
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_run_refuses_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "state"
    command = ["--save-size", "999TiB", "--saves", "2", "--", "touch", "started"]
    assert main(["--state-dir", str(state), "run", *command]) == 4
    told = capsys.readouterr().err
    assert "2 saves of 999" in told
    assert "--force" in told
    assert not (tmp_path / "started").exists()
    assert not state.exists()
