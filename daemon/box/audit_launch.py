"""Checks before a launch: GPUs asked for, ports of the rendezvous, the environment, room for saves.

Everything is decided from what is given and from /proc and /sys; a port is tried by binding it.
"""

from __future__ import annotations

import ast
import errno
import importlib.util
import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from middlewatch.sentinels.kit import GpuSample
from middlewatch.sentinels.kit.numbers import size

from .audit_line import AuditLine

TORCHRUN_PORT = 29500
"""Default of torchrun and of ``torch.distributed``."""
TAKEN_RATIO = 0.1
"""Part of a GPU's memory that others may hold before it is told: contexts of a driver and a desktop
take a few percent. Our choice."""
FEW_SAVES = 5
"""So few more saves are told, as on the status page."""
_PER_NODE = re.compile(r"--(?:nproc[_-]per[_-]node|num[_-]processes|num[_-]gpus)(?:=(.*))?")
_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
_LIBRARIES = (
    *("huggingface_hub", "transformers", "datasets", "diffusers", "tokenizers", "accelerate"),
    *("peft", "trl", "sentence_transformers", "lightning", "litgpt"),
)
"""Libraries that read the settings of the hub when they are imported, or import one that does."""
_READ_AT_IMPORT = re.compile(
    r"HF_\w+|HUGGINGFACE_HUB_CACHE|TRANSFORMERS_CACHE|TRANSFORMERS_OFFLINE"
)
_SLOWS = {
    "NCCL_P2P_DISABLE": "GPUs do not copy to each other directly",
    "NCCL_SHM_DISABLE": "ranks of one box do not use shared memory",
    "CUDA_LAUNCH_BLOCKING": "every kernel is waited for: for finding a fault only",
    "TORCH_DISTRIBUTED_DEBUG": "collectives are checked against each other when it is DETAIL",
}
"""Variables that make a training slow if they were left from a search for a fault (documentation of
NCCL, CUDA and PyTorch)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person means to start; empty where nothing was said."""

    command: tuple[str, ...] = ()
    save_bytes: int = 0
    saves: int = 0
    """How many saves of that size the run will make and keep."""
    routes: tuple[str, ...] = ()
    """Addresses that the run will fetch from or send to."""


def checks(
    asked: Asked,
    gpus: Sequence[GpuSample],
    here: Path,
    environ: Mapping[str, str],
    sys_class: Path = Path("/sys/class"),
) -> Iterator[AuditLine]:
    """All of them; those about a command only where one is given."""
    yield from gpu_checks(asked.command, gpus, environ)
    yield rendezvous(asked.command, environ)
    yield host_name()
    yield from left_over(environ)
    yield from interconnect(environ, sys_class)
    if asked.command:
        yield from order_of_imports(asked.command, here)
    if asked.save_bytes:
        yield budget(asked, here)


# ------------------------------------------------------------------------ GPUs


def gpus_asked(command: Sequence[str]) -> int | None:
    """Processes on this box by the words of a launcher; ``None``: it does not say, or says ``gpu``."""
    for place, word in enumerate(command):
        found = _PER_NODE.fullmatch(word)
        if found is not None:
            after = command[place + 1] if place + 1 < len(command) else ""
            told = found[1] if found[1] is not None else after
            return int(told) if told.isascii() and told.isdigit() else None
    return None


