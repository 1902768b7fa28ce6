"""Root verifies with torch, and a second user of the box has laid out interpreters for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.load import interpreters
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.system import users
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.errors import UsageError

from ...fakes import second_user
from ...fakes.second_user import GID, UID

SYSTEM = "/usr/bin/python3"
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user"),
    pytest.mark.skipif(not os.path.exists(SYSTEM), reason="needs a python for everybody"),
]
SPY = "import os; open({proof!r}, 'a').write(f'{{os.getuid()}} {{os.getgid()}} {{os.getsid(0)}}\\n')\n"


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        yield folder


def environment(home: Path, proof: Path) -> Path:
    """A virtual environment with a torch, whose ``.pth`` file notes who runs it."""
    ask = "import sys; print('python%d.%d' % sys.version_info[:2])"
    told = subprocess.run([SYSTEM, "-c", ask], capture_output=True, text=True, check=True)
    site = home / "lib" / told.stdout.strip() / "site-packages"
    site.mkdir(parents=True)
    (site / "torch.py").write_text("")
    (site / "evil.pth").write_text(SPY.format(proof=str(proof)))
    (home / "pyvenv.cfg").write_text(f"home = {Path(SYSTEM).parent}\n")
    return home


def ran(proof: Path) -> list[list[int]]:
    """[uid, gid, session] of everybody who ran the code of the second user."""
    lines = proof.read_text().splitlines() if proof.exists() else []
    return [[int(word) for word in line.split()] for line in lines]


def look(runs: list[RunSpec], given: str | None = None) -> tuple[interpreters.Python | None, str]:
    """(what root would load with, what the person is told that was not used)."""
    notes: list[str] = []
    try:
        return interpreters.find(given, runs, notes=notes), " ".join(notes)
    except UsageError as error:
        return None, f"{error} {error.hint}"


def behind_a_link(lair: Path) -> str:
    """An interpreter whose own link is root's, in an environment that is not."""

    def build() -> None:
        environment(lair / "env", lair / "proof")
        (lair / "env" / "bin").symlink_to(Path(SYSTEM).parent)

    second_user.done(build)
    path = f"{lair}/env/bin/python3"
    assert os.lstat(path).st_uid == 0, "or this is no attack"
    return path


def test_an_environment_behind_a_link_to_roots_folder_never_runs_as_root(lair: Path) -> None:
    path = behind_a_link(lair)
    look([RunSpec("gpt", command=(path, "train.py"), cwd="/", uid=UID, gid=GID)])
    look([RunSpec("gpt", command=(path, "train.py"), cwd="/")])
    look([], path)
    assert all(one[:2] == [UID, GID] for one in ran(lair / "proof")), ran(lair / "proof")


def test_a_command_of_an_unknown_user_is_refused_and_told(lair: Path) -> None:
    path = behind_a_link(lair)
    _, told = look([RunSpec("gpt", command=(path, "train.py"), cwd="/")])
    assert ran(lair / "proof") == []
    assert path in told
    assert "belongs to user 1234" in told


def test_an_interpreter_of_a_third_user_is_not_run_for_a_run(lair: Path) -> None:
    path = behind_a_link(lair)
    _, told = look([RunSpec("gpt", command=(path, "train.py"), cwd="/", uid=4321, gid=4321)])
    assert ran(lair / "proof") == []
    assert "belongs to user 1234" in told


def test_the_own_interpreter_of_a_user_runs_as_that_user_without_our_terminal(lair: Path) -> None:
    path = behind_a_link(lair)
    python, _ = look([RunSpec("gpt", command=(path, "train.py"), cwd="/", uid=UID, gid=GID)])
    assert python is not None
    assert (python.path, python.uid) == (path, UID)
    assert {tuple(one[:2]) for one in ran(lair / "proof")} == {(UID, GID)}
    assert ran(lair / "proof")[0][2] != os.getsid(0), "it could type into our shell"
    assert python.environ["HOME"] != os.environ.get("HOME")


def test_a_process_that_hides_its_user_does_not_run_as_root(lair: Path) -> None:
    """An untraceable process shows its files in /proc as root's; its PYTHONPATH is its own."""
    ready = lair / "ready"

    def build() -> None:
        environment(lair / "env", lair / "proof")
        site = next((lair / "env").rglob("site-packages"))
        (site / "sitecustomize.py").write_text(SPY.format(proof=str(lair / "proof")))

    def train() -> None:
        site = next((lair / "env").rglob("site-packages"))
        code = (
            "import ctypes, time, pathlib; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0);"
            f"pathlib.Path({str(ready)!r}).touch(); time.sleep(600)"
        )
        os.chdir("/")
        os.execve(SYSTEM, [SYSTEM, "-S", "-c", code], {"PYTHONPATH": str(site), "PATH": "/usr/bin"})

    second_user.done(build)
    with second_user.process(train) as pid:
        deadline = time.monotonic() + 180
        while not ready.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        look([RunSpec("gpt", pid=pid, command=(), cwd="/")])
    assert ran(lair / "proof"), "its python was not even asked"
    assert all(one[:2] == [UID, GID] for one in ran(lair / "proof")), ran(lair / "proof")


def test_root_uses_nothing_that_others_may_change(tmp_path: Path) -> None:
    """The interpreter is root's, and one folder that it imports from is not."""
    home = environment(tmp_path / "env", tmp_path / "proof")
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(SYSTEM)
    path = str(home / "bin" / "python")
    run = RunSpec("gpt", command=(path, "train.py"), cwd="/", uid=0, gid=0)
    python, _ = look([run])
    assert python is not None
    assert (python.path, ran(tmp_path / "proof")[0][:2]) == (path, [0, 0])
    site = next(home.rglob("site-packages"))
    for way in (site, site / "evil.pth", home / "pyvenv.cfg"):
        (tmp_path / "proof").unlink(missing_ok=True)
        os.chown(way, UID, GID)
        _, told = look([run])
        assert ran(tmp_path / "proof") == []
        assert f"{way} belongs to user 1234" in told
        os.chown(way, 0, 0)
    (site / "more.pth").write_text(f"{tmp_path}/theirs\n")
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", UID, GID)
    assert "theirs belongs to user 1234" in look([run])[1]


