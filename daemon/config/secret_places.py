"""Secrets in a place where one stands: URLs, headers, options of programs, PEM blocks, dumps."""

from __future__ import annotations

import base64
import binascii
import re

from .secret_values import HIDDEN, bits, is_nothing, is_number, looks_random

BODY_BITS = 4.6
"""Entropy per character, in bits, of a line of a PEM block alone. Of 100,000 random lines of 64
characters of base64 the lowest had 4.63 (mean 5.18). Of 48 characters the lowest had 4.38, so a few
short ones are missed. Of 1,487 such runs in 194,000 lines of logs the highest had 4.70, so the
entropy does not decide by itself: the line must hold nothing else."""

_PASSWORD_IN_URL = re.compile(
    r"""(://[^\s/:@"'<>]{0,200}:)
        (?:(?!\d{1,5}[/?])[^\s"'<>@]{1,300}(?:@[^\s"'<>@/]{1,300})?|[^\s"'<>/]{1,300})
        (?=@[\w.\-\[*%])""",
    re.VERBOSE,
)
_USER_IN_URL = re.compile(r"(://)([^\s/:@\"'<>?#]{8,300})(?=(?::x-oauth-basic|:)?@[\w.\-\[])")
_QUERY = re.compile(
    r"""([?&;](?:amp;)?
        (?:sig|signature|x-[a-z]{2,6}-(?:signature|security-token|credential)|key|api[_-]?key|apikey
        |awsaccesskeyid|googleaccessid|key-pair-id|policy|ossaccesskeyid|hmac|auth|jwt|ticket|code
        |secret|sid|s(?:ession)?id|q-signature|q-ak|hdnts|verify|token|st|sas|access_token|sign
        |wstoken|code_challenge|assertion|client_secret|refresh_token|id_token|webhook_key)=)
        ([^\s"'<>&;,)\]}]{6,})""",
    re.VERBOSE | re.IGNORECASE,
)
_HEADER = re.compile(r"\b(bearer[ \t]+)([\w.~+/\-]{12,}=*)", re.IGNORECASE)
_BASIC = re.compile(r"\b(basic[ \t]+)([A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)

_HTTP = r"(?:curl|wget|http|https|xh|httpie|lftp|rclone|aria2c|smbclient|artifactory|jfrog)"
_OPTIONS = tuple(
    (words, re.compile(pattern))
    for words, pattern in (
        ("curl wget http lftp smbclient", (rf"(\b{_HTTP}\b[^|]{{0,400}}?\s(?:-u|-U|--user|--proxy-user"
         r"|-a|--auth|-[a-zA-Z]{1,6}u)[ =]?[\"']?[^\s\"':%/,]{0,64}[:%,])(?!//)([^\s\"']{1,200})")),
        ("mysql mariadb", r"(\b(?:mysql|mariadb)[\w\-]*\b[^|]{0,200}?\s-p)(?!\s)[\"']?([^\s\"']+)"),
        ("sshpass", r"(\bsshpass\b[^|]{0,40}?\s-p\s?[\"']?)([^\s\"']+)"),
        ("redis-cli", r"(\bredis-cli\b[^|]{0,200}?\s-a\s[\"']?)([^\s\"']+)"),
        ("login", r"(\blogin\b[^|]{0,200}?\s-p\s?[\"']?)([^\s\"']+)"),
        ("mongo sqlcmd ldap mosquitto 7z zip htpasswd clickhouse cqlsh influx snmp ipmitool",
         (r"(\b(?:mongo\w*|sqlcmd|ldap\w+|mosquitto_\w+|7za?|zip|unzip|cqlsh|snmp\w+|ipmitool)\b"
         r"[^|]{0,200}?\s-[pPwA]\s?[\"']?)(?![\s\-])([^\s\"']{4,})")),
        ("htpasswd", r"(\bhtpasswd\s+-\w*b\w*\s+\S{1,200}\s+\S{1,64}\s+)(\S+)"),
        ("pass:", r"(\s-?-?(?:pass(?:in|out)?|password|k)\s+pass:)([^\s\"']+)"),
        ("sudo chpasswd passwd", (r"(\becho\s+(?:-n\s+)?[\"']?(?:\w+:)?)"
         r"([^\s\"'|]{3,})(?=[\"']?\s*\|\s*(?:sudo|chpasswd|passwd))")),
        ("password-stdin sudo", (r"(\b(?:echo|printf)\s+(?:-\w+\s+)?(?:[\"']%s(?:\\n)?[\"']\s+)?[\"']?)"
         r"([^\s\"'|$%]{3,})(?=[\"']?\s*\|[^|]{0,200}(?:password-stdin|sudo\s+-S))")),
        ("<<<", r"(\b(?:chpasswd|passwd|sudo|login)\b[^|<]{0,80}<<<\s?[\"']?(?:[\w.\-]+:)?)([^\s\"']+)"),
        ("auth login connect", (r"(\b\w{0,24}(?:auth|login|connect|authenticate)(?:\s?=\s?|\w{0,12})\(\s?"
         r"(?:user(?:name)?=)?\\*[\"'][^\"']{1,80}[\"']\s?,\s?(?:\w+=)?\\*[\"'])([^\"'\\]{4,})")),
        ("oathtool", r"(\boathtool\b[^|]{0,80}?\s)([A-Z2-7]{16,})"),
        ("alias set", r"(\bmc\s+(?:alias|config host)\s+(?:set|add)\s+\S+\s+\S+\s+\S+\s+)(\S+)"),
        ("authorize", r"(\bb2\s+(?:account\s+authorize|authorize-account)\s+\S+\s+)(\S+)"),
        ("unseal", r"(\bunseal\s+)([\w+/=]{20,})"),
        ("codecov", r"(\bcodecov\b[^|]{0,100}?\s-t\s)(\S+)"),
        ("auth", r"(\bAUTH\s+(?:[\w\-]{1,32}\s+)?)(?=\S*\d)(?=\S*[A-Za-z])([^\s\"']{10,})"),
        ("jdbc:oracle sqlplus impdp expdp",
         r"(\b(?:jdbc:oracle:\w+:|sqlplus\s+(?:-\w+\s+)*|(?:imp|exp)dp\s+)[\w.\-]{1,64}/)([^@\s\"']+)(?=@)"),
        ("login credentials zugangsdaten identifiants credenciales account",
         (r"(?i)(\b(?:login|logged in as|log in as|credentials?|zugangsdaten|identifiants|credenciales"
         r"|account)\s?:?\s+[\w.@\-]{2,64}\s?/\s?)(?=\S*\d)([^\s\"'/]{8,})(?=[\s\"'.,;]|$)")),
        ("fernet( totp( hotp( secretstr( aesgcm( login(",
         r"(\b(?:Fernet|TOTP|HOTP|AESGCM|SecretStr|login)\(\s?(?:\w+=)?b?\\*[\"'])([\w\-+/=]{16,})"),
        ("key", r"(\busing\s+(?:[\w.\-]+\s+){0,2}(?:api\s+)?key\s+)([\w\-+/=]{20,})"),
        ("identified", r"(?i)(\bidentified\s+(?:with\s+\w+\s+)?(?:by|as)\s+[\"'])([^\"']+)"),
        ("password '", r"(?i)(\b(?:user|role|login)\b[^;]{0,100}\bpassword\s+')([^']+)"),
        ("wandb login", r"(\bwandb\s+login\s+(?:--\S+\s+){0,4})([\w\-]{16,})"),
        ("wpa_passphrase net\x20use", r"(\bnet\s+use\s+\S+\s+)(?!/)(\S+)(?=\s+/user)"),
    )
)  # fmt: skip
_OPTION_WORDS = tuple(
    (tuple([words] if words in ("password '", "alias set") else words.split()), pattern)
    for words, pattern in _OPTIONS
)

_PGPASS = re.compile(
    r"((?<![\w/:])[\w.\-*]{1,100}:(?:\d{4,5}|\*):[\w\-*]{1,64}:[\w\-]{1,64}:)([^\s:\"']{4,})$"
)
_PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?!\*\*\*)(?:(?!-----).)+(?:-----END [A-Z0-9 ]{0,40}KEY(?: BLOCK)?-----)?",
    re.DOTALL,
)
_BODY = re.compile(r"(?<![\w+/=\-.:])[A-Za-z0-9+/]{48,76}={0,2}(?![\w+/=\-.])")
_PREAMBLE = re.compile(r"[\d:.,\-TZ/\[\]+|> \"']{0,48}(?:\[?[\w.\-]{1,24}[\]:|>]{1,2} ?)?[\"']?\Z")
_LAST_BODY = re.compile(r"[A-Za-z0-9+/]{14,75}={1,2}")

