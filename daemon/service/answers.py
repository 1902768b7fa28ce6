"""Answers from the phone: buttons of a push, read from a reply topic, checked, and done.

Off unless ``[answers] topic`` is set. The topic is asked by the notifier child, often for a quarter of an
hour after a push that can be answered, then rarely, and not at all once the newest token has ended. A
genuine answer acknowledges an incident, silences its class for an hour, or sends the last lines of its
log: nothing here starts, ends or changes a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.kit import codec

from ..config.answers import Answer, Seal, secret_of
from ..report.messages import Message
from ..system.clock import iso
from .alerting import Alerter
from .context import Context

SOON_S, RARELY_S = 10.0, 60.0
"""Seconds between two looks at the topic: while a push is fresh, and later. Our choice: a person who presses
a button looks at the phone for a moment, and the child that asks costs half a second of CPU."""
FRESH_S = 900.0
"""Seconds for which a push is fresh."""
SILENCE_S = 3600.0
MOST_AN_HOUR = 12
"""Genuine answers that are followed in an hour; more are no person's. Our choice."""
LOG_LINES, LOG_LINE, LOG_BODY = 30, 160, 900
"""Of the last lines of a log at most so many, so many characters of each, and of all."""
FORGED_TOLD = 20
"""Forged answers after which the status says so, and the log no more."""
_WORDS = {"ack": "Acknowledge", "silence": "Silence 1 h", "log": "Show the log"}


@dataclass(frozen=True)
class _Known:
    """What is stored."""

    used: Mapping[str, float]
    since: str
    """The newest message of the topic that was read, or when reading began (epoch seconds)."""
    pushed_at: float
    ends_at: float
    """When the newest token ends."""


