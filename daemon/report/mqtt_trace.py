"""What an MQTT broker answered, for the notifier: Apprise says only that a message could not be delivered.

That a broker does not let somebody in is in its first answer (CONNACK), which Apprise does not look at.
"""

from __future__ import annotations

from typing import Any

from . import http_trace

REFUSED = frozenset((4, 5, 134, 135))
"""Codes of that answer: bad user name or password, not authorised (MQTT 3.1.1 3.2.2.3, MQTT 5 3.2.2.2)."""


def note(target: Any) -> None:
    """Have the broker's answer noted in the trace of this job, if this is a target of Apprise's MQTT."""
    if getattr(target, "protocol", "") != "mqtt":
        return
    # The client of paho-mqtt calls it from a thread of its own.
    trace = http_trace.current()

    def connected(_client: Any, _userdata: Any, _flags: Any, code: Any, *_: Any) -> None:
        # An object, or with the Apprise before 2.0 a number.
        if getattr(code, "value", code) in REFUSED:
            trace.status, trace.said = 401, "the broker refused the user name or the password"

    target.client.on_connect = connected
