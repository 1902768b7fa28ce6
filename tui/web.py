"""The screens in a browser, by textual-serve: ``middlewatch tui --web``.

The port is open on loopback alone, and still everybody on the box reaches it, and so does every page that is open
in the same browser. So who comes must know the key in the address that is printed; it becomes a cookie of this
port, and a page of another site may not bring it along.
"""

from __future__ import annotations

import hmac
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from middlewatch.daemon.system.errors import UsageError

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Middleware

HOST = "127.0.0.1"

Handler = Callable[["web.Request"], Awaitable["web.StreamResponse"]]


def serve(words: Sequence[str], port: int) -> int:
    """Open the screens of ``middlewatch WORDS`` to a browser on this box until Ctrl+C.

    Every page that is opened has a process of its own. Returns the exit status. Raises UsageError where
    textual-serve is not installed or the port is taken.
    """
    try:
        from textual_serve.server import Server
    except ImportError:
        raise UsageError(
            "--web needs textual-serve, which is not installed",
            f"{sys.executable} -m pip install 'middlewatch[web]'",
        ) from None
    from aiohttp import web

    if not 0 < port < 1 << 16:
        raise UsageError(f"there is no port {port}", "one from 1024 to 65535: --port N")
    key = secrets.token_urlsafe(16)

    class Guarded(Server):
        """Textual's server, for one person."""

        async def _make_app(self) -> web.Application:
            app: web.Application = await super()._make_app()
            app.middlewares.append(guard(key, port))
            return app

        async def on_startup(self, app: web.Application) -> None:
            """The address was told already, with its key."""

        def serve_at(self, listening: socket.socket) -> None:
            """Until a signal ends it. Nothing is logged: an access log would have the key in it."""
            web.run_app(self._make_app(), sock=listening, print=None, access_log=None)

    command = shlex.join([sys.executable, "-m", "middlewatch.daemon", *words])
    server = Guarded(command, HOST, port, "middlewatch")
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be opened: {error.strerror}", "another one: --port N"
        ) from None
    print(f"http://{HOST}:{port}/?key={key}\nCtrl+C ends it.", flush=True)
    server.serve_at(listening)
    return 0


def guard(key: str, port: int) -> Middleware:
    """What lets in only requests with ``key``: in the address the first time, in a cookie after that."""
    from aiohttp import web

    here, cookie = f"{HOST}:{port}", f"middlewatch-{port}"

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get("Origin", "")
        if request.host != here:  # another name that leads here is one that somebody made for it
            raise web.HTTPForbidden(text=f"Open it as http://{here}/ with its key.\n")
        if origin and urlsplit(origin).netloc != here:
            raise web.HTTPForbidden(text="Another site has no business here.\n")
        given = request.query.get("key", "")
        if given and hmac.compare_digest(given.encode(), key.encode()):
            known = web.HTTPSeeOther("/")
            known.set_cookie(cookie, key, httponly=True, samesite="Strict")
            raise known
        if not hmac.compare_digest(request.cookies.get(cookie, "").encode(), key.encode()):
            raise web.HTTPForbidden(text="Open the address that `middlewatch tui --web` printed.\n")
        answer = await handler(request)
        # Textual's page asks for a font from elsewhere; nobody else need know that it was opened.
        if not answer.prepared:
            answer.headers["Content-Security-Policy"] = (
                f"default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self' ws://{here}"
            )
        return answer

    return guarded
