"""``docs/one-night.md`` from its first command to its last, as typed, against a real sshd.

Between its commands happens what happens in a night: the connection is cut, the run ends and is told, a
byte of the copy is damaged.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..fakes.box import Receiver
from ..fakes.far_box import NAME, FarBox, command_folder, far_box

pytestmark = [pytest.mark.system, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 500.0
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
TRAIN = """
import pathlib, struct, time
out = pathlib.Path("out")
out.mkdir(exist_ok=True)
for n in range(1, 301):
    print(f"step {n}/300 | train_loss {3 - n / 300:.4f} | lr 1.0e-03", flush=True)
    if n % 100 == 0:
        head = b'{"w":{"dtype":"F32","shape":[9999],"data_offsets":[0,39996]}}'
        part = out / "part.tmp"
        part.write_bytes(struct.pack("<Q", len(head)) + head + struct.pack("<f", n) * 9999)
        part.rename(out / f"step-{n:06}.safetensors")
    time.sleep(0.05)
print("training finished", flush=True)
"""


def commands() -> list[str]:
    text = (ROOT / "docs" / "one-night.md").read_text(encoding="utf-8")
    return [line for body in BLOCK.findall(text) for line in body.splitlines() if line]


class Night:
    """The machine at home, on which the page is typed."""

    def __init__(self, far: FarBox, home: Path) -> None:
        self.far = far
        self.home = home
        bin_ = command_folder(home / "bin")
        for name in ("ssh", "scp"):
            script = bin_ / name
            script.write_text(f'#!/bin/sh\nexec {shutil.which(name)} -F {far.config} "$@"\n')
            script.chmod(0o755)
        own = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        self.env = {
            **own,
            "HOME": str(home),
            "PATH": f"{bin_}:{os.environ['PATH']}",
            "TERM": "dumb",
        }
        self.env |= {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", f"{home}/.cache")}
        self.env.pop("RSYNC_RSH", None)
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            self.env.pop(name, None)
        if os.geteuid() == 0:  # root keeps its state elsewhere, and this box may have one
            self.env["MIDDLEWATCH_STATE_DIR"] = str(home / "state")

    def type(self, command: str, ok: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            env=self.env,
            cwd=self.home,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode in ok, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def at_terminal(
        self, command: str, answer: str, until: str
    ) -> tuple[subprocess.Popen[bytes], str]:
        """Type it at a terminal, answer the question, and read until these words."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            ["bash", "-c", command],
            env=self.env,
            cwd=self.home,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        said, asked = "", False
        deadline = time.monotonic() + PATIENCE_S
        with contextlib.suppress(OSError):
            while until not in said and time.monotonic() < deadline:
                said += os.read(master, 4096).decode(errors="replace")
                if "to approve, type" in said and not asked:
                    asked = True
                    os.write(master, f"{answer}\n".encode())
        self._terminal = master
        return process, said

    def rest(self, process: subprocess.Popen[bytes]) -> str:
        said = b""
        with contextlib.suppress(OSError):
            while data := os.read(self._terminal, 4096):
                said += data
        os.close(self._terminal)
        process.wait(PATIENCE_S)
        return said.decode(errors="replace")


@pytest.fixture
def night() -> Iterator[Night]:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed: nothing can be loaded, and the gate stays shut")
    variables = {
        "PATH": f"{Path(sys.base_prefix, 'bin')}:/usr/bin:/bin:/usr/sbin:/sbin",
        "PIP_INDEX_URL": "http://127.0.0.1:9",
        "PIP_CONFIG_FILE": os.devnull,
    }
    # A short name: the path of a socket has 107 bytes. On a disk: a copy in memory does not count.
    with (
        tempfile.TemporaryDirectory(prefix="mw-", dir="/var/tmp") as short,
        far_box(Path(short, "b"), variables) as far,
    ):
        home = Path(short, "h")
        (home / "work").mkdir(parents=True)
        (home / "work" / "train.py").write_text(TRAIN)
        try:
            yield Night(far, home)
        finally:
            with contextlib.suppress(AssertionError):
                far.ssh("~/.middlewatch/bin/middlewatch stop")


def until(receiver: Receiver, words: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not any(words in one.title for one in receiver.pushes):
        told = [one.title for one in receiver.pushes]
        assert time.monotonic() < deadline, f"no push with {words!r}: {told}"
        time.sleep(0.1)


def test_the_page_from_start_to_end(night: Night, receiver: Receiver) -> None:
    page = iter(commands())
    urls = night.home / "urls"
    urls.write_text(f"{receiver.url}\n")
    urls.chmod(0o600)

    deploy = next(page)
    assert deploy == "middlewatch deploy box3 --alert urls"
    try:
        said = night.type(deploy)
    except AssertionError as error:
        if "cannot be fetched" in str(error):
            pytest.skip("no package index: the wheels for the box cannot be fetched")
        raise
    assert "coverage" in said
    until(receiver, "")  # the test push
    assert "up to date" in night.type(deploy), "the second time nothing is to be done"

    for start in (next(page), next(page)):
        night.type(start)
    night.far.close()  # the connection is gone, and the training goes on
    time.sleep(0.5)
    night.far.open()
    follow = next(page)
    assert follow.endswith("--follow")
    said = night.type(f"{follow} --every 0.5")
    assert "home: checkpoints/out/step-000" in said
    until(receiver, "gpt")

    pull = next(page)
    home = next((night.home / "results").glob("gpt-*"))
    one = home / "checkpoints/out/step-000200.safetensors"
    data = bytearray(one.read_bytes())
    data[5000] ^= 1
    about = one.stat()
    one.write_bytes(data)
    os.utime(one, ns=(about.st_atime_ns, about.st_mtime_ns))  # as a bad disk or cable does it
    assert "proved: " in night.type(pull)
    data[5000] ^= 1
    assert one.read_bytes() == data, "the byte was found, and sent again"
    receipt = json.loads((night.home / "results/PULL_VERIFIED.json").read_text())
    entry = receipt["runs"][home.name]
    assert [(c["step"], c["level"]) for c in entry["checkpoints"]] == [
        (100, "load"),
        (200, "load"),
        (300, "load"),
    ]

    said = night.type(next(page))
    assert "FINISHED" in said
    assert "300 of 300" in said
    assert night.type(next(page)).count("ok (finite)") == 3

    teardown = next(page)
    one.rename(night.home / "away")
    assert "not as they were proved" in night.type(teardown, ok=(4,))
    (night.home / "away").rename(one)
    assert "no person has approved" in night.type(teardown, ok=(4,))
    process, said = night.at_terminal(teardown, f"destroy {NAME}", "waiting until")
    assert "ALLOWED until" in said
    night.far.close()  # a person gives the box back
    assert "answers no more since" in night.rest(process)
    assert process.returncode == 0

    night.far.open()
    night.type(next(page))
    assert [path.name for path in night.far.home.iterdir()] == ["work"], "what was yours is kept"
    assert next(page, None) is None, "a command of the page was not run"