class Answers:
    """Makes the buttons of a push, and does what comes back."""

    def __init__(
        self,
        context: Context,
        alerter: Alerter,
        log_line: Callable[[str], None],
        stored: dict[str, Any] | None,
    ) -> None:
        self._context = context
        self._alerter = alerter
        self._log_line = log_line
        self._settings = context.config.answers
        self._seal: Seal | None = None
        self.trouble = ""
        self.forged = 0
        """Messages on the topic that were no answers of ours, since the daemon was started."""
        self._refused = 0
        self._since = ""
        self._pushed_at = self._ends_at = 0.0
        self._due = 0.0
        self._asked = False
        self._done: deque[float] = deque(maxlen=MOST_AN_HOUR)
        if not self._settings.topic:
            return
        try:
            self._restore(stored)
        except OSError as error:
            self.trouble = f"the secret for answers cannot be kept: {error.strerror or error}"
            log_line(self.trouble)
            return
        alerter.outbox.buttons = self.buttons

    def _restore(self, stored: dict[str, Any] | None) -> None:
        """Go on with what is stored. Without the list of the tokens that were used, none of before this
        start counts: the secret is made anew. Raises OSError."""
        path = self._context.state.answer_key
        try:
            known = codec.load(_Known, stored)
        except ValueError:
            self._seal = Seal(secret_of(path, anew=True))
            return
        self._seal = Seal(secret_of(path), dict(known.used))
        self._since = known.since
        self._pushed_at, self._ends_at = known.pushed_at, known.ends_at

    def buttons(self, message: Message) -> list[tuple[str, str, str]]:
        """(label, topic, token) of each button of a push; none for what is over or about no incident."""
        incident = self._context.incidents.get(message.incident)
        if self._seal is None or incident is None or incident.state == "resolved":
            return []
        now = self._context.clock.now()
        if not self._since:
            self._since = str(int(now))
        self._pushed_at, self._ends_at = now, now + self._settings.expires_s
        self._due = min(self._due, self._context.clock.monotonic() + SOON_S)
        self._keep()
        return [
            (
                _WORDS[action],
                bare(self._settings.topic),
                self._seal.token(action, incident.id, self._ends_at),
            )
            for action in self._settings.actions
        ]

    # -- the topic --------------------------------------------------------------------------

    def tick(self) -> None:
        """Have the topic read if it is time; called once a second."""
        clock = self._context.clock
        now, mono = clock.now(), clock.monotonic()
        if self._seal is None or self._asked or mono < self._due or now >= self._ends_at:
            return
        self._asked = True
        job = {"poll": self._settings.topic, "since": self._since, "label": "answers"}
        self._alerter.ping(job, self._answered)

    def _answered(self, answer: dict[str, Any]) -> None:
        clock = self._context.clock
        now, mono = clock.now(), clock.monotonic()
        self._asked = False
        fresh = abs(now - self._pushed_at) < FRESH_S
        wait_s = float(answer.get("retry_after_s") or 0.0)
        soon = fresh or answer.get("more") is True
        self._due = mono + max(SOON_S if soon else RARELY_S, wait_s)
        if not answer["ok"]:
            if self.trouble != answer["error"]:
                self._log_line(f"answers from the phone cannot be read: {answer['error']}")
            self.trouble = str(answer["error"])
            self._due = max(self._due, mono + RARELY_S)
            return
        self.trouble = ""
        self._since = str(answer.get("last") or "") or self._since
        self.forged += int(answer.get("other") or 0)
        tokens = answer.get("tokens")
        for token in tokens if isinstance(tokens, list) else ():
            self._take(str(token), now)
        if tokens or answer.get("last"):
            self._keep()

    def _take(self, token: str, now: float) -> None:
        assert self._seal is not None
        if len(self._done) == MOST_AN_HOUR and abs(now - self._done[0]) < 3600.0:
            self._log_line("an answer from the phone was left out: too many in an hour")
            return
        asked = self._seal.open(token, now)
        if isinstance(asked, str):
            self.forged += 1
            self._refused += 1
            if self._refused <= FORGED_TOLD:
                self._log_line(f"an answer from the phone counts for nothing: {asked}")
            return
        self._done.append(now)
        self._keep()  # used up before anything is done: done twice would be worse than not at all
        self._do(asked, now)

    def _keep(self) -> None:
        assert self._seal is not None
        doc = codec.dump(_Known(self._seal.used, self._since, self._pushed_at, self._ends_at))
        self._context.store.put("box", "answers", doc, self._context.clock.now())
        self._context.store.flush()

    # -- what is asked for ------------------------------------------------------------------

    def _do(self, asked: Answer, now: float) -> None:
        incident = self._context.incidents.get(asked.incident)
        watched = None if incident is None else self._context.runs.get(incident.run)
        if incident is None or watched is None:
            self._log_line(
                f"an answer from the phone is about {asked.incident}, which is forgotten"
            )
            return
        self._log_line(f"from the phone: {asked.action} {incident.id} ({incident.trouble})")
        name, host = watched.spec.name, self._context.host
        if asked.action == "ack":
            self._context.incidents.acknowledge(incident)
            self._context.save_incident(incident)
            self._context.store.flush()
            self._say(f"[ACK] {name} on {host}: no more reminders", incident.summary, name)
        elif asked.action == "silence":
            made = self._alerter.silences.add(incident.run, incident.trouble, SILENCE_S)
            self._context.store.flush()
            body = f"Silence {made['id']}: no push about {incident.trouble} of {name} until {iso(made['until'])}."
            body += f"\nTo end it: middlewatch silence --cancel {made['id']}"
            self._say(f"[SILENCED] {name} on {host} for 1 h", body, name)
        elif asked.action == "log":
            self._say(
                f"[LOG] {name} on {host}: its last lines",
                last_lines(watched.logs.tail(LOG_LINES)),
                name,
            )

    def _say(self, title: str, body: str, run: str) -> None:
        self._alerter.send(Message(title, body, "info", run=run))

    def sentence(self) -> str:
        """What a person has to know; empty if all is well."""
        if self.trouble:
            return f"answers from the phone are not read: {self.trouble}"
        if self.forged >= FORGED_TOLD:
            return f"{self.forged} messages on the topic for answers were not made by this box"
        return ""


def last_lines(lines: list[str]) -> str:
    """The newest lines that fit into a push, masked already."""
    kept: list[str] = []
    room = LOG_BODY
    for line in reversed([line.rstrip() for line in lines if line.strip()]):
        shown = line if len(line) <= LOG_LINE else line[: LOG_LINE - 1] + "…"
        if len(shown) + 1 > room:
            break
        room -= len(shown) + 1
        kept.insert(0, shown)
    return "\n".join(kept) or "The log has no lines that are known."


def bare(topic: str) -> str:
    """The topic without a user and password: those are for reading it, and a push carries them nowhere."""
    scheme, _, rest = topic.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
