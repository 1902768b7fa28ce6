"""What Kaggle answers to its client, on loopback: kernels that are pushed, their status and output.

The client is sent to ``http://localhost`` by $KAGGLE_API_ENVIRONMENT, and through this server by $http_proxy: so
every test has a port of its own. The shapes of requests and answers are those of the client's own types.
"""

from __future__ import annotations

import json
import urllib.parse
from http.server import BaseHTTPRequestHandler
from typing import Any

from .loopback import Loopback, QuietHandler

SERVICE = "/api/v1/kernels.KernelsApiService/"
CHANGED = "Fri, 27 Nov 2026 03:04:05 GMT"


class KaggleApi(Loopback):
    """The server. ``saved``: requests that pushed a kernel; ``status`` and ``failure`` of every session;
    ``files``: name -> content of its output; ``error``: said to the next push."""

    def __init__(self) -> None:
        self.saved: list[dict[str, Any]] = []
        self.status, self.failure, self.error = "QUEUED", "", ""
        self.invalid_datasets: list[str] = []
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.fetched: list[str] = []
        api = self

        class Handler(_Handler):
            server_api = api

        super().__init__(Handler)

    def environment(self) -> dict[str, str]:
        """Variables that send the client here."""
        return {
            "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
            "KAGGLE_USERNAME": "me",
            "KAGGLE_KEY": "not-a-real-key",
            "http_proxy": self.url,
            "no_proxy": "",
            "NO_PROXY": "",
        }

    def answer(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call."""
        self.asked.append((name, asked))
        if name == "SaveKernel":
            if self.error:
                return {"error": self.error}
            self.saved.append(asked)
            url = f"https://www.kaggle.com/code/{asked['slug']}"
            made = {"ref": asked["slug"], "url": url, "versionNumber": len(self.saved)}
            return {**made, "invalidDatasetSources": self.invalid_datasets}
        if name == "GetKernelSessionStatus":
            failure = {"failureMessage": self.failure} if self.failure else {}
            return {"status": self.status, **failure}
        if name == "ListKernelSessionOutput":
            files = [
                {"url": f"http://localhost/files/{urllib.parse.quote(n)}", "fileName": n}
                for n in self.files
            ]
            return {
                "files": files,
                "log": '[{"stream_name":"stdout","time":1.0,"data":"hello\\n"}]',
            }
        raise KeyError(name)


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    server_api: KaggleApi

    def do_POST(self) -> None:
        """A call of the API."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urllib.parse.urlsplit(self.path).path
        try:
            found = self.server_api.answer(path.removeprefix(SERVICE), json.loads(body))
        except KeyError:
            self.reply(404, "application/json", b'{"code": 404, "message": "Not Found"}')
            return
        self.reply(200, "application/json", json.dumps(found).encode())

    def do_GET(self) -> None:
        """A file of the output."""
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path.removeprefix("/files/"))
        self.server_api.fetched.append(name)
        self.reply(
            200, "application/octet-stream", self.server_api.files[name], Last_Modified=CHANGED
        )
