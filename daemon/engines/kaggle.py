"""Kaggle, driven through its own client. Its account is the person's: `kaggle.json` or a token of the environment."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from ..jobs.artefact import Artefact
from ..system.errors import MiddlewatchError, UsageError
from .client_program import ClientFailed, call
from .engine import Begun, Standing, State

CALL_S = 120.0
"""Seconds for a call: the client alone takes some to start. Our choice."""
OUTPUT_S = 7200.0
"""Seconds to fetch the output of a session, of up to 20 GB. Our choice."""
_PUSHED = re.compile(r"Kernel version (\d+) successfully pushed\.\s+Please check progress at (\S+)")
_STATUS = re.compile(r'has status "(?:KernelWorkerStatus\.)?(\w+)"')
_MESSAGE = re.compile(r'Failure message: "(.*)"', re.DOTALL)
_STANDINGS: dict[str, tuple[Standing, str]] = {
    "queued": ("waiting", "it waits for a machine of Kaggle"),
    "new_script": ("waiting", "it waits for a machine of Kaggle"),
    "running": ("running", ""),
    "error": ("failed", "the kernel itself failed"),
    "cancel_requested": ("stopped", "it was ended by a person"),
    "cancel_acknowledged": ("stopped", "it was ended by a person"),
}
"""Words of the client -> what they mean; ``complete`` is the kernel's own end, and says nothing of the command."""
_LOGIN = "kaggle.json from the page of your account goes to ~/.kaggle; or: kaggle auth login"


class Driver:
    """The engine of Kaggle. A job is called ``OWNER/NAME/VERSION``."""

    def missing(self) -> tuple[str, str]:
        """Without the client."""
        if shutil.which("kaggle") is None:
            return "the kaggle client is not installed here", "pip install kaggle"
        return "", ""

    def start(self, artefact: Artefact, folder: Path) -> Begun:
        """Push the kernel, which begins its session."""
        (push,) = artefact.commands
        said = _said(push, folder)
        done = _PUSHED.search(said)
        if done is None:  # the client ends with 0 all the same
            raise ClientFailed(f"Kaggle did not take it: {said.strip()}", said=said)
        name = json.loads(artefact.files["kernel-metadata.json"])["id"]
        job_id = f"{name}/{done[1]}"
        warned = said.replace(done[0], "").strip()
        return Begun(
            id=job_id,
            look=f"kaggle kernels logs -f {job_id}",
            end=f"on its page, Cancel: {done[2]}",
            details={"url": done[2], **({"said": warned} if warned else {})},
        )

    def state(self, job_id: str) -> State:
        """What Kaggle says of the session, and of the command what the script has left."""
        said = _said(("kaggle", "kernels", "status", _checked(job_id)))
        found = _STATUS.search(said)
        word = found[1].lower() if found else ""
        if word == "complete":
            return self._ended(job_id)
        standing, reason = _STANDINGS.get(word, ("unknown", said.strip()))
        message = _MESSAGE.search(said)
        return State(standing, message[1].strip() if message else reason)

    def _ended(self, job_id: str) -> State:
        """How the command ended: the script writes it down and ends well itself."""
        with tempfile.TemporaryDirectory(prefix="middlewatch-kaggle-") as folder:
            words = ("kaggle", "kernels", "output", job_id, "-p", folder, "--file-pattern")
            try:
                _said((*words, r"^exit\.json$"))
                end = json.loads(Path(folder, "exit.json").read_text(encoding="utf-8"))
                code, number, over = end["exit_code"], end["signal"], end["session_over"]
            except (ClientFailed, OSError, ValueError, KeyError, TypeError):
                return State("finished", "how the command ended is not known: see its output.log")
        if over:
            said = "its session was over: it was told to save, and ended"
            return State("stopped", said, code, {"signal": number})
        if number:
            return State("failed", f"ended by signal {number}", None, {"signal": number})
        return State("failed", f"exit code {code}", code) if code else State("finished", "", 0)

    def end(self, job_id: str, folder: Path) -> None:
        """Raises MiddlewatchError: the client cannot end a session, and deleting the kernel takes its log."""
        owner, name, *_ = _checked(job_id).split("/")
        raise MiddlewatchError(
            "the client of Kaggle cannot end a session",
            f"on its page, Cancel: https://www.kaggle.com/code/{owner}/{name}",
        )

    def fetch(self, job_id: str, folder: Path) -> list[Path]:
        """Fetch what the session has written; returns the log of the command, for `middlewatch replay`."""
        folder.mkdir(parents=True, exist_ok=True)
        words = ("kaggle", "kernels", "output", _checked(job_id), "-p", str(folder))
        _said(words, deadline_s=OUTPUT_S)
        log = folder / "output.log"
        if not log.is_file():
            raise MiddlewatchError(
                f"{job_id} has left no output.log", "a session that has not ended has no output yet"
            )
        return [log]


def _checked(job_id: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+(/\d+)?", job_id):
        raise UsageError(
            f"{job_id!r} is no kernel of Kaggle", "it is OWNER/NAME/VERSION, as launch told it"
        )
    return job_id


def _said(words: tuple[str, ...], folder: Path | None = None, deadline_s: float = CALL_S) -> str:
    try:
        return call(words, deadline_s=deadline_s, cwd=folder)
    except ClientFailed as error:
        low = error.said.lower()
        hint = (
            _LOGIN if "401" in low or "authenticate" in low or "kaggle.json" in low else error.hint
        )
        raise ClientFailed(f"kaggle: {error.said or error}", hint, error.said) from error