_HEX40 = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{40}(?![0-9a-fA-F])")
_DIGEST_WORD = re.compile(
    r"commit|sha|hash|digest|revision|\brev\b|checksum|checked out|HEAD\b|branch|merge|tag|git\b"
    r"|snapshot|tree|parent|fingerprint|etag|blob|object|md5|version|build",
    re.IGNORECASE,
)
_KEY_WORD = re.compile(r"key|token|secret|login|wandb|auth|pass|cred|tracker", re.IGNORECASE)
NEAR = 40
"""Characters on both sides of 40 hexadecimal digits in which a word says that they are a commit."""


def hide_places(text: str, low: str) -> str:
    """``text`` without what stands where a secret stands; ``low`` is it in lower case."""
    if "-----begin" in low:
        text = _PEM.sub(rf"\1{HIDDEN}", text)
    if "://" in text and "@" in text:
        text = _PASSWORD_IN_URL.sub(rf"\1{HIDDEN}", text)
        text = _USER_IN_URL.sub(_user, text)
    if "=" in text and ("?" in text or "&" in text):
        text = _QUERY.sub(_query, text)
    if "bearer" in low:
        text = _HEADER.sub(_bearer, text)
    if "basic" in low:
        text = _BASIC.sub(_basic, text)
    for words, pattern in _OPTION_WORDS:
        if any(word in low for word in words):
            text = pattern.sub(_option, text)
    if text.count(":") >= 4:
        text = _PGPASS.sub(_pgpass, text)
    return text


