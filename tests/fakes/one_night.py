"""The commands of ``docs/one-night.md``, typed one after the other; and what happens between them in a night."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from .box import Receiver
from .far_box import NAME, Reached, command_folder, damaging_rsync

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 500.0
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
TRAIN = """
# Slow after the first checkpoint, until there is a file `go`: what is to happen meanwhile has its time.
import pathlib, struct, time
out = pathlib.Path("out")
out.mkdir(exist_ok=True)
for n in range(1, 301):
    print(f"step {n}/300 | train_loss {3 - n / 300:.4f} | lr 1.0e-03", flush=True)
    began = time.monotonic()
    while n > 100 and not pathlib.Path("go").exists() and time.monotonic() < began + 2:
        time.sleep(0.05)
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

    def __init__(self, far: Reached, home: Path) -> None:
        self.far = far
        self.home = home
        (home / "work").mkdir(parents=True)
        (home / "work" / "train.py").write_text(TRAIN)
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

    def begin(self, command: str, said: Path) -> subprocess.Popen[bytes]:
        """Type it at another terminal; what it says goes to a file."""
        with said.open("wb") as out:
            return subprocess.Popen(
                ["bash", "-c", command],
                env=self.env,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

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


def need_torch() -> None:
    """Skips without torch at home."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed: nothing can be loaded, and the gate stays shut")


def wait(what: Callable[[], object], why: str) -> None:
    """Until it is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, f"it never came: {why}"
        time.sleep(0.1)


def deploy(night: Night, command: str) -> tuple[str, float]:
    """What ``deploy`` says, and its seconds; skips where no index gives the wheels."""
    begun = time.perf_counter()
    try:
        said = night.type(command)
    except AssertionError as error:
        if "cannot be fetched" in str(error):
            pytest.skip("no package index: the wheels for the box cannot be fetched")
        raise
    return said, time.perf_counter() - begun


def play(night: Night, receiver: Receiver) -> float:
    """The page from its first command to its last; the seconds of ``deploy``.

    ``receiver``: stands where the box reaches it.
    """
    page = iter(commands())
    before = {path.name for path in night.far.home.iterdir()}
    urls = night.home / "urls"
    urls.write_text(f"{receiver.url}\n")
    urls.chmod(0o600)

    def told(words: str) -> bool:
        return any(words in one.title for one in receiver.pushes)

    command = next(page)
    assert command == "middlewatch deploy box3 --alert urls"
    said, took_s = deploy(night, command)
    assert "coverage" in said
    wait(lambda: receiver.pushes, "the test push")
    assert "up to date" in night.type(command), "the second time nothing is to be done"

    for start in (next(page), next(page)):
        night.type(start)
    pull = _evening(night, next(page), told)
    assert pull == next(page)
    home = next((night.home / "results").glob("gpt-*"))
    one = home / "checkpoints/out/step-000200.safetensors"
    _damaged_on_the_way(night, pull, one)
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
    _teardown(night, next(page), one)

    night.far.open()
    night.type(next(page))
    after = {path.name for path in night.far.home.iterdir()}
    assert after == {*before, "work"}, "what was yours is kept"
    assert next(page, None) is None, "a command of the page was not run"
    return took_s


def _evening(night: Night, follow: str, told: Callable[[str], bool]) -> str:
    """The connection is cut while the run trains, and its end is told without one; ``pull`` as typed."""
    pull, option = follow.rsplit(" ", 1)
    assert option == "--follow"
    said, held = night.home / "said", night.home / "held"
    following = night.begin(f"{follow} --every 0.5", said)
    session = night.begin(f"ssh {NAME} 'echo in; exec sleep 3600'", held)
    wait(lambda: "in" in held.read_text(), "a session on the box")
    first = "home: checkpoints/out/step-000100"
    wait(lambda: first in said.read_text() or following.poll() is not None, "a checkpoint at home")
    assert first in said.read_text(), said.read_text()
    assert not told("[FINISHED]"), "the run was over before the connection was cut"
    night.far.close()  # the connection is gone, and the training goes on
    assert session.wait(PATIENCE_S) == 255
    (night.far.home / "work" / "go").touch()
    wait(
        lambda: told("[FINISHED] gpt on "), "the push about the end, while nothing reaches the box"
    )
    assert following.poll() is None, said.read_text()
    night.far.open()
    assert following.wait(PATIENCE_S) == 0, said.read_text()
    assert "home: checkpoints/out/step-000" in said.read_text()
    assert "proved: " in said.read_text()
    return pull


def _damaged_on_the_way(night: Night, pull: str, one: Path) -> None:
    """``pull`` where a byte is damaged on the disk each time, once; and where one is on the wire."""
    receipt = night.home / "results/PULL_VERIFIED.json"
    data, flipped = one.read_bytes(), night.home / "flipped"
    for always in (True, False):
        flipped.unlink(missing_ok=True)
        rsync = damaging_rsync(night.home / "bin", str(one), flipped, always=always)
        said = night.type(pull, ok=(int(always),))
        rsync.unlink()
        assert flipped.exists(), "nothing was damaged"
        if always:
            assert "not those that were verified" in said
            assert one.read_bytes() != data
            assert not receipt.exists(), "a receipt over a damaged copy"
            assert "was never brought home whole" in night.type(
                f"middlewatch teardown {NAME}", ok=(4,)
            )
            night.type(pull)
        assert one.read_bytes() == data, "the byte was found, and sent again"
        assert receipt.exists()
    if night.far.damage_wire():
        shutil.rmtree(night.home / "results")
        assert "proved: " in night.type(pull)
        assert night.far.damaged, "nothing was damaged"
        assert one.read_bytes() == data


def _teardown(night: Night, teardown: str, one: Path) -> None:
    """It refuses over a file that is gone at home and without an approval; then it allows."""
    one.rename(night.home / "away")
    assert "not as they were proved" in night.type(teardown, ok=(4,))
    (night.home / "away").rename(one)
    assert "no person has approved" in night.type(teardown, ok=(4,))
    process, said = night.at_terminal(teardown, f"destroy {NAME}", "waiting until")
    assert "ALLOWED until" in said
    night.far.give_back()
    assert "answers no more since" in night.rest(process)
    assert process.returncode == 0
