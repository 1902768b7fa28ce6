"""Checks of the way out: proxies, mirrors, the route of a transfer, downloads that stand still, SSH, the clock.

A route is measured as the transfer will go: through the proxy that the environment names for that
address, to the mirror where one is set. Nothing is asked of an address that neither the environment
nor the person names.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from middlewatch.sentinels.kit.numbers import size, span

from ..system.held import holders, keepalive
from .audit_launch import has_module
from .audit_line import AuditLine

ROUTE_S = 6.0
"""Seconds for an answer: a route that needs more stalls every small request of a download. Our choice."""
SLOW_ANSWER_S = 3.0
READ_BYTES = 256 << 10
CLOCK_S = 60.0
"""A clock that is off by more breaks logins and the order of logs; certificates and trackers tolerate
less than minutes (our choice)."""
STALLED_S = 60.0
"""A partial file that did not grow for so long stands still: clients time out after 10 s of silence."""
MOST_PARTIAL = 2000
_LOCAL = ("localhost", "127.0.0.1")
_STA_UNSYNC = 0x0040
_TIME_ERROR = 5


def checks(
    environ: Mapping[str, str], routes: Sequence[str], now: float, root: str = "/"
) -> Iterator[AuditLine]:
    """All of them."""
    yield from proxies(environ)
    yield from hub(environ)
    measured = measure([*_named(environ), *routes], environ)
    for one in measured:
        yield one.line()
    yield clock([one.ahead_s for one in measured if one.ahead_s is not None])
    yield from downloads(environ, now, root)
    yield from ssh(environ, root)


# ------------------------------------------------------------------------ what the environment says


def _both(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "") or environ.get(name.upper(), "")


def proxies(environ: Mapping[str, str]) -> Iterator[AuditLine]:
    """A proxy without exceptions also takes the traffic inside the box; some exceptions do nothing."""
    names = ("http_proxy", "https_proxy", "all_proxy")
    told = {name: _both(environ, name) for name in names if _both(environ, name)}
    if not told:
        return
    for name in told:
        low, high = environ.get(name), environ.get(name.upper())
        if low and high and low != high:
            text = f"{name} and {name.upper()} differ: which one is used depends on the program"
            yield AuditLine(name, "warn", text)
    if any(v.startswith("socks") for v in told.values()) and not (
        has_module("socks") or has_module("socksio")
    ):
        text = "a SOCKS proxy, and this Python has neither PySocks nor socksio: requests fail"
        yield AuditLine("proxy", "warn", text)
    rules = [rule.strip() for rule in _both(environ, "no_proxy").split(",") if rule.strip()]
    missing = [name for name in _LOCAL if name not in rules and "*" not in rules]
    if missing:
        text = (
            f"{', '.join(told)} is set and no_proxy lacks {', '.join(missing)}: local services go"
        )
        yield AuditLine("no_proxy", "warn", f"{text} through the proxy")
    stars = [rule for rule in rules if "*" in rule and rule != "*"]
    if stars:
        text = f"{', '.join(stars)}: many programs take no wildcards; write .example.org"
        yield AuditLine("no_proxy wildcards", "warn", text)
    if not missing and not stars:
        shown = ", ".join(f"{name} {place(url)}" for name, url in told.items())
        yield AuditLine("proxy", "ok", shown)


def place(url: str) -> str:
    """Host and port of a proxy: its address may hold a password."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    with contextlib.suppress(ValueError):
        return f"{parts.hostname or '?'}:{parts.port}" if parts.port else str(parts.hostname or "?")
    return "?"


