"""What is fuzzed: each target takes bytes as others could have written them, and must take any.

A target returns, or it has a bug: what it may raise on bad input is caught here, next to the call that
promises it. Inputs of the targets ``checkpoint``, ``engine``, ``manifest`` and ``log`` begin with one byte that chooses
the kind of file, or the size of the pieces in which it arrives.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from middlewatch.daemon.checkpoints import index
from middlewatch.daemon.checkpoints.formats import recognise, sidecars
from middlewatch.daemon.checkpoints.formats.bounded_file import FileTooShort
from middlewatch.daemon.checkpoints.formats.torch_zip import Malformed
from middlewatch.daemon.checkpoints.verify import bitrot, layouts, levels
from middlewatch.daemon.cli import console, selection
from middlewatch.daemon.config import load
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.config.schema import Config
from middlewatch.daemon.config.secrets import hide, mask_lines
from middlewatch.daemon.judge.incident import Incident
from middlewatch.daemon.launch import exit_record
from middlewatch.daemon.mirror import copy, receipt
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.report import words
from middlewatch.daemon.report.outbox import Queued
from middlewatch.daemon.service import server
from middlewatch.daemon.service.app import App
from middlewatch.daemon.service.handlers import Handlers
from middlewatch.daemon.sources.container_story import Told
from middlewatch.daemon.sources.container_text import ContainerText
from middlewatch.daemon.sources.engine_http import EngineSocket, Failure
from middlewatch.daemon.sources.engine_look import look
from middlewatch.daemon.sources.engine_stream import Stream
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.errors import ConfigError, UsageError
from middlewatch.daemon.text import chat, markdown
from middlewatch.daemon.text.terminal import clean
from middlewatch.sentinels.kit import codec
from middlewatch.tui import answer

HERE = Path(__file__).parent
LONGEST = 1 << 16
"""Bytes of an input; what takes long for so few is a finding."""


@dataclass(frozen=True)
class Target:
    """``open`` makes what is fuzzed, with a folder of its own and a list of what to close; ``seeds`` are inputs to begin with."""

    open: Callable[[Path, ExitStack], Callable[[bytes], None]]
    seeds: Callable[[], Iterator[bytes]]


# ------------------------------------------------------------------------ a log


def _log(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        piece = 1 << (data[0] % 17 if data else 0)
        reader = LogReader("train.log")
        said = []
        for start in range(1, len(data), max(piece, len(data) // 64)):
            said += reader.feed(data[start : start + max(piece, len(data) // 64)], 1.0)
            if start == 1:  # as a restart of the daemon does
                kept = json.loads(jsonlines.dumps(reader.save()))
                reader = LogReader.restore("train.log", kept)
        said += reader.finish(2.0)
        assert len(said) <= len(data) + 64

    return read


def _logs() -> Iterator[bytes]:
    for log in sorted((HERE.parent / "logs").glob("*.log")):
        text = log.read_bytes()
        yield b"\x10" + text[:4000]
        yield b"\x04" + text[-4000:]


# ------------------------------------------------------------------------ words of others


def _text(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        for line in (hide(text), mask_lines(text), clean(text), words.sentence(text, "It failed.")):
            assert isinstance(line, str)
        line = clean(text)
        for escaped in (markdown.escaped(line, starts=True), markdown.with_code(line)):
            assert escaped.replace("\\", "").replace("`", "") == line.replace("\\", "").replace(
                "`", ""
            )
        chat.defused(line)
        assert answer.clean(text).isprintable()
        json.loads(console.json_text({"text": text}))

    return read


def _texts() -> Iterator[bytes]:
    from ..fakes.injections import injections

    yield from (one.data[:2000] for one in injections())


# ------------------------------------------------------------------------ the control socket


def _socket(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    """A whole daemon, whose loop stands still: what it does with the bytes of one client."""
    clock = SystemClock()
    bugs: list[str] = []
    state = StateDir(folder / "state")
    state.take()
    app = App(state, Config(), clock)
    log = folder / "train.log"
    log.write_text("".join(f"step {n}/100 loss 2.5\n" for n in range(40)))
    app.watch(RunSpec(id="gpt-1a2b", name="gpt", logs=(str(log),)))

    def refuse(*_: object) -> Any:
        raise UsageError("nothing is started here")

    alerter, own = app._alerter, app._own
    answers = Handlers(app.context, alerter, refuse, lambda: None, refuse, refuse, own).handlers()
    known = {op: handler for op, handler in answers.items() if op != "silence"}
    # Without `silence`: it remembers what it is told, which is no leak.
    served = app._server
    served._handlers, served._tell_bug = known, bugs.append
    leave.callback(app._close)

    def read(data: bytes) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.setblocking(False)
            client = server._Client(ours)
            ours.setblocking(False)
            served._clients[ours.fileno()] = client
            theirs.send(data or b"\n")
            served._read(client)
            served._drop(client)
            answered = b""
            while piece := theirs.recv(1 << 20):
                answered += piece
        for line in answered.split(b"\n")[:-1]:
            assert isinstance(json.loads(line)["ok"], bool)
        assert bugs == [], bugs.pop()

    return read


def _questions() -> Iterator[bytes]:
    ops = (
        "ping",
        "overview",
        "runs",
        "status",
        "incidents",
        "checkpoints",
        "ack",
        "follow",
        "find",
    )
    for op in (*ops, "watch", "stop", "test", "rank", "no such"):
        question: dict[str, Any] = {"v": 1, "op": op, "run": "gpt", "id": "3fa2c1", "all": True}
        question["spec"] = {"name": "x", "logs": ["/a"], "pid": 1, "save_folders": [{"path": "/b"}]}
        yield json.dumps(question).encode() + b"\n"


# ------------------------------------------------------------------------ the configuration


def _config(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    path = folder / "config.toml"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        path.chmod(0o600)
        try:
            list(load.rows(load.load(path)))
        except ConfigError:
            return

    return read


def _configurations() -> Iterator[bytes]:
    from middlewatch.sentinels.kit import discover

    yield b'[alerts]\nurls = ["json://a"]\nmode = "all"\nurls_file = "/a"\n'
    yield b'[watch]\ncheckpoint_dirs = ["/a"]\nstatus_dir = "/b"\n[platform]\nname = "x"\n'
    for name in discover():
        yield f"[sentinels.{name}]\nenabled = false\nfloor_s = 1e3\n".encode()
    yield b'[[runs]]\nname = "a"\nlogs = ["/a/*.log"]\n[mirror]\nto = "host:/a"\nevery = "5 min"\n'


# ------------------------------------------------------------------------ checkpoints

NAMES = (
    *("step_1.pt", "a.ckpt", "pytorch_model.bin", "model.safetensors", "weights.h5", "m.keras"),
    *("m.npz", "m.npy", "m.pth", "dcp/.metadata", "dcp/__0_0.distcp", "m.weights.h5"),
)
STATES = {"ok", "corrupt", "incomplete", "unverifiable"}


def _checkpoint(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    (folder / "dcp").mkdir()
    whole = {name: (folder / name) for name in NAMES}
    for name in ("dcp/.metadata", "dcp/__0_0.distcp"):
        whole[name].write_bytes((HERE / "seeds" / "checkpoint" / Path(name).name).read_bytes())

    def read(data: bytes) -> None:
        name = NAMES[data[0] % len(NAMES)] if data else NAMES[0]
        path = whole[name]
        before = path.read_bytes() if name.startswith("dcp/") else None
        path.write_bytes(data[1:])
        found = levels.describe(str(path.parent if before is not None else path))
        assert found["state"] in STATES
        assert found["state"] != "ok" or found["bytes"] > 0
        json.loads(jsonlines.dumps(found))
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)

    return read


def _checkpoints() -> Iterator[bytes]:
    for number, name in enumerate(NAMES):
        base = Path(name).name
        for seed in sorted((HERE / "seeds" / "checkpoint").iterdir()):
            if seed.name == base or (seed.suffix == Path(name).suffix and seed.suffix):
                yield bytes([number]) + seed.read_bytes()


# ------------------------------------------------------------------------ manifests


def _manifest(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    """Small files that say what is where: ours, and those of trainers."""

    def put(name: str, data: bytes) -> str:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return str(path)

    def quietly(
        call: Callable[[Any], object], *allowed: type[Exception]
    ) -> Callable[[Any], object]:
        def called(value: Any) -> object:
            try:
                return call(value)
            except allowed:
                return None

        return called

    def an_index(data: bytes) -> object:
        path = put("checkpoints_index.json", data)
        return index.read(path), bitrot.recorded([path])

    def shards(data: bytes) -> object:
        put("hf/model.safetensors.index.json", data)
        return levels.describe(str(folder / "hf")), levels.describe(
            str(folder / "hf/model.safetensors.index.json")
        )

    def state(data: bytes) -> object:
        path = put("hf/trainer_state.json", data)
        sidecars.told_beside(os.path.dirname(path))
        return quietly(recognise.trainer_state, Malformed, FileTooShort)(path)

    def latest(data: bytes) -> object:
        put("ds/latest", data)
        put("ds/latest_checkpointed_iteration.txt", data)
        return layouts.dangling_latest(str(folder / "ds"))

    def stored(kind: Callable[[Mapping[str, Any]], object]) -> Callable[[bytes], object]:
        # What the store holds is ours, but a disk may have changed it: a document costs itself only.
        return quietly(
            lambda data: kind(jsonlines.decode(data)),
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        )

    readers: tuple[Callable[[bytes], object], ...] = (
        an_index,
        shards,
        state,
        latest,
        receipt.read_receipt,
        lambda data: exit_record.read_exit(put("exit.json", data)),
        lambda data: copy._remembered(put("mounts.json", data)),
        quietly(lambda data: selection._read(put("index.json", data)), UsageError),
        quietly(jsonlines.decode, ValueError),
        stored(lambda doc: Incident.from_json(dict(doc))),
        stored(lambda doc: Queued.from_json(dict(doc))),
        stored(RunSpec.from_json),
    )

    def read(data: bytes) -> None:
        readers[data[0] % len(readers) if data else 0](data[1:])

    return read


def _manifests() -> Iterator[bytes]:
    when = "2024-05-01T03:12:44.000+00:00"
    entry = {
        "path": "/out/a.pt",
        "step": 5,
        "epoch": None,
        "saved_at": when,
        "bytes": 9,
        "files": 1,
        "format": "torch",
        "metrics": {"loss": 1.0},
        "tags": ["latest"],
        "digest": "xxh3:aa",
        "verified": {"state": "ok", "level": "finite", "at": when, "detail": ""},
    }
    ours = {"schema": "middlewatch/checkpoints/v1", "run": "a", "checkpoints": [entry]}
    history = [{"epoch": 1.0, "loss": 2.5, "step": 250}]
    ended = {"pid": 7, "start_ticks": 9, "exit_code": 0, "signal": None, "core": False}
    docs: tuple[Any, ...] = (
        ours,
        {"metadata": {"total_size": 12}, "weight_map": {"a": "model-00001-of-00002.safetensors"}},
        {"best_metric": 1.75, "epoch": 1.0, "global_step": 500, "log_history": history},
        "global_step120",
        {"schema": "middlewatch/mirror/v1", "files": [{"path": "a", "digest": "b"}]},
        {**ended, "started_at": 1.0, "ended_at": 2.0, "max_rss_bytes": 5},
        {"/mnt": {"device": "8:1"}},
        ours,
        {"v": 1, "op": "status"},
        {
            "id": "3fa2c1",
            "run": "a",
            "trouble": "crash",
            "sentinel": "crash",
            "severity": "critical",
        },
        {
            "id": "m1",
            "title": "t",
            "body": "b",
            "kind": "info",
            "created_at": 1.0,
            "state": "queued",
        },
        {"id": "a-1", "name": "a", "logs": ["/a"], "save_folders": [{"path": "/b", "names": []}]},
    )
    for number, doc in enumerate(docs):
        yield bytes([number]) + (doc.encode() if isinstance(doc, str) else json.dumps(doc).encode())
        for deep in (b"[", b'{"a":'):  # deeper than the parser follows
            yield bytes([number]) + deep * (LONGEST // len(deep) // 2)


# ------------------------------------------------------------------------ what a docker engine sends


def _engine(folder: Path, leave: ExitStack) -> Callable[[bytes], None]:
    """What it tells of a container, its log as a file, and as a stream with frames and without."""

    class Said(EngineSocket):
        data = b""

        def whole(self, target: str) -> bytes:
            return self.data

    def taken(text: ContainerText, data: bytes, tty: bool) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            stream = Stream(engine, ours, data, {"ns": 1, "count": 0}, tty)
            theirs.close()
            records, _ = stream.take(LONGEST)
            text.feed_records([(kind, base64.b64decode(one)) for kind, one in records], 1.0)

    engine = Said("/s", SystemClock())

    def read(data: bytes) -> None:
        kind, engine.data = data[:1] or b"\0", data[1:]
        text = ContainerText(LiveReader("docker:gpt"), 1, 1 << 62)
        with suppress(Failure, codec.Unfit):
            if kind[0] % 4 == 0:
                told = look(engine, {"id": "0" * 64})
                codec.load(Told, told["state"])
            elif kind[0] % 4 == 1:
                text.feed(data[1:], 1.0)
                kept = json.loads(jsonlines.dumps({"reader": text.save()}))
                ContainerText(LiveReader("docker:gpt")).restored(kept).finish(2.0)
            else:
                taken(text, data[1:], tty=kind[0] % 4 == 2)

    return read


def _engines() -> Iterator[bytes]:
    from ..fakes.docker_engine import event, frame, inspected

    stamp = "2026-11-25T18:39:04.325168313Z"
    yield b"\0" + json.dumps(inspected()).encode()
    yield b"\0" + json.dumps(event(1 << 60, "die", exitCode="137")).encode()
    record = {"log": "step 1 loss 2.5\n", "stream": "stdout", "time": stamp}
    yield b"\1" + json.dumps(record).encode() + b"\n"
    yield b"\1" + json.dumps(record | {"log": "\r 45%"}).encode() + b"\n"
    yield b"\2" + f"{stamp} step 1 loss 2.5\r\n".encode()
    yield b"\3" + frame(stamp, "step 1 loss 2.5\n") + frame(stamp, "KeyError: 'x'\n", 2)


TARGETS = {
    "engine": Target(_engine, _engines),
    "log": Target(_log, _logs),
    "text": Target(_text, _texts),
    "socket": Target(_socket, _questions),
    "config": Target(_config, _configurations),
    "checkpoint": Target(_checkpoint, _checkpoints),
    "manifest": Target(_manifest, _manifests),
}


class Opened:
    """A target with its folder, which goes with it."""

    def __init__(self, name: str) -> None:
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="middlewatch-fuzz-", dir=shared))
        self._leave = ExitStack()
        self.read = TARGETS[name].open(self.folder, self._leave)

    def close(self) -> None:
        self._leave.close()
        shutil.rmtree(self.folder, ignore_errors=True)