def gpu_checks(
    command: Sequence[str], gpus: Sequence[GpuSample], environ: Mapping[str, str]
) -> Iterator[AuditLine]:
    """GPUs asked for against those that are there and may be used, and what others hold of them."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    there = len(gpus)
    if visible is not None:
        named = [word.strip() for word in visible.split(",") if word.strip()]
        missing = [n for n in named if n.isdigit() and int(n) >= there]
        if missing:
            text = f"names GPU {', '.join(missing)}, and {there} are there: CUDA sees those before it only"
            yield AuditLine("CUDA_VISIBLE_DEVICES", "bad", text)
        elif not named and there:
            yield AuditLine("CUDA_VISIBLE_DEVICES", "bad", f"empty: hides all {there} GPUs")
        there = min(there, len(named)) if named else 0
    wanted = gpus_asked(command)
    if wanted is not None:
        state = "ok" if wanted <= there else "bad"
        text = f"{wanted} processes asked for, {there} GPUs may be used"
        yield AuditLine("GPUs asked", state, text)
    for gpu in gpus:
        used, total = gpu.mem_used_bytes, gpu.mem_total_bytes
        if used is not None and total and used > TAKEN_RATIO * total:
            text = f"{size(used)} of {size(total)} are taken already: nvidia-smi"
            yield AuditLine(f"memory of GPU {gpu.index}", "warn", text)


# ------------------------------------------------------------------------ ranks and network


def rendezvous(command: Sequence[str], environ: Mapping[str, str]) -> AuditLine:
    """Whether the port where the ranks meet is free, and whether its address is known."""
    port, told_by = _port(command, environ)
    what = f"rendezvous port {port}"
    address = environ.get("MASTER_ADDR", "")
    if address and not _resolves(address):
        return AuditLine(what, "bad", f"MASTER_ADDR {address!r} is no address that is known here")
    for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                other = "another job here? Choose one: torchrun --standalone, or --master-port N"
                # Without a job to start, one that runs is no trouble.
                state = "bad" if command or told_by == "MASTER_PORT" else "warn"
                return AuditLine(what, state, f"taken ({told_by}): {other}")
            if error.errno == errno.EACCES:
                return AuditLine(what, "bad", f"may not be used ({told_by}): choose one above 1023")
    return AuditLine(what, "ok", f"free ({told_by})")


def _port(command: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str]:
    """The port of the rendezvous, and who says so."""
    words = [*command, ""]
    for place, word in enumerate(words[:-1]):
        name, equals, value = word.partition("=")
        value = value if equals else words[place + 1]
        if name in ("--master_port", "--master-port", "--main_process_port"):
            told = value
        elif name in ("--rdzv_endpoint", "--rdzv-endpoint"):
            told = value.rpartition(":")[2]
        else:
            continue
        if told.isascii() and told.isdigit() and 0 < int(told) < 65536:
            return int(told), name
    told = environ.get("MASTER_PORT", "")
    if told.isascii() and told.isdigit() and 0 < int(told) < 65536:
        return int(told), "MASTER_PORT"
    return TORCHRUN_PORT, "the default of torchrun"


def _resolves(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def host_name() -> AuditLine:
    """Gloo and MPI look up the name of their own box, and hang or fail where nobody knows it."""
    name = socket.gethostname()
    if _resolves(name):
        return AuditLine("host name", "ok", f"{name} is known here")
    return AuditLine("host name", "warn", f"{name} has no address: gloo needs one (/etc/hosts)")


def left_over(environ: Mapping[str, str]) -> Iterator[AuditLine]:
    """Variables of ranks, and settings from a search for a fault, that this shell still has."""
    ranks = [name for name in _RANKS if name in environ]
    if ranks and "SLURM_JOB_ID" not in environ:
        text = f"set in this shell ({', '.join(ranks)}): a launcher sets them for each rank; unset them"
        yield AuditLine("rank variables", "warn", text)
    for name, effect in _SLOWS.items():
        value = environ.get(name, "0")
        slows = value == "DETAIL" if name == "TORCH_DISTRIBUTED_DEBUG" else value not in ("0", "")
        if slows:
            yield AuditLine(name, "warn", f"set to {value[:20]}: {effect}")
    for name in ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"):
        if environ.get(name) == "0":
            yield AuditLine(name, "warn", "0: a rank that fails leaves the others hanging")


def interconnect(environ: Mapping[str, str], sys_class: Path) -> Iterator[AuditLine]:
    """The interfaces that NCCL may use: InfiniBand where there is one, and names that exist."""
    interfaces = _names(sys_class / "net")
    wanted = environ.get("NCCL_SOCKET_IFNAME", environ.get("GLOO_SOCKET_IFNAME", ""))
    if wanted and not wanted.startswith("^"):
        exact = wanted.startswith("=")
        names = [name for name in wanted.lstrip("=").split(",") if name]
        found = [n for n in names if any(i == n if exact else i.startswith(n) for i in interfaces)]
        if not found:
            text = f"{wanted} is none of {', '.join(interfaces) or 'the interfaces here'}"
            yield AuditLine("NCCL_SOCKET_IFNAME", "bad", text)
    cards = _names(sys_class / "infiniband")
    off = environ.get("NCCL_IB_DISABLE", "0") not in ("0", "")
    active = [c for c in cards if _active(sys_class / "infiniband" / c)]
    if active and off:
        text = f"{', '.join(active)} is active, and NCCL_IB_DISABLE={environ['NCCL_IB_DISABLE']}"
        yield AuditLine("InfiniBand", "warn", f"{text}: collectives go over Ethernet")
    elif active:
        yield AuditLine("InfiniBand", "ok", f"{', '.join(active)} is active")
    elif cards and not off:
        text = f"{', '.join(cards)} has no active port: NCCL_IB_DISABLE=1 saves NCCL the search"
        yield AuditLine("InfiniBand", "warn", text)
    speeds = [f"{i} {_speed(sys_class / 'net' / i)}" for i in interfaces if i != "lo"]
    known = [text for text in speeds if not text.endswith(" ")]
    if known:
        yield AuditLine("interfaces", "ok", f"{', '.join(known)} (as the driver says)")


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _active(card: Path) -> bool:
    for port in _names(card / "ports"):
        try:
            if "ACTIVE" in (card / "ports" / port / "state").read_text():
                return True
        except OSError:
            continue
    return False


def _speed(interface: Path) -> str:
    """``10 Gbit/s``; empty where the driver does not say (most virtual ones)."""
    try:
        megabits = int((interface / "speed").read_text())
    except (OSError, ValueError):
        return ""
    return f"{megabits / 1000:g} Gbit/s" if megabits > 0 else ""


# ------------------------------------------------------------------------ the program, the disk


def order_of_imports(command: Sequence[str], here: Path) -> Iterator[AuditLine]:
    """Settings of the hub that a script makes after a library has read them: they have no effect."""
    script = next((here / word for word in command if word.endswith(".py")), None)
    if script is None:
        return
    try:
        tree = ast.parse(script.read_text("utf-8", "replace"))
    except (OSError, SyntaxError, ValueError) as error:
        yield AuditLine("script", "bad", f"{script.name} cannot be read: {error}")
        return
    first: tuple[int, str] | None = None
    for node in ast.walk(tree):
        for name in _imported(node):
            library = name.partition(".")[0]
            if library in _LIBRARIES and (first is None or node.lineno < first[0]):  # type: ignore[attr-defined]
                first = (node.lineno, library)  # type: ignore[attr-defined]
    for line, name in _settings(tree):
        if first is not None and line > first[0]:
            text = (
                f"{script.name}:{line} sets it, and line {first[0]} has imported {first[1]}, which has "
                "read it by then: set it in the shell, or before the import"
            )
            yield AuditLine(name, "bad", text)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []


def _settings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, variable) of the settings of the hub that a program makes in its environment."""
    for node in ast.walk(tree):
        names: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            names = [
                t.slice for t in node.targets if isinstance(t, ast.Subscript) and _environ(t.value)
            ]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = node.func
            if (called.attr == "setdefault" and _environ(called.value)) or called.attr == "putenv":
                names = node.args[:1]
        for name in names:
            if isinstance(name, ast.Constant) and _READ_AT_IMPORT.fullmatch(str(name.value)):
                yield node.lineno, str(name.value)  # type: ignore[attr-defined]