def hub(environ: Mapping[str, str]) -> Iterator[AuditLine]:
    """Settings of the Hugging Face hub that do not go together."""
    mirror = environ.get("HF_ENDPOINT", "")
    if mirror and not mirror.startswith(("http://", "https://")):
        yield AuditLine("HF_ENDPOINT", "bad", f"{mirror!r} has no http:// or https:// in front")
    own = mirror and (urlsplit(mirror).hostname or "").endswith("huggingface.co")
    if mirror and not own and environ.get("HF_HUB_DISABLE_XET") not in ("1", "true", "True", "ON"):
        text = "a mirror without HF_HUB_DISABLE_XET=1: large files may be fetched past the mirror"
        yield AuditLine("HF_ENDPOINT", "warn", text)
    if environ.get("HF_HUB_ENABLE_HF_TRANSFER") in ("1", "true", "True") and not has_module(
        "hf_transfer"
    ):
        text = "set, and hf_transfer is not installed in this Python: downloads fail or ignore it"
        yield AuditLine("HF_HUB_ENABLE_HF_TRANSFER", "warn", text)
    if environ.get("HF_HUB_OFFLINE") in ("1", "true", "True"):
        yield AuditLine("HF_HUB_OFFLINE", "warn", "set: nothing is downloaded, only what is cached")


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    """Addresses that the environment itself names, or that a proxy in it is there for."""
    mirror = environ.get("HF_ENDPOINT", "")
    if mirror.startswith(("http://", "https://")):
        yield mirror
    elif _both(environ, "https_proxy") or _both(environ, "all_proxy"):
        yield "https://huggingface.co"


# ------------------------------------------------------------------------ the route


@dataclass(frozen=True, slots=True)
class Route:
    """One answer over one route."""

    url: str
    through: str
    """Host and port of the proxy; empty: directly."""
    answer: str
    seconds: float
    read: int = 0
    ok: bool = False
    ahead_s: float | None = None
    """By how much the clock of the other side is ahead of ours."""

    def line(self) -> AuditLine:
        """As a check."""
        way = f"through proxy {self.through}" if self.through else "directly"
        what = f"route {urlsplit(self.url).hostname}"
        if not self.ok:
            return AuditLine(what, "bad", f"{way}: {self.answer} ({self.seconds:.1f} s)")
        rate = f", {size(self.read)} at {size(self.read / max(self.seconds, 1e-3))}/s"
        state = "warn" if self.seconds > SLOW_ANSWER_S else "ok"
        return AuditLine(what, state, f"{way}: {self.answer} in {self.seconds:.2f} s{rate}")


def measure(urls: Sequence[str], environ: Mapping[str, str]) -> list[Route]:
    """Fetch the beginning of each address, all at once, as a download by this environment would."""
    wanted = list(dict.fromkeys(urls))
    if not wanted:
        return []
    pool = ThreadPoolExecutor(max_workers=min(8, len(wanted)))
    try:
        return list(pool.map(lambda url: _fetch(url, environ), wanted))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _fetch(url: str, environ: Mapping[str, str]) -> Route:
    proxy = proxy_for(url, environ)
    through = place(proxy) if proxy else ""
    scheme = urlsplit(url).scheme
    if scheme not in ("http", "https"):
        return Route(url, through, "only http and https are measured", 0.0)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({scheme: proxy} if proxy else {})
    )
    request = urllib.request.Request(url, headers={"User-Agent": "middlewatch-audit"})
    began = time.perf_counter()
    try:
        with opener.open(request, timeout=ROUTE_S) as answer:
            status, date = answer.status, answer.headers.get("Date")
            read = len(answer.read(READ_BYTES))
    except urllib.error.HTTPError as error:
        # An answer is an answer: the route works, unless it was the proxy that refused.
        took, refused = time.perf_counter() - began, error.code in (407, 502, 503, 504)
        date = error.headers.get("Date")
        error.close()
        return Route(url, through, f"status {error.code}", took, 0, not refused, _ahead(date))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        return Route(url, through, str(reason)[:120], time.perf_counter() - began)
    took = time.perf_counter() - began
    return Route(url, through, f"status {status}", took, read, True, _ahead(date))


def _ahead(date: str | None) -> float | None:
    """Seconds that the Date of an answer is ahead of our clock."""
    with contextlib.suppress(TypeError, ValueError):
        if date:
            return parsedate_to_datetime(date).timestamp() - time.time()  # noqa: TID251 - a command
    return None


def proxy_for(url: str, environ: Mapping[str, str]) -> str:
    """The proxy that the environment names for an address; empty: none."""
    parts = urlsplit(url)
    proxy = _both(environ, f"{parts.scheme}_proxy") or _both(environ, "all_proxy")
    host = (parts.hostname or "").lower()
    for rule in _both(environ, "no_proxy").lower().split(","):
        bare = rule.strip().partition(":")[0].lstrip(".")
        if rule.strip() == "*" or (bare and (host == bare or host.endswith(f".{bare}"))):
            return ""
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy


# ------------------------------------------------------------------------ clock, downloads, SSH


