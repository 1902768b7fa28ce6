"""What threads beside the screen send to the app."""

from __future__ import annotations

from typing import Any

from textual.message import Message

from .aside import Done
from .poll import Reply


class ReplyReceived(Message):
    """Message to the app: a poller has a reply."""

    def __init__(self, reply: Reply, box: str = "") -> None:
        super().__init__()
        self.reply = reply
        self.box = box


class JobDone(Message):
    """Message to the app: work beside the screen is done."""

    def __init__(self, done: Done, result: Any) -> None:
        super().__init__()
        self.done = done
        self.result = result
