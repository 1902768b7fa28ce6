"""The highest level: does torch itself load a checkpoint? If possible in the training's python.

Nothing here imports torch. A child process (:mod:`.program`) does, under the interpreter of the
training process, because that torch will have to load the checkpoint again. It blocks, so only
commands use it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ...system.clock import Clock
from ..formats import distcp_archives as slices
from ..formats import names, recognise, safetensors
from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.torch_zip import Malformed
from .interpreters import Python

LEVEL = "load"
START_S = 180.0
"""Seconds for the import of torch. Ours takes 1.5 s, from a cold network disk it took minutes."""
FILE_S, BYTES_PER_S = 120.0, 20e6
"""Seconds for one file, plus the time for its bytes at this rate. Our estimate of the slowest disk
worth training on."""
_WORDS = 2048
_LONGEST_LINE = 1 << 20
_SHOWN = 2

Kind = Literal["torch", "safetensors", "slices", "sharded"]
Progress = Callable[[str, int, int], None]
"""Called with a path, how many of its bytes are loaded, and how many there are."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file to load."""

    path: str
    shown: str
    bytes: int
    kind: Kind | None
    """``None``: it is not loaded, and ``why`` gives the reason."""
    why: str = ""
    slices: tuple[tuple[int, int], ...] = ()
    """(offset, bytes) of the archives in a ``.distcp`` file."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading a checkpoint."""

    state: Literal["ok", "corrupt"]
    whole: bool
    """Every file of it was loaded, so the level was reached."""
    detail: str = ""


def _silent(_path: str, _done: int, _total: int) -> None:
    """Report nothing."""


def _past(progress: Progress, path: str, done: int, whole: int) -> Callable[[int], None]:
    """Reports progress in one file as progress in its checkpoint."""
    return lambda at: progress(path, done + at, whole)


class NoLoader(Exception):
    """The child process cannot load anything; the text says why."""


# ------------------------------------------------------------------------ what there is to load


def jobs(path: str) -> list[Job]:
    """The files of a checkpoint that torch would load, by path. OSError where it does not exist."""
    files = _files(path)
    described = {os.path.dirname(p): n for p, n in files if os.path.basename(p) == ".metadata"}
    found = []
    for folder, shown in sorted(described.items()):
        inside = [p for p, _ in files if os.path.dirname(p) == folder and p.endswith(".distcp")]
        found.append(Job(folder, shown, sum(map(os.path.getsize, inside)), "sharded"))
    for part, shown in files:
        if part.endswith(".distcp") and os.path.dirname(part) in described:
            continue
        job = _job(part, shown)
        if job is not None:
            found.append(job)
    return found


def _files(path: str) -> list[tuple[str, str]]:
    """(path, path as shown) of every file that belongs to a checkpoint."""
    if os.path.isdir(path):
        parts = [p for p in recognise.parts(path) if not names.is_leftover(p.base)]
        return sorted((p.path, p.name) for p in parts)
    if not path.endswith(names.INDEXES):
        return [(path, os.path.basename(path))]
    folder = os.path.dirname(path) or "."
    with BoundedFile(path) as peek:
        return [(f"{folder}/{shard}", shard) for shard in sorted(safetensors.shard_map(peek))]


def _job(path: str, shown: str) -> Job | None:
    base = os.path.basename(path)
    if base == ".metadata" or base.endswith((".json", ".txt")):
        return None
    try:
        with BoundedFile(path) as peek:
            kind, size = recognise.file_kind(peek, path), peek.size
        if base.endswith(".distcp"):
            return Job(path, shown, size, "slices", slices=slices.of(path))
    except (Malformed, FileTooShort, ValueError) as error:
        return Job(path, shown, 0, None, str(error))
    except OSError as error:
        return Job(path, shown, 0, None, f"it cannot be read: {error.strerror}")
    if kind == "safetensors":
        return Job(path, shown, size, "safetensors")
    if kind == "legacy" or (kind == "zip" and (names.is_weights(base) or _is_companion(base))):
        return Job(path, shown, size, "torch")
    if kind == "pickle":
        return Job(path, shown, size, None, "it is a plain pickle, which can run any code")
    return None


