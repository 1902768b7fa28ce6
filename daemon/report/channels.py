"""What each service wants to be told differently: priority, markup, length. In the notifier child only.

- *Priority*: by the type of the message (``failure``: critical, ``warning``, ``success``: resolved, ``info``)
  as parameters of the Apprise URL. What the person wrote in the URL is left as it is.
- *Delivery*: a message counts as delivered when the service has said that it has it.
- *Markup*: Apprise is told that the text is plain, and escapes it for services that show HTML. Those that
  read Markdown in plain text as well get it escaped here.
- *Length*: longer than a service takes, the text is cut before its last two lines (first step, incident);
  an SMS has the title and, if there is room, the first step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl, quote

from ..text import markdown

_GRADES = ("failure", "warning", "success", "info")
PRIORITIES: Mapping[str, Mapping[str, tuple[str, str, str, str]]] = {
    # docs.ntfy.sh/publish: max rings through; tags that are names of emoji are shown as these.
    "ntfy": {
        "priority": ("max", "high", "default", "default"),
        "tags": ("rotating_light", "warning", "white_check_mark", "information_source"),
    },
    # pushover.net/api: 2 is repeated until somebody acknowledges it in the app: every `interval`
    # seconds (30 at least), for `expire` (10,800 at most). A minute and an hour: our choice; a reminder
    # of ours begins it again. Apprise 1.7 does not know `interval`: a quarter of an hour then.
    "pover": {
        "priority": ("2", "0", "0", "0"),
        "interval": ("60", "", "", ""),
        "expire": ("3600", "", "", ""),
    },
    # gotify's app for Android: from 8 on with sound and vibration, 4 to 7 with sound, 1 to 3 silent.
    "gotify": {"priority": ("10", "5", "5", "3")},
    # bark.day.app: `critical` rings through silence, `timeSensitive` through a focus.
    "bark": {"level": ("critical", "timeSensitive", "active", "active")},
    "prowl": {"priority": ("2", "1", "0", "0")},
    "join": {"priority": ("2", "1", "0", "0")},
    "psafer": {"priority": ("2", "1", "0", "0")},
    "opsgenie": {"priority": ("5", "3", "1", "1")},
    "smseagle": {"priority": ("high", "normal", "normal", "normal")},
    "lametric": {"priority": ("critical", "warning", "info", "info")},
    # RFC 2156 and what Outlook and others read; Apprise takes headers as `+NAME`.
    "mailto": {
        "+X-Priority": ("1", "", "", ""),
        "+Importance": ("high", "", "", ""),
    },
}
"""Service -> parameter of its URL -> value for each type; empty: not given. From the documentation of the
services, and the parameters of Apprise."""

ALWAYS: Mapping[str, Mapping[str, str]] = {
    # Apprise's own is 0, "at most once": sent is delivered then, also to a broker that is still about to
    # refuse the password. With 1 the broker has to say that it has it (MQTT 3.1.1, 4.3).
    "mqtt": {"qos": "1"},
}
"""Service -> parameters of its URL for messages of every type."""

MARKDOWN = frozenset(("discord", "guilded", "mmost", "revolt", "schan", "wxteams"))
"""Services that show plain text as Markdown (their documentation)."""
HARD_BREAKS = frozenset(("schan", "wxteams"))
"""Those of them to which a single end of line is a blank."""
TITLE_INSIDE = frozenset(("discord", "guilded"))
"""Services whose limit holds for title and body together, although Apprise knows a title of them."""
BYTES: Mapping[str, int] = {"wecombot": 2048, "dingtalk": 20000, "ntfy": 4096}
"""Services that count bytes of UTF-8, with the title. WeCom and DingTalk refuse more; ntfy makes a file of it."""

TITLES: Mapping[str, int] = {"schan": 32}
"""Services that show fewer characters of a title than Apprise says (sct.ftqq.com); the whole title is then
the first line of the body as well."""
SHORT = 500
"""Services that take fewer characters than this send SMS or show a line."""
SMS, SMS_UCS2 = 160, 70
"""Characters of one SMS: of the GSM alphabet, and with one character that is not in it (3GPP TS 23.038)."""
_GSM = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM_TWICE = frozenset("^{}\\[~]|€")
"""Characters that take the room of two."""
_PLAIN = str.maketrans({"…": "...", "–": "-", "’": "'", "“": '"', "”": '"', "`": "'", "\t": " "})
_FIRST_STEP = re.compile(r"^(?:First step|第一步)[^\n]*", re.MULTILINE)


def service_of(url: str) -> str:
    """The service of an Apprise URL: its scheme, in the form without TLS."""
    scheme = url.partition("://")[0].lower()
    secure = {"ntfys": "ntfy", "gotifys": "gotify", "barks": "bark", "mailtos": "mailto"}
    secure |= {"mmosts": "mmost", "psafers": "psafer", "smseagles": "smseagle", "mqtts": "mqtt"}
    return secure.get(scheme, scheme.removesuffix("s") if scheme == "lametrics" else scheme)


def graded(url: str, kind: str) -> str:
    """The URL with what its service is told about a message of this type."""
    base, _, query = url.partition("?")
    given = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    given |= {name.strip("+ ") for name in given}
    place = _GRADES.index(kind) if kind in _GRADES else len(_GRADES) - 1
    service = service_of(url)
    wanted = {name: values[place] for name, values in PRIORITIES.get(service, {}).items()}
    more = [
        f"{quote(name, safe='+')}={quote(value)}"
        for name, value in {**wanted, **ALWAYS.get(service, {})}.items()
        if value and name.lower().strip("+") not in given
    ]
    return base + "?" + "&".join([*([query] if query else []), *more]) if more else url


def lacking(url: str) -> str:
    """The Python packages that the service of a URL wants and has not, which is why Apprise does not take it;
    empty if that is not why."""
    import apprise

    scheme = url.partition("://")[0].lower()
    known = apprise.Apprise().details(show_requirements=True, show_disabled=True)["schemas"]
    for one in known:
        if scheme in (*(one["protocols"] or ()), *(one["secure_protocols"] or ())):
            return "" if one["enabled"] else ", ".join(one["requirements"]["packages_required"])
    return ""


def with_buttons(url: str, buttons: Sequence[Sequence[str]]) -> str:
    """The URL of ntfy with buttons (label, topic, token): each posts its token to the topic, and the
    notification goes away once that has worked (docs.ntfy.sh/publish/#action-buttons)."""
    query = url.partition("?")[2]
    given = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    if not buttons or service_of(url) != "ntfy" or "actions" in given:
        return url
    told = "; ".join(
        f"http, {label}, {topic}, body={token}, clear=true" for label, topic, token in buttons
    )
    return url + ("&" if query else "?") + "actions=" + quote(told, safe="")


def fitted(service: str, title: str, body: str, most: int, most_title: int) -> tuple[str, str]:
    """(title, body) as the service shows and takes them. ``most``: characters that it takes; with
    ``most_title`` 0 it has no title, and Apprise puts it before the body."""
    if most < SHORT:
        return "", sms(title, body, most)
    size: Callable[[str], int] = len
    if len(title) > TITLES.get(service, len(title)):
        title, body = title[: TITLES[service] - 1] + "…", f"{title}\n{body}"
    if service in BYTES:
        most, size = min(most, BYTES[service]), _bytes
    if service in MARKDOWN:
        end = "  \n" if service in HARD_BREAKS else "\n"
        body = end.join(map(_as_markdown, body.split("\n")))
        # A title of its own is shown as it is.
        title = title if most_title and service in HARD_BREAKS else _as_markdown(title)
    taken = size(title) + 2 if not most_title or service in (*BYTES, *TITLE_INSIDE) else 0
    return title, cut(body, most - taken, size)


def cut(body: str, most: int, size: Callable[[str], int] = len) -> str:
    """A body within its limit: the last two lines stay, of the others what fits."""
    if size(body) <= most:
        return body
    lines = body.split("\n")
    tail = "\n".join(lines[-2:])
    room = most - size(f"\n{tail}")
    if room < size("…") or len(lines) <= 2:
        return _prefix(body, most, size)
    return f"{_prefix(chr(10).join(lines[:-2]), room, size)}\n{tail}"


def _prefix(text: str, most: int, size: Callable[[str], int]) -> str:
    """The beginning of a text, and a mark that it is one."""
    room = most - size("…")
    text = text[: max(room, 0)]
    while text and size(text) > room:
        text = text[: -max(1, (size(text) - room) // 4)]
    return text + "…"


def sms(title: str, body: str, most: int = SMS) -> str:
    """One SMS: the title, and the first step as far as it fits."""
    step = _FIRST_STEP.search(body)
    text = (title if step is None else f"{title}\n{step[0]}").translate(_PLAIN)
    plain = all(c in _GSM or c in _GSM_TWICE for c in text)
    room = min(most, SMS if plain else SMS_UCS2)
    size = _septets if plain else _code_units
    while size(text) > room:
        text = text[:-1]
    return text.rstrip()


def _as_markdown(line: str) -> str:
    """A line as Markdown that shows it as it is; our own commands stay code."""
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(
        part if place % 2 else _marks(markdown.escaped(part, starts=not place))
        for place, part in enumerate(parts)
    )


def _marks(text: str) -> str:
    """What Discord reads beyond CommonMark: underlines inside a word."""
    return re.sub(r"(?<!\\)_(?=_)|(?<=_)_", r"\\_", text)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _septets(text: str) -> int:
    return len(text) + sum(c in _GSM_TWICE for c in text)


def _code_units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2