@pytest.fixture
def volume(lair: Path) -> Path:
    """A folder of root that everybody may write to, as rented boxes have it, with an environment."""
    os.chown(lair, 0, 0)
    lair.chmod(0o777)
    (lair / "proofs").mkdir(mode=0o777)
    (lair / "proofs").chmod(0o777)
    home = environment(lair / "env", lair / "proofs" / "proof")
    (home / "bin").symlink_to(Path(SYSTEM).parent)
    return lair


def test_in_an_open_volume_an_interpreter_runs_as_a_user_who_owns_nothing(volume: Path) -> None:
    path = f"{volume}/env/bin/python3"
    run = RunSpec("gpt", command=(path, "train.py"), cwd="/", uid=0, gid=0)
    for given in (None, path):
        python, _ = look([run], given)
        assert python is not None
        assert python.path == path
        assert python.uid in users.UNUSED
        assert f"others may write to the folder {volume}" in python.origin
        assert python.environ["HOME"] == "/"
        who = (python.uid, python.gid)
        assert {tuple(one[:2]) for one in ran(volume / "proofs" / "proof")} == {who}


def test_a_private_checkpoint_is_not_shown_to_what_others_may_have_changed(volume: Path) -> None:
    path = f"{volume}/env/bin/python3"
    private = volume / "model.pt"
    private.touch(0o600)
    notes: list[str] = []
    run = RunSpec("gpt", command=(path, "train.py"), cwd="/", uid=0, gid=0)
    with contextlib.suppress(UsageError):
        assert interpreters.find(None, [run], (), notes, [str(private)]).path != path
    assert f"a user who owns nothing may not read {private}" in " ".join(notes)
    assert ran(volume / "proofs" / "proof") == []


def test_an_id_in_use_is_not_taken_for_one_who_owns_nothing() -> None:
    free = users.unused_user().uid
    pid = os.fork()
    if pid == 0:
        os.setresuid(free, free, free)
        time.sleep(600)
        os._exit(0)
    try:
        deadline = time.monotonic() + 180
        while os.stat(f"/proc/{pid}").st_uid != free:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert users.unused_user().uid != free
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_root_gives_an_interpreter_no_folder_of_others(
    lair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after ``sudo -E``: the variables are those of the second user."""
    second_user.done(lambda: environment(lair / "env", lair / "proof"))
    site = next((lair / "env").rglob("site-packages"))
    monkeypatch.setenv("PYTHONPATH", f"{site}:/usr/lib")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(lair))
    monkeypatch.setenv("HOME", str(lair))
    monkeypatch.setenv("PYTHONUSERBASE", str(lair))
    python = interpreters.given(SYSTEM)
    assert python.environ.get("PYTHONPATH") == "/usr/lib"
    assert str(lair) not in python.environ.values()


def test_an_endless_answer_is_not_kept(lair: Path) -> None:
    def build() -> None:
        environment(lair / "env", lair / "proof")
        (lair / "env" / "bin").mkdir()
        talk = lair / "env" / "bin" / "python"
        talk.write_text("#!/bin/sh\nexec cat /dev/zero\n")
        talk.chmod(0o755)

    second_user.done(build)
    before = resident()
    python, _ = look([RunSpec("gpt", command=(f"{lair}/env/bin/python", "t.py"), uid=UID, gid=GID)])
    assert python is None or not python.path.startswith(str(lair))
    assert resident() - before < 64 << 20


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_the_loader_of_a_user_has_nothing_of_ours(lair: Path) -> None:
    """No descriptor, no group, no capability, no variable."""
    from middlewatch.daemon.checkpoints.load.loader import Loader, NoLoader

    secret = os.open("/etc/shadow", os.O_RDONLY)
    os.set_inheritable(secret, True)
    out = lair / "seen"
    spy = (
        "import os, pathlib\n"
        f"pathlib.Path({str(out)!r}).write_text(repr((os.getresuid(), os.getresgid(),"
        " os.getgroups(), sorted(map(int, os.listdir('/proc/self/fd'))),"
        " open('/proc/self/status').read().split('CapEff:')[1].split()[0], dict(os.environ))))\n"
    )

    def build() -> None:
        environment(lair / "env", lair / "proof")
        (lair / "env" / "bin").symlink_to(Path(SYSTEM).parent)
        next((lair / "env").rglob("torch.py")).write_text(spy)

    second_user.done(build)
    path = f"{lair}/env/bin/python3"
    os.environ["MIDDLEWATCH_ALERT_URLS"] = "ntfy://secret"
    try:
        run = RunSpec("gpt", command=(path, "t.py"), cwd="/", uid=UID, gid=GID)
        python, _ = look([run])
        assert python is not None
        (lair / "model.pt").write_bytes(b"PK\x03\x04" + bytes(200))
        with Loader(python, 1 << 28, SystemClock()) as loader, pytest.raises(NoLoader):
            loader._start()  # the torch of the second user is none
        text = out.read_text()
    finally:
        os.close(secret)
        del os.environ["MIDDLEWATCH_ALERT_URLS"]
    assert text.startswith(f"(({UID}, {UID}, {UID}), ({GID}, {GID}, {GID}), [], [0, 1, 2")
    assert str(secret) not in text.split("]")[1].split(", ")[3:], text
    assert "'0000000000000000'" in text
    assert "ntfy" not in text
