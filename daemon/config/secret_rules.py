"""Secrets with a shape of their own: rules of a secret scanner, kept as data, and ours beside them.

A rule is compiled when a line first has one of its words; no rule is compiled at the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from .secret_values import HIDDEN, bits

LONG = re.compile(r"[0-9A-Za-z_\-.+/=$|:!~%]{15}")
"""A run of so many characters: the shortest keys that the rules know (of Slack) have 15."""
LEAST_BITS = 2.1
"""Entropy per character, in bits, of what a rule may hide: lines of dashes and `aaaa` have less.
Of 100,000 random words of 16 hexadecimal digits the lowest had 2.18 (mean 3.21), of 16 letters and
digits 2.95."""
LEAST_BITS_OWN = 1.0
"""The same for our own rules, which are narrower: dashes and crosses have 0."""

_B = r"(?:(?<![0-9A-Za-z])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
OWN: tuple[tuple[str, str], ...] = (
    ("hf_", _B + r"hf_[A-Za-z0-9]{16,}"),
    ("api_org_", _B + r"api_org_[A-Za-z0-9]{20,}"),
    ("sk-", _B + r"sk-[A-Za-z0-9_\-]{16,}"),
    ("csk- fw_ fw- voyage", _B + r"(?:csk-|fw[_-]|pa-)[A-Za-z0-9]{20,}"),
    ("gsk_", _B + r"gsk_[A-Za-z0-9]{20,}"),
    ("pa-", _B + r"pa-[A-Za-z0-9_\-]{40,}"),
    ("r8_ rpa_ rnd_ rps_", _B + r"(?:r8|rpa|rnd|rps)_[A-Za-z0-9]{20,}"),
    ("nvapi-", _B + r"nvapi-[A-Za-z0-9_\-]{20,}"),
    ("wandb_v", _B + r"wandb_v\d_[A-Za-z0-9_\-]{16,}"),
    ("local- wandb", _B + r"local-[0-9a-f]{40}"),
    ("lsv2_ ls__", _B + r"(?:lsv2_(?:pt|sk)_|ls__)[0-9a-f]{20,}\w*"),
    ("pcsk_", _B + r"pcsk_\w{20,}"),
    ("secret_ ntn_", _B + r"(?:secret|ntn)_[A-Za-z0-9]{32,}"),
    ("gh", _B + r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("github_pat_", _B + r"github_pat_\w{20,}"),
    ("gl", _B + r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-[\w\-]{16,}"),
    ("AKIA ASIA ABIA ACCA", _B + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"),
    ("xox xapp xwfp", _B + r"(?:xox[a-z]|xapp|xwfp)(?:\.xox[a-z])?-[A-Za-z0-9\-]{10,}"),
    ("AIza", _B + r"AIza[\w\-]{30,}"),
    ("1//0", r"(?<![\w/:.])1//0[\w\-]{30,}"),
    ("ya29.", _B + r"ya29\.[\w\-.]{16,}"),
    (":AA bot", _B + r"(?:(?<=/bot)|\b)\d{8,10}:[\w\-]{35}(?![\w\-])"),
    ("eyJ", _B + r"eyJ[\w\-=]{10,}\.[\w\-=]{10,}(?:\.[\w\-=]{5,})?"),
    ("sb_secret_ sbp_", _B + r"(?:sb_secret|sbp)_[\w\-]{20,}"),
    ("live_ test_", _B + r"(?:[a-z]{2}|pk|rk|sk|whsec|EZAK|EZTK)_(?:live|test)_\w{10,}"),
    ("whsec_", _B + r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("EZAK EZTK", _B + r"EZ[AT]K[A-Za-z0-9]{40,}"),
    ("glsa_ glc_", _B + r"gl(?:sa|c)_[\w=\-]{20,}"),
    ("hvs. hvb. hvr.", _B + r"hv[sbr]\.[\w\-]{20,}"),
    ("s.", _B + r"s\.(?=[A-Za-z]*\d)[A-Za-z0-9]{24}(?![\w.])"),
    ("fm1 fm2 fo1_ FlyV1", _B + r"(?:fm[12][ar]?_|fo1_)[A-Za-z0-9+/=_\-]{20,}"),
    ("dp.", _B + r"dp\.[a-z]+\.[\w.\-]{20,}"),
    ("dckr_", _B + r"dckr_[a-z]+_[\w\-]{20,}"),
    ("npm_", _B + r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-", _B + r"pypi-[\w\-]{30,}"),
    ("NRAK- NRII- NRJS-", _B + r"NR(?:AK|II|JS)-[\w\-]{19,}"),
    ("dapi", _B + r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("tskey-", _B + r"tskey-[\w\-]{16,}"),
    ("kgat_ KGAT_", _B + r"(?:kgat|KGAT)_[A-Za-z0-9]{20,}"),
    ("tgp_v1_", _B + r"tgp_v1_[\w\-]{20,}"),
    ("tk_ ", _B + r"tk_[a-z0-9]{29}(?![\w])"),
    ("BEGIN", r"-----BEGIN OpenVPN Static key V1-----[^-]*(?:-----END[^-]*-----)?"),
    ("M N O", _B + r"[MNO][A-Za-z\d]{23,27}\.[\w\-]{6}\.[\w\-]{27,40}(?![\w\-])"),
    ("xkeysib- xsmtpsib-", _B + r"x(?:key|smtp)sib-[0-9a-f]{64}-\w{16}"),
    ("EAA", _B + r"EAA[A-Za-z0-9_\-]{40,}"),
    ("dkea", _B + r"dkea[0-9a-f]{32}"),
    ("ms-", _B + r"ms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("{SHA {SSHA", r"\{S?SHA\d{0,3}\}[A-Za-z0-9+/=]{20,}"),
    ("AQ", _B + r"AQ[A-Za-z0-9+/]{36}=="),
    ("b3BlbnNzaC1rZXktdj", r"b3BlbnNzaC1rZXktdj[A-Za-z0-9+/=]{20,}"),
    ("MII", _B + r"MII[A-Za-z0-9+/]{45,}={0,2}"),
    ("Private-Lines", r"Private-Lines:\s*\d+\s+(?P<value>[A-Za-z0-9+/=\s]{20,})"),
    ("atlasv1", _B + r"\w{14}\.atlasv1\.[\w\-]{20,}"),
    ("ATATT ATCTT", _B + r"AT[AC]TT3[\w\-=]{40,}"),
    ("$", r"\$(?:2[abxy]|5|6|1|y|7|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w\-]*)\$[\w./$=,+]{16,}"),
    ("hooks.slack.com", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[^\s\"'<>]+"),
    ("discord", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<value>[^\s\"'<>]+)"),
    ("api.telegram.org", r"api\.telegram\.org/(?P<value>[^\s\"'<>]+)"),
    ("office.com", r"(?:webhook\.office\.com|outlook\.office\.com/webhook)/(?P<value>[^\s\"'<>]+)"),
    ("hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/(?P<value>[^\s\"'<>]+)"),
    ("maker.ifttt.com", (r"maker\.ifttt\.com/[^\s\"'<>]*?/?use/(?P<value>[^\s\"'<>]+)|"
     r"maker\.ifttt\.com/trigger/[^\s\"'<>/]+/(?:json/)?with/key/(?P<value2>[^\s\"'<>]+)")),
    ("open.feishu.cn open.larksuite.com", r"/open-apis/bot/v\d/hook/(?P<value>[^\s\"'<>]+)"),
    ("chat.googleapis.com", r"chat\.googleapis\.com/v1/spaces/(?P<value>[^\s\"'<>]+)"),
    ("hc-ping.com", r"hc-ping\.com/(?P<value>[\w\-]{16,})"),
    ("ntfy.sh", r"ntfy\.sh/(?P<value>[\w\-]{6,})"),
    ("make.com pipedream.net webhook.site",
     (r"(?:hook\.[\w.]*make\.com|webhook\.site)/(?P<value>[\w\-]{16,})|"
     r"//(?P<value2>[\w\-]{12,})\.m\.pipedream\.net")),
    ("events.pagerduty.com api.opsgenie.com alert.victorops.com",
     r"(?:integration/|alert/)(?P<value>[0-9a-f\-]{32,}[^\s\"'<>]*)"),
    ("mattermost /hooks/", r"/hooks/(?P<value>[a-z0-9]{20,})(?![\w./])"),
    ("logic.azure.com", r"(?<=[?&]sig=)(?P<value>[^\s\"'<>&]+)"),
)  # fmt: skip
"""Words (of which a line has one) and a pattern. What CredSweeper does not have or has narrower:
the pieces that a log shows are often cut or of an older make."""

_NAMES = re.compile(r"[a-z]{2,}\d{0,2}(?:[\-_.][a-z]+\d{0,2})+")
"""A name of words: `xapp-gtk3-module` begins like a token of Slack."""
_GROUPS = ("value", "value2")


def _theirs() -> Iterator[tuple[str, str]]:
    path = Path(__file__).with_name("secret_rules.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            _, words, pattern = line.split("\t")
            yield words, pattern


@cache
def _index() -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """Every word and the patterns that it calls for; a word is searched once."""
    known: dict[str, list[tuple[str, float]]] = {}
    for rules, least in ((OWN, LEAST_BITS_OWN), (_theirs(), LEAST_BITS)):
        for words, pattern in rules:
            for word in words.split():
                known.setdefault(word, []).append((pattern, least))
    return tuple((word, tuple(patterns)) for word, patterns in known.items())


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def hide_shapes(text: str) -> str:
    """``text`` without the words that have the shape of a key of a known service."""
    if LONG.search(text) is None:
        return text
    called = [each for word, rules in _index() if word in text for each in rules]
    for pattern, least in dict.fromkeys(called):
        text = _compiled(pattern).sub(partial(_hide, least), text)
    return text


def _hide(least: float, match: re.Match[str]) -> str:
    whole = match[0]
    groups = match.re.groupindex
    name = next((g for g in _GROUPS if g in groups and match[g] is not None), None)
    value = match[name] if name else whole
    if value.startswith(HIDDEN) or bits(value[:256]) < least or _NAMES.fullmatch(value):
        return whole
    if name is None:
        return HIDDEN
    begin, end = match.start(name) - match.start(), match.end(name) - match.start()
    return f"{whole[:begin]}{HIDDEN}{whole[end:]}"
