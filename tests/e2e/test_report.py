"""`middlewatch report` about a real run: in its three forms, and opened in a real browser."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OUTSIDE = '<img src="http://outside.invalid/x.png">'


def test_a_report_of_a_real_run(
    box: Any, program: Callable[[str], list[str]], tmp_path: Path
) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "30", "--sleep", "0.02", name="gpt")
    box.incident("python_exception")
    page = tmp_path / "gpt.html"
    assert str(page) in box.command("report", "gpt", "--out", str(page)).stdout
    text = page.read_text(encoding="utf-8")
    for word in (f"Run {run}", "python_exception", "KeyError", 'class="curve"', "trainer.py"):
        assert word in text
    told = box.command("report", "gpt", "--md", "--out", "-").stdout
    assert told.startswith(f"# Run {run}")
    assert "KeyError" in told
    picture = tmp_path / "gpt.png"
    box.command("report", "gpt", "--out", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    nowhere = box.command("report", "gpt", "--out", str(tmp_path / "no" / "x.html"), check=False)
    assert nowhere.returncode == 2


@pytest.fixture
def browse(tmp_path: Path) -> Iterator[Callable[[Path], set[str]]]:
    """Opens a page in a browser without a window, whose only way out is a proxy of ours: the hosts that
    were asked for. The picture of the page lies beside it."""
    if BROWSER is None:
        pytest.skip("no browser (chromium) is installed")
    browser, asked = BROWSER, list[str]()

    class Proxy(BaseHTTPRequestHandler):
        def refuse(self) -> None:
            asked.append(urlsplit(self.path).hostname or self.path.rpartition(":")[0])
            self.send_error(404)

        do_GET = do_POST = do_CONNECT = refuse  # noqa: N815 - the names that the server calls

        def log_message(self, *_: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()

    def opened(page: Path) -> set[str]:
        asked.clear()
        words = (
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *(f"--user-data-dir={tmp_path}/profile", "--proxy-bypass-list=<-loopback>"),
            *(f"--proxy-server=http://127.0.0.1:{proxy.server_port}", "--window-size=1000,1600"),
        )  # fmt: skip
        picture = f"--screenshot={page.with_suffix('.png')}"
        subprocess.run((browser, *words, picture, page.as_uri()), check=True, capture_output=True)
        return set(asked)

    yield opened
    proxy.shutdown()
    proxy.server_close()


@pytest.mark.system
def test_the_page_asks_nobody(box: Any, tmp_path: Path, browse: Callable[[Path], set[str]]) -> None:
    """What the browser asks for itself is seen with an empty page; a page that asks is noticed."""
    report = "for n in 1 2 3 4 5 6; do echo step $n loss 2.$n; sleep 0.2; done"
    box.run("sh", "-c", f"{report}; echo '{OUTSIDE}'; echo 'RuntimeError: {OUTSIDE}'; exit 1")
    box.push(lambda push: "ended with exit status 1" in push.title)
    page, empty, asking = (tmp_path / f"{name}.html" for name in ("report", "empty", "asking"))
    box.command("report", "--out", str(page))
    empty.write_text("<p>nothing")
    asking.write_text(OUTSIDE)
    own = browse(empty)
    assert "outside.invalid" in browse(asking)
    assert OUTSIDE.partition(" ")[2][5:30] in page.read_text(encoding="utf-8")
    assert browse(page) <= own
    drawn, blank = (p.with_suffix(".png").stat().st_size for p in (page, empty))
    assert drawn > 2 * blank  # bytes: text, tables and a curve