def hide_alone(text: str) -> str:
    """``text`` without words that are secrets by themselves: 40 hexadecimal digits, PEM lines."""
    if len(text) >= 40:
        text = _HEX40.sub(_hex40, text)
        if _BODY.search(text) is not None:
            text = "\n".join(_BODY.sub(_body, line) for line in text.split("\n"))
    if (
        len(text) < 80
        and text.endswith("=")
        and _LAST_BODY.fullmatch(text)
        and looks_random(text, 14)
    ):
        return HIDDEN
    return text


def _user(match: re.Match[str]) -> str:
    user = match[2]
    mixed = any(c.isdigit() for c in user) and any(c.isalpha() for c in user)
    if (len(user) >= 16 and mixed and "." not in user) or looks_random(user):
        return match[1] + HIDDEN
    return match[0]


def _query(match: re.Match[str]) -> str:
    name, value = match[1].lower(), match[2]
    if value.startswith(HIDDEN) or is_nothing(value) or is_number(value):
        return match[0]
    if any(w in name for w in ("sig", "secret", "token", "api", "credential", "hmac", "jwt")):
        return match[1] + HIDDEN
    hook = re.search(r"hook|/bot|/robot", match.string[max(0, match.start() - 120) : match.start()])
    mixed = len(value) >= 20 and not (value.islower() or value.isupper() or value.isdigit())
    return match[1] + HIDDEN if hook or mixed or looks_random(value) else match[0]


def _bearer(match: re.Match[str]) -> str:
    value = match[2]
    sure = any(c.isdigit() for c in value) or looks_random(value) or len(value) >= 24
    return match[1] + HIDDEN if sure and bits(value[:256]) > 2 else match[0]


def _basic(match: re.Match[str]) -> str:
    value = match[2]
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4)).decode()
    except (binascii.Error, ValueError):
        plain = ""
    named = ":" in plain and plain.isprintable()
    return match[1] + HIDDEN if named or looks_random(value) else match[0]


def _option(match: re.Match[str]) -> str:
    value = match[2]
    return (
        match[0]
        if value.startswith((HIDDEN, "$", "***")) or is_nothing(value)
        else match[1] + HIDDEN
    )


def _pgpass(match: re.Match[str]) -> str:
    return match[0] if is_number(match[2]) or match[2].startswith(HIDDEN) else match[1] + HIDDEN


def _hex40(match: re.Match[str]) -> str:
    text, begin, end = match.string, match.start(), match.end()
    before, after = text[max(0, begin - NEAR) : begin], text[end : end + NEAR]
    if before[-1:] in ("-", "_", "@", ".") or "cache" in before:
        return match[0]
    in_path = before[-1:] == "/" or after[:1] in ("/", ".", "_", "-")
    said = in_path or _DIGEST_WORD.search(before) or _DIGEST_WORD.search(after[:12])
    if said and _KEY_WORD.search(before[-24:]) is None:
        return match[0]
    return HIDDEN


def _body(match: re.Match[str]) -> str:
    """A line of a PEM block stands alone, or behind a time stamp."""
    line, word = match.string, match[0]
    if (
        line[match.end() :].strip(" \\nr\"',")
        or match.start() > 80
        or not _PREAMBLE.match(line[: match.start()])
    ):
        return word
    mixed = any(c.isdigit() for c in word) and any(c.isupper() for c in word)
    return HIDDEN if mixed and any(c.islower() for c in word) and bits(word) >= BODY_BITS else word
