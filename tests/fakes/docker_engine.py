"""Docker engines for tests: one of paper on a Unix socket, which may misbehave, and the real one."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ID = "0123456789abcdef" * 4
Answer = Callable[[socket.socket, str], None]


def inspected(**more: Any) -> dict[str, Any]:
    """What an engine tells about a container (shortened from docker 20.10)."""
    state = {
        "Status": "running",
        "Running": True,
        "Paused": False,
        "OOMKilled": False,
        "Pid": 4711,
        "ExitCode": 0,
        "Error": "",
        "StartedAt": "2026-11-25T18:39:04.325168313Z",
        "FinishedAt": "0001-01-01T00:00:00Z",
        **more.pop("state", {}),
    }
    host = {
        "Memory": 0,
        "AutoRemove": False,
        "LogConfig": {"Type": "json-file", "Config": {}},
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        **more.pop("host", {}),
    }
    return {
        "Id": ID,
        "Name": "/gpt",
        "State": state,
        "HostConfig": host,
        "RestartCount": 0,
        "LogPath": f"/var/lib/docker/containers/{ID}/{ID}-json.log",
        "Config": {"Image": "pytorch:2.4", "Tty": False, "Env": ["HF_TOKEN=hf_geheim"]},
        "Mounts": [{"Type": "bind", "Source": "/data/ckpt", "Destination": "/ckpt"}],
        **more,
    }


def event(ns: int, action: str, **about: str) -> dict[str, Any]:
    actor = {"ID": ID, "Attributes": {"name": "gpt", "image": "pytorch:2.4", **about}}
    return {"Type": "container", "Action": action, "Actor": actor, "timeNano": ns}


def frame(stamp: str, text: str, kind: int = 1) -> bytes:
    """A piece of a log as an engine sends it."""
    data = f"{stamp} {text}".encode()
    return struct.pack(">BxxxI", kind, len(data)) + data


class PaperEngine:
    """Listens at ``path`` and answers what stands in its fields; ``act`` answers instead of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.container: dict[str, Any] | None = inspected()
        self.events: list[dict[str, Any]] = []
        self.log = b""
        self.ends_log = True
        self.requests: list[str] = []
        """The first line of each request."""
        self.act: Answer | None = None
        self._held: list[socket.socket] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(16)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for one in self._held:
            one.close()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._socket.accept()
            except OSError:
                return
            self._held.append(one)  # a connection that nobody answers stays open
            with contextlib.suppress(OSError):
                self._answer(one)

    def _answer(self, one: socket.socket) -> None:
        asked = one.recv(65536).decode()
        self.requests.append(asked.partition("\r\n")[0])
        target = asked.split(" ")[1]
        if self.act is not None:
            self.act(one, target)
        elif target.startswith("/events"):
            reply(one, "\n".join(map(json.dumps, self.events)).encode())
        elif "/logs" in target:
            one.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + self.log)
            if self.ends_log:
                one.shutdown(socket.SHUT_RDWR)
        elif self.container is None:
            reply(one, b'{"message":"No such container: x"}', "404 Not Found")
        else:
            reply(one, json.dumps(self.container).encode())

    def asked(self, number: int = -1) -> dict[str, list[str]]:
        """The options of a request."""
        return parse_qs(urlsplit(self.requests[number].split(" ")[1]).query)


def reply(one: socket.socket, body: bytes, status: str = "200 OK") -> None:
    head = f"HTTP/1.0 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
    one.sendall(head.encode() + body)
    one.shutdown(socket.SHUT_RDWR)


# ------------------------------------------------------------------------------ the real one

PYTHON = os.path.realpath(sys.executable)
"""Our Python without its virtual environment, as a container sees it."""
START_S = 60.0
_LINKS = ("bin", "lib", "lib32", "lib64")  # no sbin: an engine puts its init there