def clock(ahead: Sequence[float]) -> AuditLine:
    """Whether something keeps the clock right, and how far it is from that of the other sides."""
    if ahead:
        off = min(ahead, key=abs)
        if abs(off) > CLOCK_S:
            text = (
                f"{span(abs(off))} {'behind' if off > 0 else 'ahead of'} the other side of a route"
            )
            return AuditLine("clock", "bad", text)
        return AuditLine("clock", "ok", f"within {CLOCK_S:.0f} s of the other side of a route")
    kept = synchronised()
    if kept is None:
        return AuditLine("clock", "unknown", "the kernel does not say whether it is kept right")
    if kept:
        return AuditLine("clock", "ok", "the kernel says that it is kept right")
    return AuditLine("clock", "warn", "nothing keeps it right (NTP): compare it with another one")


def synchronised() -> bool | None:
    """Whether the kernel says that the clock is disciplined; ``None``: it cannot be asked."""
    buffer = ctypes.create_string_buffer(512)  # a struct timex has 208 bytes; modes 0 only reads
    try:
        answer = int(ctypes.CDLL(None, use_errno=True).adjtimex(buffer))
    except (OSError, AttributeError):
        return None
    return None if answer < 0 else answer != _TIME_ERROR


def partial_files(environ: Mapping[str, str], root: str = "/") -> Iterator[Path]:
    """Files of downloads that were begun: of the hub, of torch, of pip and wget in this folder."""
    home = Path(environ.get("HOME", "/nowhere"))
    hub_home = Path(environ.get("HF_HOME", home / ".cache/huggingface"))
    hub_cache = Path(environ.get("HF_HUB_CACHE", hub_home / "hub"))
    torch_home = Path(environ.get("TORCH_HOME", home / ".cache/torch"))
    patterns = (
        f"{glob.escape(str(hub_cache))}/*/blobs/*.incomplete",
        f"{glob.escape(str(hub_home))}/datasets/downloads/*.incomplete",
        f"{glob.escape(str(torch_home))}/hub/checkpoints/*.partial",
        "./*.aria2",
        "./*.part",
    )
    count = 0
    for pattern in patterns:
        for name in glob.iglob(pattern):
            yield Path(name)
            count += 1
            if count >= MOST_PARTIAL:
                return


def downloads(environ: Mapping[str, str], now: float, root: str = "/") -> Iterator[AuditLine]:
    """Partial files that do not grow: a process still waits for them, or none does."""
    found = []
    for path in partial_files(environ, root):
        with contextlib.suppress(OSError):
            seen = path.stat()
            if now - seen.st_mtime >= STALLED_S:
                found.append((path, seen.st_size, now - seen.st_mtime, (seen.st_dev, seen.st_ino)))
    if not found:
        return
    held = holders({key for *_, key in found}, root)
    for path, count, silent_s, key in found:
        text = f"{size(count)}, unchanged for {span(silent_s)}"
        if key in held:
            text += f", and process {held[key]} still holds it: the download stands still"
            yield AuditLine(f"download {path.name[:40]}", "bad", f"{text} ({path.parent})")
    left = [row for row in found if row[3] not in held]
    if left:
        total = size(sum(row[1] for row in left))
        text = (
            f"{len(left)} partial files that nobody fetches any more, {total} ({left[0][0].parent})"
        )
        yield AuditLine("downloads left", "warn", text)


def ssh(environ: Mapping[str, str], root: str = "/") -> Iterator[AuditLine]:
    """The login that this runs in: through a proxy of the platform, and kept alive or not."""
    words = environ.get("SSH_CONNECTION", "").split()
    if len(words) != 4 or not words[1].isdigit():
        return
    peer, port = words[0], int(words[1])
    parts = []
    near = peer.startswith(("127.", "10.", "192.168.", "100.64.", "169.254.")) or peer == "::1"
    if near:
        parts.append(
            f"it comes from {peer}, which is no public address: through a proxy or jump, where scp, "
            "sftp and rsync may not work"
        )
    alive = keepalive(port, root)
    if alive is False:
        parts.append("TCP keepalive is off here: set ServerAliveInterval 30 on your side")
    state = "warn" if near or alive is False else "ok"
    kept = {True: "TCP keepalive is on", None: "whether it is kept alive cannot be seen"}
    yield AuditLine("SSH login", state, "; ".join(parts) or kept.get(alive, ""))
