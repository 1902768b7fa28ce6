"""``deploy`` over a real sshd: installed from wheels alone, watched, upgraded, removed without a trace."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..fakes.box import Receiver
from ..fakes.far_box import NAME, FarBox, far_box

pytestmark = [pytest.mark.system, pytest.mark.slow]
PATIENCE_S = 500.0
NOWHERE = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_CONFIG_FILE": os.devnull}


def python_of_box() -> str:
    """The version that deploy takes there: that of the system if it fits."""
    told = "import sys; print('%d.%d' % sys.version_info[:2])"
    with contextlib.suppress(OSError):
        asked = ["/usr/bin/python3", "-c", told]
        version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if version in ("3.10", "3.11", "3.12", "3.13"):
            return version
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``scripts/wheelhouse`` gives, and pip."""
    from middlewatch.daemon.remote.wheels import Target, collect
    from middlewatch.daemon.system.errors import UsageError

    folder = tmp_path_factory.mktemp("wheels")
    try:
        collect(folder, Target(python_of_box(), os.uname().machine, 36))
    except UsageError as error:
        pytest.skip(f"no package index: {error}")
    return folder


@pytest.fixture
def far() -> Iterator[FarBox]:
    """A box with Python and nothing else of ours; its own index answers nowhere."""
    python = Path(sys.base_prefix, "bin")
    variables = {"PATH": f"{python}:/usr/bin:/bin:/usr/sbin:/sbin", **NOWHERE}
    # A short name: the path of a socket has 107 bytes.
    with (
        tempfile.TemporaryDirectory(prefix="mw-") as short,
        far_box(Path(short), variables) as made,
    ):
        try:
            yield made
        finally:
            made.ssh(f"{made.home}/.middlewatch/bin/middlewatch stop")


def home_of(tmp_path: Path) -> Path:
    home = tmp_path / "laptop"
    home.mkdir(exist_ok=True)
    return home


def at_home(
    far: FarBox, home: Path, *words: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
    own |= {**far.env(), "HOME": str(home), "MIDDLEWATCH_STATE_DIR": str(home / "state")}
    return subprocess.run(
        [sys.executable, "-m", "middlewatch.daemon", *words],
        env=own,
        cwd=home,
        input=given,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


class Snoop(threading.Thread):
    """Looks at the command line and the environment of every process for a secret, all the time."""

    def __init__(self, secret: str) -> None:
        super().__init__(daemon=True)
        self.found: set[str] = set()
        self.looks = 0
        self._secret = secret.encode()
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            self.looks += 1
            for folder in os.scandir("/proc"):
                if not folder.name.isdigit() or int(folder.name) == os.getpid():
                    continue
                for name in ("cmdline", "environ"):
                    with contextlib.suppress(OSError):
                        if self._secret in Path(folder.path, name).read_bytes():
                            self.found.add(Path(folder.path, "cmdline").read_bytes().decode())

    def stop(self) -> None:
        self._over.set()
        self.join()


def test_deployed_watching_up_to_date_and_gone(
    far: FarBox, wheels: Path, receiver: Receiver, tmp_path: Path
) -> None:
    home = home_of(tmp_path)
    secret = "s3cr3t-t0pic-of-nobody"
    url = f"{receiver.url}{secret}"
    snoop = Snoop(secret)
    snoop.start()
    config = tmp_path / "box.toml"
    config.write_text('[alerts]\nhost = "box-three"\n')
    words = ["deploy", NAME, "--wheels", str(wheels), "--no-boot", "--json"]
    done = at_home(far, home, *words, "--box-config", str(config), "--alert", "-", given=f"{url}\n")
    snoop.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    place = far.home / ".middlewatch"
    assert (told["place"], told["index"], told["installed"]) == (str(place), False, True)
    assert told["doctor"] in ("ok", "odd")
    assert {one["what"] for one in told["coverage"]} >= {"GPUs", "kernel log", "inotify"}
    assert [one["ok"] for one in told["test"]] == [True]
    assert receiver.pushes, "the test push"
    assert snoop.looks > 10
    assert snoop.found == set(), "a secret was in a command line or an environment"
    assert secret not in done.stdout + done.stderr
    kept = [p for p in far.home.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert [path.relative_to(place).as_posix() for path in kept] == ["state/alert_urls"]
    assert kept[0].stat().st_mode & 0o077 == 0

    status = far.ssh("$HOME/.middlewatch/bin/middlewatch doctor --json")
    pid = json.loads(status.stdout)["pid"]
    again = at_home(far, home, *words)
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert (told["installed"], told["sent"]) == (False, 0)
    status = far.ssh("$HOME/.middlewatch/bin/middlewatch doctor --json")
    assert json.loads(status.stdout)["pid"] == pid, "the daemon was not disturbed"

    record = place / "deployed.json"
    record.write_text(record.read_text().replace('"digest": "', '"digest": "0'))
    upgraded = json.loads(at_home(far, home, *words).stdout)
    assert upgraded["installed"], "as for another version"
    assert (place / "state" / "alert_urls").exists(), "the state is kept"
    assert 'host = "box-three"' in (place / "config.toml").read_text()

    daemon = far.ssh("pgrep -f .middlewatch/venv || :").stdout.split()
    gone = at_home(far, home, "deploy", NAME, "--remove", "--json")
    assert gone.returncode == 0, gone.stderr
    assert list(far.home.iterdir()) == [], "nothing is left"
    deadline = time.monotonic() + PATIENCE_S
    while [p for p in daemon if str(place) in _command(p)]:
        assert time.monotonic() < deadline, "a process of it still runs"
        time.sleep(0.05)
    assert list(Path("/dev/shm").glob(f"middlewatch-*{place.name}*")) == []


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.long
def test_a_run_keeps_it_there(far: FarBox, wheels: Path, tmp_path: Path) -> None:
    home = home_of(tmp_path)
    done = at_home(far, home, "deploy", NAME, "--wheels", str(wheels), "--no-boot")
    assert done.returncode == 0, done.stderr
    ours = "$HOME/.middlewatch/bin/middlewatch"
    ran = far.ssh(f"cd $HOME && {ours} run --name gpt -- sleep 600")
    assert ran.returncode == 0, ran.stderr
    refused = at_home(far, home, "deploy", NAME, "--remove")
    assert refused.returncode == 4
    assert "gpt" in refused.stderr
    assert far.ssh(f"{ours} end gpt --yes --signal KILL").returncode == 0
    assert at_home(far, home, "deploy", NAME, "--remove", "--yes").returncode == 0
    assert not (far.home / ".middlewatch").exists()


def test_a_dead_box_is_told(far: FarBox, tmp_path: Path) -> None:
    far.close()
    done = at_home(far, home_of(tmp_path), "deploy", NAME)
    assert done.returncode == 3
    assert "is not reached" in done.stderr
