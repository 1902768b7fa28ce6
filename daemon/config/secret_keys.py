"""Secrets beside a key: `password: …`, `authToken=…`, `--api-key …`, `"secret": "…"`.

A key is a word that says what stands beside it, in any spelling (camel case, snake case, capitals,
with dots) and in some languages. What stands there is hidden if it can be a secret at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .secret_values import (
    HIDDEN,
    is_code,
    is_hex,
    is_nothing,
    is_number,
    is_path,
    is_uuid,
    looks_random,
    words,
)

LONGEST_PREFIX = 48
"""Characters of a key before its word that are looked at: `spring.datasource.hikari.`"""
SHORT_OF = 20
"""Characters behind the first of a trigger in which a word of a key begins and ends, if it begins
before its trigger."""
_LEADS = {"key": 14, "pass": 8, "passe": 8, "密": 3, "cookie": 4, "sess": 4, "otp": 2, "キー": 5,
          "pw": 6, "auth": 7}  # fmt: skip
"""How many characters before its trigger a word can begin: `preshared key`, `mot de passe`."""
JUDGED = 1024
"""Characters of a value that are looked at to judge it; what is hidden, is hidden to its end. It
keeps the time for a line linear in its length."""
SHORTEST_PASSWORD = 4
SHORTEST_SECRET = 6
"""Characters: shorter words beside a key are states and counts, not secrets (our choice)."""

_PASSWORD = (
    r"pass(?:wd|word|phrase|code|wort)s?|pswd|pwd|(?<![A-Za-z])passwort|kennwort"
    r"|contrase(?:ñ|n)a|mot[ _-]de[ _-]passe|(?<![a-z])mdp(?![a-z])|requirepass|masterauth"
    r"|密\s?码|口令|パスワード|暗証番号|비밀번호|пароль|senha"
    r"|(?:(?<=[_\-.])|(?<![A-Za-z])|(?<=[a-z](?=P))|(?<=[A-Z]{4}))(?:pass|pw|psw)(?![A-Za-z])"
)
_SECRET = (
    r"(?:api|access|account|private|priv|shared|signing|encryption|encrypt|master|license|licence"
    r"|auth|client|service|storage|deploy|app|write|ingest|ingestion|integration|hmac|primary"
    r"|secondary|sas|function|host|sub(?:scription)?|routing|webhook|preshared|pre[_-]?shared)"
    r"[ _.\-]?key"
    r"|secret|credentials?|connection[ _-]?string|conn[ _-]?str(?:ing)?|(?<![a-z])dsn"
    r"|geheimnis|schlüssel|zugangsdaten|clave(?:[ _-](?:secreta|api|privada))?|secreto"
    r"|cl(?:é|e)[ _-](?:secr(?:è|e)te|api|priv(?:é|e)e|d['’]api)|jeton|ficha"
    r"|密\s?[钥鑰]|秘\s?[钥鑰]|私[钥鑰]|访问[密秘][钥鑰]|令牌|秘密鍵|シークレット|トークン|api\s?キー|アクセスキー|토큰"
    r"|phpsessid|jsessionid|sessionid|session[ _-]?(?:key|token|cookie|secret)|auth[ _-]?cookie"
    r"|(?:csrf|xsrf)(?:[ _-]?token)?|(?<![a-z])jwt|(?:set-)?cookie|pgpass(?!w)|bind[ _-]?pw|mnemonic"
    r"|(?<![a-z])psk|(?<=_)pat(?![a-z])|(?:totp|otp|mfa|2fa)(?:[ _-]?(?:seed|secret|key))?"
    r"|unseal[ _-]?key|recovery[ _-]?(?:key|code)s?|webhook(?:[ _-]?url)?"
)
_LOOSE = r"token|auth(?:orization|enticate)?|signature|session[ _-]?id|session|key|sig|sas"
"""Words that mean other things as often; see :func:`_judge`."""

_WORDS = re.compile(
    rf"(?P<password>{_PASSWORD})|(?P<secret>{_SECRET})|(?P<loose>{_LOOSE})", re.IGNORECASE
)
TRIGGERS = tuple(
    words("""
    pass pw psw pwd kennwort contrase mdp masterauth 密 口令 パスワード 暗証 비밀번호 пароль senha key
    secret credential conn dsn geheimnis schl zugangsdaten clave clé cle jeton ficha 秘 私 令牌
    シークレット トークン キー 토큰 sess csrf xsrf jwt cookie mnemonic token auth signature sig sas passe
    psk pat otp 2fa mfa unseal recovery webhook
    """)
)
"""Lower case: a line without one of them has no key."""

_SUFFIX = re.compile(r"[A-Za-z0-9_\-.]{0,40}")
_GAP = re.compile(
    r"""
    (?P<close>(?:\\*["'`]|&quot;|&\#34;|["”」】)\]]){0,3})
    (?P<sep>
        (?:\s\d{1,2}(?=\s?:\s))?
        (?:\s(?:für|for|pour|of|de|del|von|para|zu|zum|zur)\s[\w\ \-]{1,24}?)?
        \s{0,40}(?:=>|:=|==|->|[=:：＝→│┃|]|(?<=["'`]),)(?:\s?str\s?=)?\s{0,20}
      | \s{1,4}(?:is|ist|est|es|était|set\ to|lautet|は|是|为|為)\s?:?\s{1,4}
      | (?:は|是|为|為)\s?
      | %3[dDaA]
      | \\?["']?\s{1,3}(?:value|content)=
      | \s{0,8}(?:\\n|[,\s])\s{0,20}(?:\\*["'])?value(?:\\*["'])?\s?[:=]\s?
      | \s?</\w{1,20}>\s{0,8}<\w{1,20}>
      | \\?["']?\s?(?:/|\\u003[eE]|&gt;)?>
      | (?P<blank>\s{1,4}(?:to\s|set\s)?\s{0,4})
    )
    (?P<open>(?:[brufBRUF]{0,2}(?:\\{0,7}["'`]|&quot;|&\#34;|["“「『'])|\(|\[|SecretStr\((?=["'])){0,3})
    """,
    re.VERBOSE,
)
_SCHEME = re.compile(
    r"(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|splunk|bot|key|ssws|genie(?:key)?)"
    r"(?:[ \t]+|%20|\+)(?:token=)?[\"']?(?=\S)",
    re.IGNORECASE,
)
_UNTIL_QUOTE = {
    '"': re.compile(r'[^"\\]*(?:\\[^"][^"\\]*)*(?=\\?"|$)'),
    "'": re.compile(r"[^'\\]*(?:\\[^'][^'\\]*)*(?=\\?'|$)"),
    "`": re.compile(r"[^`]*"),
    "“": re.compile(r"[^”]*"),
    "「": re.compile(r"[^」]*"),
    "『": re.compile(r"[^』]*"),
}
_WORD = re.compile(r"[^\s\"'`<>]+")
_FIELD = re.compile(r"[^\s\"'`<>,;&)\]}，；。、）]+")
_NEXT_FIELD = re.compile(
    r"[,;&](?=\s*[\w.\-]+\s*[=:])|&quot;|\\[\"']|\\[nrt](?![\w/+])|[，；。、）」】]"
)
_STOP = re.compile(r"[\"'\r\n]")

_GOOD_SUFFIX = frozenset(
    words("""
    key keys token secret access value string str b64 base64 data hex raw text plain code id
    v1 v2 v3 prod dev test stage staging live old new main primary secondary master header
    password pass passwd api auth bearer cookie user hash 1 2 3 s w md5 openai hf hub ci bot
    admin root db enc encoded content body in out for github gitlab wandb env var
    """)
)
_PASSWORD_DENIED = frozenset(
    words("""
    policy file path length len field prompt manager less protected min max auth
    authentication required strength expiry expires expired attempts retries age reset hint
    form label column screen dialog url hash_rounds rounds count changed updated set type
    provider store input rate ratio rates through es ed ing port
    """)
)
_COUNTED = frozenset(
    words("""
    pad eos bos unk mask cls sep special num max min n total per sub next last first image img
    text prompt completion input output context start end stop cur current target prev new all
    batch begin vocab word audio video speech label patch class think thinking tool role
    system boi eoi fim prefix suffix middle train trained seen added extra missing unexpected
    valid invalid padding decoder encoder forced generated active dropped global local rank
    time
    """)
)
_NO_KEY = frozenset(
    words("""
    cache hash sort primary foreign dedup partition object row data state weight weights param
    missing unexpected public pub group lookup map dict json metric layer module tensor host
    hot routing sub function attention attn query store storage nccl shape kernel compile
    graph fx unknown index idx any press arrow next first last expected duplicate registry
    ccache
    """)
)
_SPLIT = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")
_PREFIX = re.compile(r"[\w.\-]*\Z")


def hide_keyed(text: str, low: str) -> str:
    """``text`` without the secrets beside a key; ``low`` is the same text in lower case."""
    called = [word for word in TRIGGERS if word in low]
    if not called:
        return text
    out: list[str] = []
    done = 0
    for word in _words(text, low, called):
        if word.start() < done:
            continue
        found = _beside(text, word, done)
        if found is not None:
            out += (text[done : found[0]], HIDDEN)
            done = found[1]
    return "".join((*out, text[done:])) if out else text


def _words(text: str, low: str, called: list[str]) -> Iterator[re.Match[str]]:
    """Every word of a key in ``text``, tried only beside the words that are known to be there: to
    search all of it took six times as long. Few letters change their number in lower case."""
    if len(low) != len(text):
        yield from _WORDS.finditer(text)
        return
    spots: dict[int, int] = {}
    for word in called:
        lead = _LEADS.get(word, 0)
        spot = low.find(word)
        while spot >= 0:
            spots[spot] = max(lead, spots.get(spot, 0))
            spot = low.find(word, spot + 1)
    place = 0
    for spot, lead in sorted(spots.items()):
        begin = max(place, spot - lead)
        if begin > spot:
            continue
        found = _WORDS.search(text, begin, spot + SHORT_OF) if lead else _WORDS.match(text, spot)
        if found is not None:
            place = found.end()
            yield found


def _beside(text: str, word: re.Match[str], done: int) -> tuple[int, int] | None:
    """Where the secret is that stands beside a key; ``None`` if there is none."""
    tail = _SUFFIX.match(text, word.end())
    assert tail is not None
    gap = _GAP.match(text, tail.end())
    if gap is None:
        return None
    before = _PREFIX.search(text, max(done, word.start() - LONGEST_PREFIX), word.start())
    assert before is not None
    key = _Key(text, word, before[0], tail[0])
    blank = gap["blank"] is not None
    prose = (blank and not key.takes_blank) or "->" in gap["sep"]  # a link has an arrow, too
    begin = gap.end()
    scheme = _SCHEME.match(text, begin)
    if scheme is not None:
        begin = scheme.end()
    quote = next((c for c in reversed(gap["open"]) if c in _UNTIL_QUOTE or c == "”"), "")
    end = _value_end(text, begin, quote, key, min(len(text), begin + JUDGED))
    value = text[begin:end]
    if not value or value.startswith(HIDDEN):
        return None
    if prose and not key.is_random(value) and not (quote and key.is_quoted(value)):
        return None
    if not key.is_secret(value, quoted=bool(quote), schemed=scheme is not None, sep=gap["sep"]):
        return None
    if end - begin >= JUDGED - 8:
        end = _value_end(text, begin, quote, key, len(text))
    return begin, end


def _value_end(text: str, begin: int, quote: str, key: _Key, limit: int) -> int:
    if quote in _UNTIL_QUOTE:
        held = _UNTIL_QUOTE[quote].match(text, begin, limit)
        if held is not None and "\n" not in held[0] and held.end() < len(text):
            return held.end()
    if key.whole_line:
        stop = _STOP.search(text, begin, limit)
        return stop.start() if stop else limit
    loose = key.kind == "password" and not key.in_query
    held = (_WORD if loose else _FIELD).match(text, begin, limit)
    if held is None:
        return begin
    end = held.end()
    if loose:
        cut = _NEXT_FIELD.search(text, begin, end)
        end = cut.start() if cut else end
    while end > begin and text[end - 1] in ",;:)]}.!?":
        end -= 1
    if end - begin > 1 and text[end - 1] == "\\":
        end -= 1
    return end


class _Key:
    """A key, and what may stand beside it."""

    def __init__(self, text: str, word: re.Match[str], prefix: str, suffix: str) -> None:
        self.kind = str(word.lastgroup)
        self._word = word[0].lower()
        self._suffix = suffix
        self._before = {p.lower() for p in _SPLIT.split(prefix) if p}
        self._glued = bool(prefix) and prefix[-1].isalnum()
        self._capital = word[0][0].isupper() and not word[0].isupper()
        self._after = [p.lower() for p in _SPLIT.split(suffix) if p]
        self.option = prefix.startswith("-") and not prefix.lstrip("-").startswith(".")
        at = word.start() - len(prefix)
        if not self.option and prefix == "" and text[at - 1 : at] == "-":
            self.option = True
        self.in_query = text[at - 1 : at] in ("?", "&") if at else False
        self._cached = "cache" in text[max(0, at - 12) : at].lower()
        self._login = self.kind == "password" and "login" in text[max(0, at - 80) : at]
        self.whole_line = self._word.endswith("cookie")

    @property
    def takes_blank(self) -> bool:
        """Whether its value may stand behind a blank: `--token X`, `login U password X`."""
        return self.option or self._login or self._word in ("requirepass", "masterauth")

    def is_quoted(self, value: str) -> bool:
        """Whether ``value``, in quotes behind a blank, can be what the key says: `PSK "…"`."""
        if self.kind != "password" and self._word != "psk":
            return False
        return len(value) >= 8 and " " not in value and any(c.isdigit() for c in value)

    def is_random(self, value: str) -> bool:
        """Whether ``value``, behind a blank in a sentence, looks like what the key says."""
        if self.kind == "password":
            mixed = not value.islower() and not value.isupper() and not value[0].isdigit()
            signs = any(not c.isalnum() for c in value[1:-1]) and any(c.isdigit() for c in value)
            return looks_random(value, 10) or (
                mixed and signs and len(value) >= 10 and not is_path(value)
            )
        if self._word == "key":
            return False
        if is_hex(value):
            return len(value) >= 32 and bool(self._before)
        if is_uuid(value):
            return bool(self._before) and self._word != "session"
        return looks_random(value, 16)

    def is_secret(self, value: str, *, quoted: bool, schemed: bool, sep: str) -> bool:
        """Whether ``value`` is to be hidden."""
        if self.kind == "password" and value[:1] == "{" and "=" in sep:
            value = value[1:].rstrip("}")  # as ODBC writes it
        if self.option and value.isupper() and value.replace("_", "").isalpha():
            return False  # what argparse says in its usage
        if is_nothing(value) or (not quoted and is_code(value) and not looks_random(value)):
            return False
        if not quoted and value.startswith("--"):
            return False
        firm = quoted or "=" in sep or self.option or self.in_query or "<" in value or ">" in sep
        if self.kind == "password":
            return self._password(value, firm=firm)
        if not self._suffix_fits():
            return False
        if len(value) < SHORTEST_SECRET or is_number(value):
            return False
        if self.whole_line:
            return "=" in value or looks_random(value)
        if is_path(value) and not looks_random(value.strip("/"), 20):
            return False
        if schemed and self._word.startswith("auth"):
            return True
        if self.kind == "secret":
            return self._secret(value, firm=firm, quoted=quoted)
        return self._loose(value, firm=firm, quoted=quoted)

    def _suffix_fits(self) -> bool:
        if not self._after:
            return True
        if self._word == "session" and self._after[0] == "id":
            return False
        glued = self._suffix[0].isalpha()
        if glued and self._after[0] not in _GOOD_SUFFIX and not self._suffix[0].isupper():
            return False
        return all(p in _GOOD_SUFFIX or p.isdigit() for p in self._after)

    def _password(self, value: str, *, firm: bool) -> bool:
        if any(p in _PASSWORD_DENIED for p in self._after) or self._before & {"no", "num", "n"}:
            return False
        if self._suffix[:1].islower() and self._suffix not in _GOOD_SUFFIX:
            return False
        if self._word in ("pass", "pw", "psw") and is_number(value) and not self._before:
            return False
        if is_path(value) and value.count("/") >= 2:
            return False
        if self._word == "pwd" and is_path(value):
            return False
        if not firm and value.isalpha() and value.islower():
            return len(value) >= SHORTEST_PASSWORD and self._login
        return len(value) >= SHORTEST_PASSWORD

    def _secret(self, value: str, *, firm: bool, quoted: bool) -> bool:
        if self._before & _NO_KEY and self._word.endswith("key"):
            return looks_random(value, 20) and not is_hex(value)
        if self._word == "mnemonic":
            return value.count(" ") >= 2
        if self._word == "dsn" and not (looks_random(value) or ":" in value):
            return False
        if self._word.startswith("webhook"):
            return "://" in value or looks_random(value)
        if self._word in ("otp", "totp", "mfa", "2fa"):
            return len(value) >= 16 and (value.isupper() or looks_random(value))
        if " " in value and not looks_random(value.replace(" ", ""), 16):
            return (quoted and self._word in ("secret", "mnemonic")) or "=" in value
        if not firm and value.isalpha() and value.islower():
            return False
        if self._word.split("_")[0].split(" ")[0] in ("host", "sub", "function", "primary"):
            return looks_random(value, 16)
        return not (value.isalpha() and value.islower() and len(value) < 8)

    def _loose(self, value: str, *, firm: bool, quoted: bool) -> bool:
        if self._word == "token":
            return self._token(value, firm=firm, quoted=quoted)
        if self._word == "key":
            if self._before & _NO_KEY or (self._glued and not self._capital):
                return False
            if self._cached or any(len(p) >= 32 and is_hex(p) for p in value.split("-")[1:]):
                return False
            long_hex = is_hex(value) and len(value) == 32
            return (looks_random(value, 16) and not is_hex(value)) or (long_hex and firm)
        if self._word in ("sig", "signature", "sas") and not (self.in_query or self._word == "sas"):
            return looks_random(value, 32) and not is_hex(value)
        if self._word.startswith("session"):
            return looks_random(value, 20) and not is_hex(value)
        if self._word in ("sig", "signature", "sas"):
            return True
        if self._glued and not self._capital and self._word == "auth" and not self._before:
            return False
        if " " in value:
            return False
        return looks_random(value, 8 if self._before else 12) or is_uuid(value)

    def _token(self, value: str, *, firm: bool, quoted: bool) -> bool:
        if " " in value or (self._before & _COUNTED and not looks_random(value, 24)):
            return False
        if self._after[:1] == ["s"] or self._suffix[:1] == "s" or self._after[:1] == ["id"]:
            return looks_random(value, 24)
        if self._before and firm:
            return not (value.isalpha() and value.islower() and len(value) < 8)
        if self.option or self.in_query:
            return True
        if firm and value.isalnum() and not value.isalpha() and len(value) >= 8:
            return True
        return looks_random(value, 8) or is_uuid(value) or (is_hex(value) and len(value) >= 16)