def _is_companion(base: str) -> bool:
    return base.endswith(".bin") or names.COMPANIONS.match(base) is not None


# ------------------------------------------------------------------------ the child


_BOOT = (
    "import sys; sys.path[:] = [entry for entry in sys.path if entry]; import json;"
    " exec(json.loads(sys.stdin.readline()))  # middlewatch loader"
)
"""Starts the child: no imports from the working directory; its program is read from stdin."""


_MODULES = ("sandbox", "plain_objects", "looking", "sharded", "program")
"""Each after those that it imports."""
_PARTS = tuple(f"checkpoints.load.{part}" for part in _MODULES)


def program() -> str:
    """Source text of the child: its modules, in packages that its python need not have."""
    home = Path(__file__).parents[2]
    made = []
    for name in ("system", "system.walls", "checkpoints", "checkpoints.load", *_PARTS):
        file = home / f"{name.replace('.', '/')}.py"
        text = file.read_text() if file.is_file() else None
        made.append(f"last = module({f'loader.{name}'!r}, {text!r})\n")
    return (
        "def module(name, text):\n"
        "    made = sys.modules[name] = type(sys)(name)\n"
        "    above, _, own = name.rpartition('.')\n"
        "    made.__package__ = above if text is not None else name\n"
        "    if text is None:\n"
        "        made.__path__ = []\n"
        "    else:\n"
        "        exec(compile(text, name, 'exec'), made.__dict__)\n"
        "    if above:\n"
        "        setattr(sys.modules[above], own, made)\n"
        "    return made\n"
        "module('loader', None)\n"
        f"{''.join(made)}"
        "sys.exit(last.main())\n"
    )


