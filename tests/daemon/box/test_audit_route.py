"""The way out, with a real server, a real proxy, and real partial files."""

from __future__ import annotations

import http.server
import os
import socket
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from middlewatch.daemon.box import audit_route
from middlewatch.daemon.system.held import keepalive

NOW = time.time()


class Server:
    """An HTTP server on loopback that also answers as a proxy, and keeps what it was asked."""

    def __init__(self, status: int = 200, off_s: float = 0.0) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                self.send_response_only(status)
                self.send_header("Date", formatdate(time.time() + off_s, usegmt=True))
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, *args: object) -> None:
                return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_a_mirror_is_measured_directly(server: Server) -> None:
    (route,) = audit_route.measure([server.url], {})
    line = route.line()
    assert (route.ok, route.through, route.read, line.state) == (True, "", 5, "ok")
    assert "directly: status 200" in line.detail


def test_a_route_goes_through_the_proxy_that_the_transfer_will_use(server: Server) -> None:
    env = {"http_proxy": f"http://bob:hunter22@127.0.0.1:{server.port}"}
    url = "http://weights.example.invalid/model"
    (route,) = audit_route.measure([url], env)
    assert (route.ok, route.through) == (True, f"127.0.0.1:{server.port}")
    assert server.asked == [url]  # the proxy was asked for the whole address
    assert "hunter22" not in route.line().detail
    (direct,) = audit_route.measure([url], {**env, "no_proxy": ".example.invalid"})
    assert not direct.ok
    assert direct.through == ""
    assert direct.line().state == "bad"


def test_an_error_of_the_server_is_an_answer_and_of_the_proxy_is_none() -> None:
    for status, ok in ((404, True), (403, True), (407, False), (502, False)):
        server = Server(status)
        try:
            (route,) = audit_route.measure([server.url], {})
            assert route.ok == ok, status
        finally:
            server.close()


def test_a_port_that_nobody_answers() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{one.getsockname()[1]}"
        (route,) = audit_route.measure([url], {})
    assert not route.ok
    assert "refused" in route.answer


def test_nothing_is_asked_that_nobody_named(server: Server) -> None:
    assert audit_route.measure([], {}) == []
    lines = [*audit_route.checks({"HOME": "/nowhere"}, (), NOW)]
    assert [line.what for line in lines if line.what.startswith("route")] == []
    env = {"HOME": "/nowhere", "HF_ENDPOINT": server.url, "HF_HUB_DISABLE_XET": "1"}
    named = [line.what for line in audit_route.checks(env, (), NOW)]
    assert "route 127.0.0.1" in named
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("no_proxy", "host", "used"),
    [
        ("", "a.org", True),
        ("a.org", "a.org", False),
        (".a.org", "b.a.org", False),
        ("a.org", "ba.org", True),
        ("*", "a.org", False),
        ("a.org:443", "a.org", False),
        ("localhost, 127.0.0.1", "127.0.0.1", False),
    ],
)
def test_which_addresses_go_through_the_proxy(no_proxy: str, host: str, used: bool) -> None:
    env = {"HTTPS_PROXY": "p:3128", "NO_PROXY": no_proxy}
    assert bool(audit_route.proxy_for(f"https://{host}/x", env)) == used


def states(env: dict[str, str]) -> dict[str, str]:
    lines = [*audit_route.proxies(env), *audit_route.hub(env)]
    return {line.what: line.state for line in lines}


def test_what_does_not_go_together() -> None:
    assert states({}) == {}
    assert states({"http_proxy": "http://p:1"}) == {"no_proxy": "warn"}
    fine = {"https_proxy": "http://p:1", "no_proxy": "localhost,127.0.0.1"}
    assert states(fine) == {"proxy": "ok"}
    stars = {**fine, "no_proxy": "localhost,127.0.0.1,*.corp.org"}
    assert states(stars) == {"no_proxy wildcards": "warn"}
    assert states({**fine, "HTTPS_PROXY": "http://q:1"})["https_proxy"] == "warn"
    assert states({"HF_ENDPOINT": "mirror.example.org"})["HF_ENDPOINT"] in ("bad", "warn")
    assert states({"HF_ENDPOINT": "https://mirror.example.org"}) == {"HF_ENDPOINT": "warn"}
    assert states({"HF_ENDPOINT": "https://huggingface.co"}) == {}
    xet = {"HF_ENDPOINT": "https://mirror.example.org", "HF_HUB_DISABLE_XET": "1"}
    assert states(xet) == {}
    assert states({"HF_HUB_OFFLINE": "1"}) == {"HF_HUB_OFFLINE": "warn"}


def test_a_password_of_a_proxy_is_never_shown() -> None:
    env = {"https_proxy": "http://bob:hunter22@p.org:3128", "no_proxy": "localhost,127.0.0.1"}
    (line,) = audit_route.proxies(env)
    assert line.detail == "https_proxy p.org:3128"
    assert audit_route.place("nonsense:port") in ("?", "nonsense")


def test_a_clock_that_is_wrong() -> None:
    server = Server(off_s=600.0)
    try:
        (route,) = audit_route.measure([server.url], {})
    finally:
        server.close()
    assert route.ahead_s is not None
    line = audit_route.clock([route.ahead_s])
    assert (line.state, "behind the other side" in line.detail) == ("bad", True)
    assert audit_route.clock([2.0]).state == "ok"
    assert audit_route.clock([]).state in ("ok", "warn", "unknown")


def test_a_download_that_stands_still_and_one_that_was_left(tmp_path: Path) -> None:
    blobs = tmp_path / "hub/models--x/blobs"
    blobs.mkdir(parents=True)
    env = {"HOME": str(tmp_path), "HF_HOME": str(tmp_path)}
    held, left, grows = (blobs / f"{name}.incomplete" for name in ("held", "left", "grows"))
    for path in (held, left, grows):
        path.write_bytes(b"x" * 1000)
    old = time.time() - 300
    os.utime(held, (old, old))
    os.utime(left, (old, old))
    with held.open("ab"):
        lines = {line.what: line for line in audit_route.downloads(env, time.time())}
        stalled = lines["download held.incomplete"]
        assert (stalled.state, f"process {os.getpid()}" in stalled.detail) == ("bad", True)
        assert "1 partial files" in lines["downloads left"].detail
        assert len(lines) == 2
    assert [line.what for line in audit_route.downloads(env, time.time())] == ["downloads left"]
    left.unlink()
    held.unlink()
    assert [*audit_route.downloads(env, time.time())] == []


def test_whether_a_connection_is_kept_alive() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        for on in (True, False):
            with socket.create_connection(listener.getsockname()) as client:
                served, _ = listener.accept()
                served.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, int(on))
                assert keepalive(client.getsockname()[1]) is on
                served.close()
    assert keepalive(1) is None


def test_a_login_through_a_proxy_is_told() -> None:
    (line,) = audit_route.ssh({"SSH_CONNECTION": "10.0.0.7 1 10.0.0.8 22"})
    assert (line.state, "proxy or jump" in line.detail) == ("warn", True)
    (far,) = audit_route.ssh({"SSH_CONNECTION": "203.0.113.9 1 10.0.0.8 22"})
    assert far.state == "ok"
    assert [*audit_route.ssh({})] == []
    assert [*audit_route.ssh({"SSH_CONNECTION": "nonsense"})] == []
