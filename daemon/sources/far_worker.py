"""The child of a guard: follows logs, searches folders and copies files on one far file system.

It does there what the daemon does itself on a local one, and may block for ever. A message is one
line, ``{"forget": [client, …], "questions": {client: question}}``, and its answer one line,
``{"answers": {client: answer}}``. The field ``do`` of a question says what is wanted: ``tail``,
``scan``, ``first-bytes`` or ``copy``. A client that the child does not know, because it is new, is answered
``{"lost": true}``, unless its question has ``begin``.
"""

from __future__ import annotations

import binascii
import json
import sys
from typing import TYPE_CHECKING, Any

from ..system import descriptors
from ..system.errors import Unsupported
from .log_file import FilePosition
from .log_follow import Follower

if TYPE_CHECKING:
    from .far_scan import FarScan

Question = dict[str, Any]
Answer = dict[str, Any]

MESSAGE_BYTES = 64 * 1024
"""Bytes of text in one message, of all logs together: where every line has metrics it is 75 ms of work for
the daemon. An answer is limited to 1 MiB."""

_followers: dict[str, Follower] = {}
_scans: dict[str, FarScan] = {}


def main() -> int:
    """Answer until stdin ends."""
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
            answers = answers_to(message)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            print(f"not a message: {error!r}", file=sys.stderr, flush=True)
            answers = {}
        sys.stdout.write(json.dumps({"answers": answers}, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    return 0


def answers_to(message: dict[str, Any]) -> dict[str, Answer]:
    """The answers to all questions of one message."""
    for client in message["forget"]:
        follower = _followers.pop(client, None)
        if follower is not None:
            follower.close()
        searched = _scans.pop(client, None)
        if searched is not None:
            searched.close()
    answers: dict[str, Answer] = {}
    descriptors.own.settle()
    left = MESSAGE_BYTES
    for client, question in message["questions"].items():
        if question["do"] == "tail":
            answer, taken = tail(client, question, left)
            left = max(0, left - taken)
        elif question["do"] == "scan":
            answer = scan(client, question)
        elif question["do"] == "first-bytes":
            answer = first_bytes(question)
        else:
            answer = copy(question)
        answers[client] = answer
    return answers


def tail(client: str, question: Question, limit: int) -> tuple[Answer, int]:
    """The new text of a log, and where its follower is now; the bytes read."""
    begin = question.get("begin")
    if begin is not None:
        old = _followers.pop(client, None)
        if old is not None:
            old.close()
        place = FilePosition(**begin["place"]) if begin["place"] else None
        _followers[client] = Follower(
            begin["path"],
            begin["via"],
            place,
            from_start=begin["from_start"],
            open_line=begin["open_line"],
        )
    follower = _followers.get(client)
    if follower is None:
        return {"lost": True}, 0
    if not question["beat"] and not follower.more and follower.unchanged():
        return {"same": True}, 0
    text: list[str] = []
    error: Answer | None = None

    def keep(data: bytes) -> None:
        text.append(binascii.b2a_base64(data, newline=False).decode("ascii"))

    left_out = 0
    try:
        if question.get("only_last"):
            left_out = follower.leap(keep, question["only_last"])
        follower.advance(keep, question["now"], limit)
    except Unsupported as why:
        error = {"errno": None, "text": str(why), "file": follower.path}
    except OSError as why:
        file = why.filename or follower.path
        error = {"errno": why.errno or 5, "text": why.strerror or str(why), "file": file}
    there = follower.place()
    answer = {
        "text": text,
        "place": None if there is None else there._asdict(),
        "open_line": follower.open_line,
        "skipped": follower.skipped_bytes,
        "from_start": follower.from_start,
        "more": follower.more,
        "unread": follower.unread,
        "taken": follower.taken,
        "left_out": left_out,
        "detail": follower.detail,
        "nameless": follower.nameless,
        "size": follower.size if follower.known else None,
        "anew": follower.anew,
        "error": error,
    }
    follower.anew = False
    return answer, follower.taken


def scan(client: str, question: Question) -> Answer:
    """What changed among the checkpoints of some folders since the last answer."""
    from ..config.save_folder import SaveFolder  # here: reading logs does not need these
    from .far_scan import FarScan

    begin = question.get("begin")
    if begin is not None:
        if client in _scans:
            _scans[client].close()
        learnt = [SaveFolder(**{**one, "names": tuple(one["names"])}) for one in begin["learnt"]]
        _scans[client] = FarScan(begin["folders"], learnt)
    known = _scans.get(client)
    return {"lost": True} if known is None else known.answer(question["now"])


def first_bytes(question: Question) -> Answer:
    """Which of the files ``paths`` are checkpoints by their first bytes."""
    from ..checkpoints.formats.readers import models

    return {"models": [path for path in question["paths"] if models.is_model(path)]}


def copy(question: Question) -> Answer:
    """Copy small files: ``files`` maps the source to the destination."""
    from ..system.files import write_beside_others

    for source, target in question["files"].items():
        try:
            with open(source, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
            folder, _, name = target.rpartition("/")
            write_beside_others(folder, {name: text})
        except OSError as error:
            return {"error": f"cannot write {target}: {error.strerror}"}
    return {"error": ""}


if __name__ == "__main__":
    sys.exit(main())
