"""Asks a docker engine through its socket; a process of its own, because an engine may hang.

Only GETs are sent. A message is one line, ``{"forget": [client, …], "questions": {client: question}}``,
its answer ``{"answers": {client: answer}}``. The field ``do`` of a question says what is wanted of the
container ``id``: ``look`` (:mod:`..engine_look`) or ``log`` (:mod:`..engine_stream`). Instead of it the
answer may be one of ``absent`` (there is no engine), ``refused`` (its socket is not opened), ``late``
(the engine does not answer), ``gone`` (it has no such container) and ``error``, each with a sentence.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ...system.clock import SystemClock
from ..engine_http import EngineSocket, Failure
from ..engine_look import look
from ..engine_stream import Stream, open_stream

ANSWER_S = 5.0
"""Seconds for the answers to one message: an engine needs milliseconds. Half of what our owner waits,
so that it is told that the engine hangs, and not we."""
LOG_BYTES = 256 * 1024
"""Bytes of logs in one message: an answer is limited to 1 MiB."""
LOOK_BYTES = 384 * 1024
"""Bytes of the answers about the state of containers in one message; the others come with the next."""

Answer = dict[str, Any]


class Asker:
    """Answers messages about one engine."""

    def __init__(self, socket: str) -> None:
        self._clock = SystemClock()
        self._engine = EngineSocket(socket, self._clock)
        self._streams: dict[str, Stream] = {}

    def answers_to(self, message: dict[str, Any]) -> dict[str, Answer]:
        """The answers to all questions of one message, but for those that would make it too long."""
        for client in message["forget"]:
            self._close(client)
        self._engine.begin(ANSWER_S)
        answers: dict[str, Answer] = {}
        looks, logs = LOOK_BYTES, LOG_BYTES
        for client, question in message["questions"].items():
            if question["do"] == "look" and looks < 0:
                answers[client] = {"later": True}
                continue
            try:
                if question["do"] == "look":
                    answers[client] = look(self._engine, question)
                    looks -= len(json.dumps(answers[client]))
                else:
                    answers[client], taken = self._log(client, question, logs)
                    logs = max(0, logs - taken)
            except Failure as failure:
                answers[client] = {failure.kind: str(failure)}
        return answers

    def _log(self, client: str, question: dict[str, Any], limit: int) -> tuple[Answer, int]:
        if "begin" in question:
            self._close(client)
            self._streams[client] = open_stream(self._engine, question["id"], question["begin"])
        stream = self._streams.get(client)
        if stream is None:
            return {"lost": True}, 0
        try:
            records, taken = stream.take(limit)
        except Failure:
            self._close(client)
            raise
        ended = stream.ended
        answer = {"records": records, "place": stream.place, "more": stream.more, "ended": ended}
        if ended:
            self._close(client)
        return answer, taken

    def _close(self, client: str) -> None:
        stream = self._streams.pop(client, None)
        if stream is not None:
            stream.close()


def main() -> int:
    """Answer until stdin ends."""
    asker = Asker(sys.argv[1])
    for line in sys.stdin.buffer:
        try:
            answers = asker.answers_to(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            print(f"not a message: {error!r}", file=sys.stderr, flush=True)
            answers = {}
        sys.stdout.write(json.dumps({"answers": answers}, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
