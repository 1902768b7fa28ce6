"""``teardown`` over a real sshd: it refuses, then allows; it connects to nothing else and deletes nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ...fakes.far_box import NAME
from .conftest import PATIENCE_S, Far, contents, weights

pytestmark = [pytest.mark.system, pytest.mark.slow]


def ask(far: Far, *words: str) -> tuple[int, dict[str, Any]]:
    done = far.at_home("teardown", NAME, "--json", *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def kinds(told: dict[str, Any]) -> list[str]:
    return [one["kind"] for one in told["blockers"]]


def at_a_terminal(far: Far, typed: str, *words: str) -> tuple[int, str]:
    """The command as a person runs it, who types a line."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "middlewatch.daemon", "teardown", NAME, *words],
        env=far.env(TERM="dumb"),
        cwd=far.home,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    said, asked = b"", False
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        said += data
        if b"to approve, type" in said and not asked:
            asked = True
            os.write(master, typed.encode() + b"\n")
    os.close(master)
    return process.wait(), said.decode(errors="replace").replace("\r", "")


def torch_there() -> bool:
    from importlib.util import find_spec

    return find_spec("torch") is not None


def test_refused_then_allowed_then_gone(far: Far) -> None:
    if not torch_there():
        pytest.skip("torch is not installed: nothing can be loaded")
    spec = far.finished()
    status, told = ask(far)
    assert (status, kinds(told)) == (4, ["not_pulled", "not_approved"])
    assert far.pull()["status"] == 0
    status, told = ask(far)
    assert (status, kinds(told)) == (4, ["not_approved"]), "without a terminal nobody approves"
    status, said = at_a_terminal(far, "destroy box4", "--no-wait")
    assert status == 4
    assert "nothing was approved" in said
    status, said = at_a_terminal(far, f"destroy {NAME}", "--no-wait")
    assert status == 0, said
    assert "ALLOWED until" in said
    assert ask(far)[0] == 0
    assert kinds(ask(far, "--verb", "stop")[1]) == ["approval_of_other"]
    out = Path(spec.checkpoint_dirs[0])
    (out / "step-000400.safetensors").write_bytes(weights(0.25))
    far.index(spec)
    assert kinds(ask(far)[1]) == ["newer_checkpoint"], "the approval does not cover what came later"
    assert far.pull()["status"] == 0
    path = next((far.dest / spec.id).rglob("step-000100*"))
    path.write_bytes(path.read_bytes()[:-1])
    assert kinds(ask(far)[1]) == ["changed_at_home"]
    assert far.pull()["status"] == 0
    process = far.start("teardown", NAME)
    assert process.stdout is not None
    told_lines = iter(process.stdout.readline, "")
    assert any("waiting until" in line for line in told_lines)
    far.box.close()
    rest = process.communicate(timeout=PATIENCE_S)[0]
    assert "answers no more since" in rest
    assert process.returncode == 0


def test_a_copy_in_memory_does_not_count(far: Far, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"cannot mount a tmpfs: {made.stderr.decode().strip()}")
    try:
        far.finished()
        assert far.at_home("pull", NAME, str(folder)).returncode == 0
        assert "volatile_copy" in kinds(ask(far)[1])
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_box_that_does_not_answer_proves_nothing(far: Far) -> None:
    far.finished()
    far.box.close()
    assert far.at_home("teardown", NAME).returncode == 3


def test_it_deletes_nothing_and_speaks_to_nobody_but_ssh(far: Far, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    spec = far.finished()
    assert far.pull()["status"] in (0, 1)
    before = contents(far.work), contents(far.state), contents(far.dest)
    trace = tmp_path / "trace"
    calls = "unlink,unlinkat,rmdir,rename,renameat,renameat2,truncate,connect,sendto,execve"
    argv = [strace, "-ff", "-qq", "-e", f"trace={calls}", "-o", str(trace), sys.executable]
    argv += ["-m", "middlewatch.daemon", "teardown", NAME, "--json"]
    done = subprocess.run(
        argv, env=far.env(), cwd=far.home, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 4, done.stderr
    programs = []
    for one in sorted(tmp_path.glob("trace.*")):
        text = one.read_text(errors="replace")
        ran = re.findall(r'execve\("([^"]+)"[^\n]*\) = 0', text)
        programs += ran
        assert not re.search(
            r"^(unlink|unlinkat|rmdir|truncate)\([^\n]*\) = 0$", text, re.MULTILINE
        ), text
        if not any(path.endswith("/ssh") for path in ran):
            assert not re.search(r"^(connect|sendto)\([^\n]*AF_INET", text, re.MULTILINE), text
    assert {Path(path).name for path in programs} <= {Path(sys.executable).name, "python3", "ssh"}
    after = contents(far.work), contents(far.state), contents(far.dest)
    assert after == before, f"{spec.id} was changed"