class Loader:
    """The child process, started again after a file that has killed it. Close it when done."""

    def __init__(self, python: Python, memory: int, clock: Clock) -> None:
        self.torch = ""
        """Version of its torch, once it has started."""
        self.walls = False
        """Whether the kernel forbids it to write files and to start programs."""
        self._python = python
        self._memory = memory
        self._clock = clock
        self._child: subprocess.Popen[bytes] | None = None
        self._pending = b""
        self._words = b""

    def __enter__(self) -> Loader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def check(self, path: str, progress: Progress = _silent) -> Loaded:
        """Load every file of one checkpoint. Raises :class:`NoLoader`, nothing for a bad file."""
        try:
            todo = jobs(str(Path(path).absolute()))  # the child has another working directory
        except (OSError, Malformed, FileTooShort, safetensors.TooLong) as error:
            return Loaded("ok", whole=False, detail=f"load not tried: {error}")
        if not todo:
            return Loaded("ok", whole=False, detail="load not tried: it has no file for torch")
        left: list[str] = []
        done, whole = 0, sum(job.bytes for job in todo)
        for job in todo:
            answer = self._ask(job, _past(progress, path, done, whole))
            done += job.bytes
            progress(path, done, whole)
            if answer["state"] == "corrupt":
                what = f"{job.shown}: {answer['detail']}" if len(todo) > 1 else answer["detail"]
                return Loaded("corrupt", whole=False, detail=f"torch cannot load it: {what}")
            if answer["state"] != "ok":
                left.append(f"{job.shown}: {answer['detail']}")
        if not left:
            return Loaded("ok", whole=True)
        more = f" (and for {len(left) - _SHOWN} more)" if len(left) > _SHOWN else ""
        return Loaded(
            "ok", whole=False, detail=f"load not tried for {'; '.join(left[:_SHOWN])}{more}"
        )

    def close(self) -> None:
        """End the child. Safe to call twice."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5)  # a process that hangs in the kernel is left behind

    def _ask(self, job: Job, told: Callable[[int], None]) -> Mapping[str, Any]:
        if job.kind is None:
            return {"state": "refused", "detail": job.why}
        if self._child is None:
            self._start()
        self._say({"path": job.path, "kind": job.kind, "slices": job.slices})
        until = self._clock.monotonic() + FILE_S + job.bytes / BYTES_PER_S
        while True:
            answer = self._hear(until)
            if answer is None:
                return self._ended(job, until)
            if "at" in answer:
                told(min(int(answer["at"]), job.bytes))
            elif answer.get("state") in ("ok", "corrupt", "refused", "unverifiable"):
                return answer

    def _start(self) -> None:
        """Start the child and wait for its torch."""
        python = self._python
        try:
            self._child = subprocess.Popen(
                [python.path, "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env=dict(python.environ),
                start_new_session=True,
                **python.identity(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise NoLoader(f"{python.path} cannot be started: {error}") from None
        self._pending = self._words = b""
        self._say(program())
        self._say({"memory": self._memory})
        answer = self._hear(self._clock.monotonic() + START_S)
        if answer is None or not answer.get("ready"):
            words = answer.get("why") if answer else self._words.decode(errors="replace").strip()
            self.close()
            raise NoLoader(f"{python.path}: {words or 'torch was not imported in time'}")
        self.torch, self.walls = str(answer.get("torch")), bool(answer.get("walls"))

    def _say(self, message: Mapping[str, Any] | str) -> None:
        child = self._child
        if child is not None and child.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended: the next read shows that
                child.stdin.write(json.dumps(message).encode() + b"\n")
                child.stdin.flush()

    def _hear(self, until: float) -> Mapping[str, Any] | None:
        """The next answer; ``None`` after the child has ended, or at ``until`` (monotonic)."""
        child = self._child
        if child is None or child.stdout is None or child.stderr is None:
            return None
        out, err = child.stdout.fileno(), child.stderr.fileno()
        waiting = select.poll()
        waiting.register(out, select.POLLIN)
        waiting.register(err, select.POLLIN)
        while b"\n" not in self._pending:
            left = until - self._clock.monotonic()
            if left <= 0 or len(self._pending) > _LONGEST_LINE:
                return None
            for fd, _ in waiting.poll(left * 1000):
                data = os.read(fd, 1 << 16)
                if fd == err:
                    self._words = (self._words + data)[-_WORDS:]
                    if not data:
                        waiting.unregister(err)
                elif not data:
                    return None
                else:
                    self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return answer if isinstance(answer, dict) else None

    def _ended(self, job: Job, until: float) -> Mapping[str, Any]:
        """The result when no answer came: the file has killed the child, or is too slow."""
        child = self._child
        late = self._clock.monotonic() >= until
        status = None
        if child is not None and not late:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = child.wait(5)
        self.close()
        if late:
            return {"state": "unverifiable", "detail": "torch has not loaded it in time"}
        if status in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGFPE):
            name = signal.Signals(-status).name
            return {"state": "corrupt", "detail": f"torch crashes when it loads it ({name})"}
        return {
            "state": "unverifiable",
            "detail": f"the loader ended while loading it (status {status})",
        }


def raised(entry: Mapping[str, Any], loaded: Loaded) -> dict[str, Any]:
    """An entry of ``verify`` with the state, level and detail that loading gives."""
    detail = "; ".join(text for text in (entry["detail"], loaded.detail) if text)
    reached = loaded.whole or loaded.state == "corrupt"
    level = LEVEL if reached else entry["level"]
    return {**entry, "state": loaded.state, "level": level, "detail": detail}


def total(paths: Sequence[str]) -> int:
    """Bytes of the files that are read when these checkpoints are loaded."""
    found = 0
    for path in paths:
        with contextlib.suppress(OSError, Malformed, FileTooShort, safetensors.TooLong):
            found += sum(job.bytes for job in jobs(path))
    return found
