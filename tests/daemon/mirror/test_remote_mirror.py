"""Copies over a real sshd by a real rsync, and by a real rclone; skipped where there is none."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.mirror.copy import Copying
from middlewatch.daemon.mirror.reach import make, reach
from middlewatch.daemon.mirror.receipt import RECEIPT, CheckpointGone, MirrorError, job_for
from middlewatch.daemon.mirror.remote import Outcome
from middlewatch.daemon.mirror.targets import MirrorTarget, parse

AT = "2026-11-21T07:00:00.000+00:00"
MIB = 1 << 20
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def copy(path: Path, to: str, place: str | None = None, limit: int = 0) -> Outcome:
    job = job_for(str(path), place or path.name)
    outcome = Copying(job, parse(to), lambda: AT, limit_bytes_per_s=limit).advance(lambda: False)
    assert outcome is not None
    return outcome


def left(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "step 5.pt"  # a blank, because shells trip over it
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(os.urandom(3 * MIB + 77))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "checkpoint-500"
    (path / "a b").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(os.urandom(MIB))
    (path / "trainer_state.json").write_text("{}")
    (path / "a b" / "it's $HOME.bin").write_text("odd")
    return path


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``user@host`` of a throwaway sshd on this machine; $RSYNC_RSH reaches it."""
    for tool in ("rsync", "ssh", "ssh-keygen"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if SSHD is None:
        pytest.skip("sshd is not installed")
    home = tmp_path_factory.mktemp("sshd")
    home.chmod(0o700)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for key in ("host", "id"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / key)]
        subprocess.run(command, check=True)
    shutil.copy(home / "id.pub", home / "authorized_keys")
    lines = [f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {home}/host", "UsePAM no"]
    lines += [f"AuthorizedKeysFile {home}/authorized_keys", "StrictModes no", "PidFile none"]
    lines += [f"SetEnv PATH={os.environ['PATH']}", "PermitRootLogin prohibit-password"]
    if "LD_LIBRARY_PATH" in os.environ:
        lines[-2] += f" LD_LIBRARY_PATH={os.environ['LD_LIBRARY_PATH']}"
    (home / "sshd_config").write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(home / "sshd_config")], stderr=subprocess.PIPE
    ) as server:
        assert server.stderr is not None
        ssh = f"ssh -p {port} -i {home}/id -o IdentitiesOnly=yes"
        ssh += f" -o UserKnownHostsFile={home}/known -o StrictHostKeyChecking=accept-new"
        user = getpass.getuser()
        deadline = time.monotonic() + 120
        tried = subprocess.CompletedProcess([], 1, "", "")
        while tried.returncode and time.monotonic() < deadline and server.poll() is None:
            argv = [*ssh.split(), "-o", "BatchMode=yes", f"{user}@127.0.0.1", "true"]
            tried = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
            time.sleep(0.05)
        if tried.returncode:
            server.kill()
            pytest.skip(f"sshd does not let us in: {tried.stderr.strip()}")
        before = os.environ.get("RSYNC_RSH")
        os.environ["RSYNC_RSH"] = ssh
        yield f"{user}@127.0.0.1"
        if before is None:
            del os.environ["RSYNC_RSH"]
        server.send_signal(signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.system
def test_by_rsync(host: str, source: Path, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "far off"
    for path in (source, folder):
        outcome = copy(path, f"{host}:{root}", f"gpt/{path.name}")
        assert outcome.copied
    again = copy(folder, f"{host}:{root}", "gpt/checkpoint-500")
    assert (again.copied, again.digest) == (False, outcome.digest)
    assert left(root) == [
        f"gpt/checkpoint-500{RECEIPT}",
        "gpt/checkpoint-500/a b/it's $HOME.bin",
        "gpt/checkpoint-500/model.safetensors",
        "gpt/checkpoint-500/trainer_state.json",
        "gpt/step 5.pt",
        f"gpt/step 5.pt{RECEIPT}",
    ]
    assert (root / "gpt/step 5.pt").read_bytes() == source.read_bytes()
    told = json.loads((root / f"gpt/step 5.pt{RECEIPT}").read_text())
    assert told["proof"] == "read back on the host"


@pytest.mark.slow
@pytest.mark.system
def test_rsync_goes_on_where_it_stopped(host: str, source: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    part = root / ".step 5.pt.part"
    part.mkdir(parents=True)
    half = bytearray(source.read_bytes()[: 2 * MIB])
    half[MIB : MIB + 4096] = bytes(4096)  # a block that never reached the disk
    (part / "step 5.pt").write_bytes(half)
    assert copy(source, f"{host}:{root}").copied
    assert (root / "step 5.pt").read_bytes() == source.read_bytes()
    assert left(root) == ["step 5.pt", f"step 5.pt{RECEIPT}"]


@pytest.mark.slow
@pytest.mark.system
def test_a_stopped_rsync_leaves_no_process_and_a_part(
    host: str, source: Path, tmp_path: Path
) -> None:
    root = tmp_path / "far"
    copying = Copying(
        job_for(str(source), "a.pt"),
        parse(f"{host}:{root}"),
        lambda: AT,
        limit_bytes_per_s=200 << 10,
    )
    deadline = time.monotonic() + 120
    while not left(root) and time.monotonic() < deadline:
        assert copying.advance(lambda: True) is None
    copying.close()
    assert left(root)[0].startswith(".a.pt.part/")
    assert copy(source, f"{host}:{root}", "a.pt").copied


@pytest.mark.slow
@pytest.mark.system
def test_rsync_replaces_its_own_and_nothing_else(
    host: str, source: Path, folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "far"
    (root / "taken").mkdir(parents=True)
    with pytest.raises(MirrorError, match="no copy of this"):
        copy(source, f"{host}:{root}", "taken")
    copy(folder, f"{host}:{root}")
    (folder / "trainer_state.json").write_text('{"newer": 1}')
    assert "replaced-1" in copy(folder, f"{host}:{root}").detail
    assert (root / "checkpoint-500.replaced-1/trainer_state.json").read_text() == "{}"


@pytest.mark.slow
@pytest.mark.system
def test_rsync_says_what_is_wrong(host: str, source: Path, tmp_path: Path) -> None:
    (tmp_path / "far").write_text("")
    with pytest.raises(MirrorError, match="ssh: "):
        copy(source, f"{host}:{tmp_path}/far")
    with pytest.raises(
        MirrorError, match=r"ssh: .*(?:refused|resolve|Permission|denied|disconnect|closed)"
    ):
        copy(source, "nobody@127.0.0.1:/x")


# ------------------------------------------------------------------------------------ rclone


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A remote of rclone that is a folder of this machine."""
    if shutil.which("rclone") is None:
        pytest.skip("rclone is not installed")
    monkeypatch.setenv("RCLONE_CONFIG", str(tmp_path / "rclone.conf"))
    (tmp_path / "rclone.conf").write_text("[cloud]\ntype = local\n")
    return f"cloud:{tmp_path}/far"


@pytest.mark.slow
@pytest.mark.system
def test_by_rclone(remote: str, source: Path, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    for path in (source, folder):
        outcome = copy(path, remote, f"gpt/{path.name}", limit=50 * MIB)
        assert outcome.copied
        assert not copy(path, remote, f"gpt/{path.name}").copied
    assert left(root) == [
        f"gpt/checkpoint-500{RECEIPT}",
        "gpt/checkpoint-500/a b/it's $HOME.bin",
        "gpt/checkpoint-500/model.safetensors",
        "gpt/checkpoint-500/trainer_state.json",
        "gpt/step 5.pt",
        f"gpt/step 5.pt{RECEIPT}",
    ]
    assert (root / "gpt/step 5.pt").read_bytes() == source.read_bytes()
    (root / f"gpt/step 5.pt{RECEIPT}").unlink()
    assert copy(source, remote, "gpt/step 5.pt").detail == "its files were there, without a receipt"


@pytest.mark.slow
@pytest.mark.system
def test_rclone_replaces_its_own_and_nothing_else(
    remote: str, source: Path, folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "far"
    (root / "taken").mkdir(parents=True)
    (root / "taken" / "mine").write_text("mine")
    with pytest.raises(MirrorError, match="no copy of this"):
        copy(folder, remote, "taken")
    copy(folder, remote)
    (folder / "trainer_state.json").write_text('{"newer": 1}')
    assert "replaced-1" in copy(folder, remote).detail
    assert (root / "checkpoint-500.replaced-1/trainer_state.json").read_text() == "{}"
    job = job_for(str(folder), "other", digest="xxh3:" + "0" * 32)
    with pytest.raises(CheckpointGone):
        Copying(job, parse(remote), lambda: AT).advance(lambda: False)
    assert not list(root.glob(".*"))


# ------------------------------------------------------------------------------------ places


def test_what_a_destination_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse("/mnt/x/") == MirrorTarget("folder", "", "/mnt/x")
    assert parse("./a:b") == MirrorTarget("folder", "", f"{tmp_path}/a:b")
    assert parse("~/x").path == os.path.expanduser("~/x")
    for text in ("", "a\nb", "-o:y"):
        with pytest.raises(MirrorError):
            parse(text)


def test_rsync_and_rclone_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(MirrorError, match="rsync is not installed"):
        parse("me@box:ckpts")
    for name, text in (("rsync", ""), ("rclone", "echo gdrive:")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    assert parse("me@box:~/ckpts/") == MirrorTarget("ssh", "me@box", "ckpts")
    assert parse("box:/data") == MirrorTarget("ssh", "box", "/data")
    assert parse("gdrive:ckpts") == MirrorTarget("rclone", "gdrive", "ckpts")
    with pytest.raises(MirrorError, match="names no folder"):
        parse("me@box:")


@pytest.mark.slow
@pytest.mark.system
def test_a_host_is_asked_before_it_is_configured(host: str, tmp_path: Path) -> None:
    far = tmp_path / "it's far $HOME"
    place = parse(f"{host}:{far}")
    assert reach(place) == "missing"
    make(place)
    assert far.is_dir()
    assert reach(place) == "there"
    (tmp_path / "file").touch()
    assert reach(parse(f"{host}:{tmp_path}/file")) == "missing"
    with pytest.raises(MirrorError, match="mkdir"):
        make(parse(f"{host}:{tmp_path}/file"))
    with pytest.raises(MirrorError):
        reach(parse(f"nobody-{host}:{far}"))


@pytest.mark.system
def test_a_remote_is_asked_before_it_is_configured(remote: str, tmp_path: Path) -> None:
    assert reach(parse(f"{remote}/not yet")) == "there", "a copy makes its folders"
    with pytest.raises(MirrorError, match="rclone"):
        reach(MirrorTarget("rclone", "no-such-remote", "x"))
