"""``tui --web``: the screens in a browser, for whoever knows the key."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from middlewatch.daemon.cli import main

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve brings it")
pytest.importorskip("textual_serve")

PATIENCE_S = 120


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """What a running `tui --web` has printed. Nothing answers it: the screens say so."""
    words = ("tui", "--web", "--port", str(free_port()), "--state-dir", str(tmp_path / "state"))
    with subprocess.Popen(
        [sys.executable, "-m", "middlewatch.daemon", *words], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()
        assert server.wait(PATIENCE_S) == 0


def test_only_who_has_the_key_sees_anything(address: str) -> None:
    here = urlsplit(address).netloc

    async def ask() -> dict[str, tuple[int, str]]:
        told: dict[str, tuple[int, str]] = {}
        jar = aiohttp.CookieJar(unsafe=True)  # of an address, not of a name
        async with aiohttp.ClientSession(cookie_jar=jar) as person:
            asked = {
                "no key": (f"http://{here}/", {}),
                "wrong key": (f"http://{here}/?key=wrong", {}),
                "the socket": (f"http://{here}/ws", {}),
                "another name": (address, {"Host": "evil.example"}),
                "another site": (address, {"Origin": "http://evil.example"}),
                "the person": (address, {}),
                "again": (f"http://{here}/", {}),
                "another site, with the cookie": (
                    f"http://{here}/ws",
                    {"Origin": "http://evil.example"},
                ),
            }
            for name, (url, headers) in asked.items():
                async with person.get(url, headers=headers) as answer:
                    told[name] = answer.status, await answer.text()
                    if answer.status == 200:
                        assert "googleapis" not in answer.headers["Content-Security-Policy"]
        return told

    told = asyncio.run(ask())
    seen = {name for name, (status, _) in told.items() if status == 200}
    assert seen == {"the person", "again"}
    assert {status for status, _ in told.values()} == {200, 403}
    assert "textual.js" in told["the person"][1]
    assert "--web` printed" in told["no key"][1]


def test_the_screens_are_drawn_in_the_page(address: str) -> None:
    here = urlsplit(address).netloc

    async def drawn() -> str:
        seen = b""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as person:
            async with person.get(address):
                pass
            async with person.ws_connect(f"http://{here}/ws?width=100&height=30") as page:
                while b"no answer yet" not in seen:
                    seen += (await page.receive(timeout=PATIENCE_S)).data
        return seen.decode(errors="replace")

    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", asyncio.run(drawn()))
    assert "middlewatch" in text


def test_without_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["tui", "--web"]) == 2
    assert "pip install 'middlewatch[web]'" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "-1", "70000"])
def test_a_port_that_there_is_not(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tui", "--web", "--port", port]) == 2
    assert f"there is no port {port}" in capsys.readouterr().err


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ("tui", "--web", "--port", str(port), "--state-dir", str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-m", "middlewatch.daemon", *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    assert done.returncode == 2
    assert f"port {port} cannot be opened" in done.stderr