class NoEngine(Exception):
    """``str()`` says why no engine runs here."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("docker", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self._path)


class DockerEngine:
    """A dockerd with a socket, containers and images of its own, and without a network.

    Its only image is empty: the programs of this machine are mounted into the containers.
    """

    IMAGE = "middlewatch-test"

    def __init__(self, folder: Path) -> None:
        if shutil.which("dockerd") is None:
            raise NoEngine("needs dockerd (Debian package docker.io): scripts/test --system")
        self.folder = folder
        self.socket = folder / "docker.sock"
        self._log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()
        self._load()
        try:
            self.run("first", [PYTHON, "-c", ""])
        except AssertionError as error:
            self.close()
            raise NoEngine(f"no container starts here: {error}") from error

    def start(self) -> None:
        words = [
            "dockerd",
            "--data-root",
            f"{self.folder}/data",
            "--exec-root",
            f"{self.folder}/exec",
        ]
        words += ["--pidfile", f"{self.folder}/pid", "-H", f"unix://{self.socket}"]
        words += ["--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*words, "--ip-masq=false"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.ask("GET", "/_ping")[0] == 200:
                    return
            time.sleep(0.05)
        said = self._log.read_text(errors="replace").strip().splitlines()
        self.stop()
        raise NoEngine(f"dockerd does not run here: {said[-1] if said else 'it said nothing'}")

    def stop(self) -> None:
        """End the engine, and its containers with it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        try:
            if self.process is not None:
                self.process.send_signal(signal.SIGCONT)
                for one in json.loads(self.ask("GET", "/containers/json?all=1")[1]):
                    self.ask("DELETE", f"/containers/{one['Id']}?force=1")
        finally:
            self.stop()
            for place in self.folder.glob("exec/netns/*"):  # of the network of the machine
                subprocess.run(["umount", str(place)], capture_output=True, check=False)

    def ask(
        self, method: str, target: str, body: Any = None, *, raw: bool = False
    ) -> tuple[int, bytes]:
        connection = _Connection(str(self.socket))
        try:
            kind = "application/x-tar" if raw else "application/json"
            data = body if raw else None if body is None else json.dumps(body)
            connection.request(method, target, data, {"Content-Type": kind})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def post(self, target: str, body: Any = None) -> bytes:
        status, data = self.ask("POST", target, body)
        assert status < 300, (target, status, data)
        return data

    def _load(self) -> None:
        """Import an image that has nothing but the links of this machine's root."""
        image = io.BytesIO()
        with tarfile.open(fileobj=image, mode="w") as tar:
            for name in _LINKS:
                if Path("/", name).is_symlink():
                    link = tarfile.TarInfo(name)
                    link.type, link.linkname = tarfile.SYMTYPE, os.readlink(f"/{name}")
                    tar.addfile(link)
            for name in ("tmp", "code"):
                folder = tarfile.TarInfo(name)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o777
                tar.addfile(folder)
        target = f"/images/create?fromSrc=-&repo={self.IMAGE}&tag=latest"
        status, data = self.ask("POST", target, image.getvalue(), raw=True)
        assert status == 200, data

    def run(
        self,
        name: str,
        command: Sequence[str],
        mounts: Mapping[str, Path] | None = None,
        **host: Any,
    ) -> int:
        """Start a container; the pid of its first process on this machine."""
        tty = bool(host.pop("Tty", False))
        binds = programs_shown()
        binds += [f"{path}:{inside}" for inside, path in (mounts or {}).items()]
        body = {
            "Image": f"{self.IMAGE}:latest",
            "Cmd": list(command),
            "Tty": tty,
            "WorkingDir": "/code",
            "StopTimeout": 1,
            "HostConfig": {"Binds": binds, "NetworkMode": "none", **host},
        }
        self.post(f"/containers/create?name={name}", body)
        self.post(f"/containers/{name}/start")
        return int(self.inspect(name)["State"]["Pid"])

    def inspect(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("GET", f"/containers/{name}/json")[1])
        return found


def programs_shown() -> list[str]:
    """The folders with the programs of this machine, as binds of a container: ``/usr:/usr:ro``."""
    real = [p for p in _LINKS if Path("/", p).is_dir() and not Path("/", p).is_symlink()]
    shown = [Path("/", p) for p in ("usr", *real)]
    base = Path(sys.base_prefix)
    if not base.is_relative_to("/usr"):
        shown.append(base)
    return [f"{path}:{path}:ro" for path in shown]


@contextlib.contextmanager
def docker_engine(folder: Path) -> Iterator[DockerEngine]:
    engine = DockerEngine(folder)
    try:
        yield engine
    finally:
        engine.close()
