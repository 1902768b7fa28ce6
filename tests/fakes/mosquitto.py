"""A real MQTT broker on loopback, Debian's mosquitto, and a phone that reads its messages with mosquitto_sub."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
BROKER = shutil.which("mosquitto", path=_PATH)
PATIENCE_S = 120.0
USER, PASSWORD = "bob", "p:w 1"


def missing() -> str:
    """Why there can be no broker here; empty where there can."""
    for tool in ("mosquitto", "mosquitto_passwd", "mosquitto_sub"):
        if shutil.which(tool, path=_PATH) is None:
            return f"{tool} is not installed"
    try:
        import paho.mqtt.client  # noqa: F401
    except ImportError:
        return "paho-mqtt is not installed, by which Apprise speaks MQTT"
    return ""


@dataclass(frozen=True)
class Message:
    """One message as a subscriber got it; ``retained`` if it lay there when the subscription began."""

    topic: str
    qos: int
    retained: bool
    text: str


class Mosquitto:
    """Used by `with`. Lets nobody in without name and password, and keeps everything in memory only."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        passwords = folder / "passwords"
        tool = shutil.which("mosquitto_passwd", path=_PATH)
        subprocess.run([str(tool), "-b", "-c", passwords, USER, PASSWORD], check=True)
        passwords.chmod(0o600)
        self._folder = folder
        self.port = 0
        self._child: subprocess.Popen[bytes] | None = None

    def url(self, topic: str, login: str = f"{USER}:{quote(PASSWORD)}", query: str = "") -> str:
        """The alert URL of a topic."""
        return f"mqtt://{login}@127.0.0.1:{self.port}/{topic}{query}"

    def _config(self, port: int) -> Path:
        path = self._folder / "mosquitto.conf"
        # As root it would become another user, who may not read the folder of a test.
        path.write_text(f"""\
listener {port} 127.0.0.1
allow_anonymous false
password_file {self._folder / "passwords"}
persistence false
queue_qos0_messages true
max_queued_messages 0
log_dest file {self._folder / "log"}
{"user root" if os.geteuid() == 0 else ""}
""")
        return path

    def __enter__(self) -> Mosquitto:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if self._child is None or self._child.poll() is not None:
                # It takes no port 0; another program may take the one that was free a moment ago.
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    self.port = free.getsockname()[1]
                config = self._config(self.port)
                self._child = subprocess.Popen(
                    [str(BROKER), "-c", config], stderr=subprocess.DEVNULL
                )
            if self._sub("-t", "x", "-E").returncode == 0:
                return self
            time.sleep(0.05)
        self.__exit__()
        raise AssertionError(f"the broker does not answer: {self.log()}")

    def __exit__(self, *args: object) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child.wait(PATIENCE_S)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It answers nothing; that the connection is made is the kernel's doing."""
        assert self._child is not None
        self._child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._child.send_signal(signal.SIGCONT)

    def log(self) -> str:
        """What the broker wrote."""
        path = self._folder / "log"
        return path.read_text() if path.exists() else ""

    def _sub(self, *words: str) -> subprocess.CompletedProcess[str]:
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-u", USER, "-P", PASSWORD]
        command = [str(shutil.which("mosquitto_sub")), *where, *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    def subscribe(self, phone: str, topic: str) -> None:
        """The broker keeps for this phone what is said about a topic from now on."""
        done = self._sub("-c", "-i", phone, "-q", "2", "-t", topic, "-E")
        assert done.returncode == 0, done.stderr

    def read(self, phone: str, topic: str, count: int) -> list[Message]:
        """The next messages for a phone, waited for; fewer if no more come. Without a subscription before:
        those that the broker retains."""
        who = ["-c", "-i", phone] if phone else []
        form = "%q %r %t\x1f%x"
        done = self._sub(*who, "-q", "2", "-t", topic, "-C", str(count), "-W", "60", "-F", form)
        found = re.findall(r"^(\d) (\d) ([^\x1f]*)\x1f([0-9a-f]*)$", done.stdout, re.MULTILINE)
        return [Message(t, int(q), r == "1", bytes.fromhex(x).decode()) for q, r, t, x in found]