def _environ(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] == "environ"


def budget(asked: Asked, here: Path) -> AuditLine:
    """Room on the disk of this folder for the saves that are planned; inodes at least one a save."""
    use, total = shutil.disk_usage(here), os.statvfs(here)
    need = asked.save_bytes * max(1, asked.saves)
    what = f"{max(1, asked.saves)} saves of {size(asked.save_bytes)}"
    if total.f_files and total.f_favail < max(1, asked.saves):
        return AuditLine(
            "checkpoint budget", "bad", f"{what}: only {total.f_favail} inodes are free"
        )
    # A save is written beside the one that it replaces, so one more has to fit.
    fits = need + asked.save_bytes <= use.free
    state = "ok" if fits else "warn" if need <= use.free else "bad"
    text = f"{what} need {size(need)}, {size(use.free)} are free in {here}"
    if state == "warn":
        text += "; no room for one more beside them, as a save that is being written needs"
    return AuditLine("checkpoint budget", state, text)


def saves_that_fit(runs: Sequence[Mapping[str, object]]) -> Iterator[AuditLine]:
    """How many more saves of its newest size fit for each run that is watched."""
    for run in runs:
        newest = (run.get("checkpoints") or {}).get("latest")  # type: ignore[attr-defined]
        if not newest or not newest.get("bytes"):
            continue
        try:
            room = os.statvfs(Path(newest["path"]).parent)
        except OSError:
            continue
        fit = room.f_bavail * room.f_frsize // newest["bytes"]
        state = "bad" if fit < 1 else "warn" if fit < FEW_SAVES else "ok"
        text = f"{fit} more saves of {size(newest['bytes'])} fit beside {newest['path']}"
        yield AuditLine(f"checkpoint budget {run['run']}", state, text)


def has_module(name: str) -> bool:
    """Whether this Python could import it."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
