"""A real NVIDIA GPU under the real driver: what is read, and what real troubles of a GPU arrive as.

Skipped where there is none. Each training has the same card to itself and to the others: every one is a neighbour of
the rest. ``scripts/test tests/system/test_real_gpu.py`` on any box with a GPU; what was measured goes to the file that
``GPU_FIGURES`` names, one JSON object a line.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from middlewatch.daemon.sources.nvml import Nvml
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.sentinels.kit import GpuSample

from ..fakes.box import Box, Receiver

PROGRAM = Path(__file__).parents[1] / "e2e" / "programs" / "gpu_training.py"
ASKED = "index,uuid,name,memory.total,power.limit,temperature.gpu,clocks.sm,pci.bus_id,memory.used"
CUDA = "import sys, torch; sys.exit(not torch.cuda.is_available())"


def _has_gpu() -> bool:
    """Asked once, when the file is collected: first the cheap question."""
    try:
        subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, timeout=60)
        subprocess.run([sys.executable, "-c", CUDA], check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not _has_gpu(), reason="there is no NVIDIA GPU, or no torch that can use it"
    ),
]


@contextlib.contextmanager
def _card(tmp_path_factory: pytest.TempPathFactory, alone: bool) -> Iterator[None]:
    """The card beside others, or for one test alone."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with (place / "card").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture
def box(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Box]:
    """A box whose trainings have neighbours on the card, but for tests that ask for ``alone``."""
    with _card(tmp_path_factory, "alone" in request.fixturenames):
        yield from _box(tmp_path)


@pytest.fixture
def alone() -> None:
    """For tests that want the card for themselves."""


def _box(tmp_path: Path) -> Iterator[Box]:
    receiver = Receiver()
    made = Box(tmp_path, receiver)
    made.configure("")
    yield made
    made.close()
    receiver.close()


def _training(mode: str, at: int = 60) -> list[str]:
    return [sys.executable, str(PROGRAM), mode, str(at)]


def _smi() -> dict[str, str]:
    """What nvidia-smi says of the first GPU."""
    command = ["nvidia-smi", f"--query-gpu={ASKED}", "--format=csv,noheader,nounits", "--id=0"]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(zip(ASKED.split(","), next(csv.reader([line], skipinitialspace=True)), strict=True))


def _users() -> set[int]:
    """Processes that have a context on the first GPU, as nvidia-smi lists them."""
    command = ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader,nounits", "--id=0"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {int(word) for word in said.split()}


def _record(**figures: Any) -> None:
    file = os.environ.get("GPU_FIGURES")
    if file:
        with open(file, "a", encoding="utf-8") as out:
            out.write(json.dumps(figures) + "\n")


def _body(box: Box) -> str:
    return "\n".join(f"{p.title}\n{p.body}" for p in box.receiver.pushes)


def test_it_reads_what_nvidia_smi_reads() -> None:
    source = Nvml(SystemClock())
    seen: list[GpuSample] = []
    took: list[float] = []
    try:
        end = time.monotonic() + 60.0
        while len(seen) < 10 and time.monotonic() < end:
            began = time.monotonic()
            source.read(time.time())
            while time.monotonic() < end and not (found := list(source.ready(0, time.time()))):
                time.sleep(0.001)
            took.append(time.monotonic() - began)
            seen += [s for s in found if isinstance(s, GpuSample) and s.index == 0]
    finally:
        source.close()
    said, one = _smi(), seen[-1]
    _record(test="read", smi=said, sample=str(one), took_ms=[round(1000 * t, 1) for t in took])
    assert (one.uuid, one.name) == (said["uuid"], said["name"])
    assert one.mem_total_bytes == int(said["memory.total"]) << 20
    assert one.power_limit_w == pytest.approx(float(said["power.limit"]), abs=1.0)
    assert one.temp_c == pytest.approx(float(said["temperature.gpu"]), abs=15.0)
    assert one.bus_id.lower().endswith(said["pci.bus_id"].lower()[-12:])
    assert one.power_w
    assert one.sm_clock_mhz
    assert one.mem_used_bytes is not None
    assert one.ecc_new == 0
    assert one.remap_failed is False
    assert one.capability
    assert one.minor is not None
    assert not one.lost
    assert not one.error


def test_a_training_is_seen_on_its_gpu_and_ends_in_silence(box: Box) -> None:
    run = box.run(*_training("finish", 300), name="gpt")
    pid = box.status(run)["pid"]

    box.steps(30, run)
    box.until(lambda: pid in _users(), "a context of the run")
    gpus = box.status(run)["box"]["gpus"]
    _record(test="status", gpus=gpus)
    assert gpus
    assert gpus[0]["mem_used_bytes"]
    box.until(lambda: box.status(run)["state"] == "finished", "the end")
    told = [p.title for p in box.receiver.pushes]
    _record(test="finished", told=told)
    assert not [t for t in told if "CRITICAL" in t or "WARNING" in t], told


def test_the_watch_itself_uses_no_gpu(box: Box) -> None:
    """No context of its own on the card; what it costs beside a training is recorded on the way."""
    run = box.run(*_training("none"), name="gpt")
    box.steps(100, run)
    daemon = psutil.Process(box.ask("ping")["pid"])
    ours = [
        daemon,
        *(p for p in daemon.children(recursive=True) if str(PROGRAM) not in p.cmdline()),
    ]
    before = {p.pid: sum(p.cpu_times()[:2]) for p in ours}
    time.sleep(40.0)
    for one in ours:
        spent = (sum(one.cpu_times()[:2]) - before[one.pid]) / 40.0
        rss = one.memory_info().rss / (1 << 20)
        _record(test="cost", words=one.cmdline()[-2:], cores=round(spent, 4), rss_mib=round(rss, 1))
    assert box.status(run)["pid"] in _users()
    assert not {p.pid for p in ours} & _users()


def test_a_hang_beside_a_neighbour_that_keeps_the_gpu_busy(box: Box) -> None:
    box.spawn(*_training("busy"))
    run = box.run(*_training("lock", 200), name="gpt")
    box.steps(199, run)
    since = time.time()
    box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), "the hang")
    one = box.incident("hang")
    _record(test="lock", after_s=round(time.time() - since, 1), incident=one, pushes=_body(box))
    assert one["run"] == run
    assert one["details"]["verdict"] == "lock"


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("heavy", [False, True])
def test_a_kernel_that_never_ends(box: Box, heavy: bool) -> None:
    """As GPUs of ranks that wait in a collective: fully utilised, at next to no power or at what a small model draws."""
    box.extra_env = {"GPU_HEAVY": "1"} if heavy else {}
    run = box.run(*_training("spin", 200), name="gpt")
    box.steps(199, run)
    since = time.time()
    box.push(lambda p: "gpt on" in p.title, "the hang")
    one = box.incident("hang")
    _record(
        test="spin",
        heavy=heavy,
        after_s=round(time.time() - since, 1),
        incident=one,
        pushes=_body(box),
    )
    assert one["run"] == run
    assert one["details"]["verdict"] == "spin"


@pytest.mark.parametrize(
    ("mode", "accepted", "word"),
    [
        ("oom", {"cuda_oom"}, "out of memory"),
        ("assert", {"cuda_device_assert"}, "assert"),
        ("illegal", {"cuda_illegal_access"}, "illegal"),
        ("overflow", {"loss_nan", "loss_inf"}, "nan"),
    ],
)
def test_a_real_trouble_of_the_gpu(box: Box, mode: str, accepted: set[str], word: str) -> None:
    run = box.run(*_training(mode, 120), name="gpt")
    box.steps(100, run)
    box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"), mode)
    if mode != "overflow":
        box.until(lambda: box.status(run)["state"] == "failed", "the end")
    time.sleep(8.0)  # what the driver and the kernel log say afterwards
    incidents = box.ask("incidents", all=True)
    kernel = subprocess.run(["dmesg"], capture_output=True, text=True).stdout
    _record(
        test=mode,
        incidents=incidents,
        pushes=_body(box),
        kernel=[line for line in kernel.splitlines() if "NVRM" in line][-5:],
    )
    assert {one["class"] for one in incidents} & accepted, incidents
    assert word in _body(box).lower()


def test_a_killed_training_gives_its_memory_back(box: Box) -> None:
    run = box.run(*_training("none"), name="gpt")
    box.steps(60, run)
    pid = box.status(run)["pid"]
    assert pid in _users()
    os.kill(pid, signal.SIGKILL)
    one = box.incident("process_killed")
    box.until(lambda: pid not in _users(), "the memory is given back")
    _record(test="killed", incident=one, pushes=_body(box))


def test_a_checkpoint_of_a_gpu_is_loaded_without_a_gpu(box: Box) -> None:
    run = box.run(*_training("save", 60), name="gpt")
    box.steps(80, run)
    saved = box.until(lambda: list(box.root.rglob("checkpoint-60.pt")), "the save")[0]
    strangers: set[int] = set()
    before = _users()
    words = ("-m", "middlewatch.daemon", "verify", "--deep", "--json", str(saved))
    with (box.root / "said").open("wb") as out:
        asked = box.spawn(sys.executable, *words, stdout=out)
        while asked.poll() is None:
            strangers |= {p for p in _users() - before if _is_ours(p)}
            time.sleep(0.2)
    said = json.loads((box.root / "said").read_text())
    _record(test="deep", said=said)
    assert asked.returncode == 0, said
    assert (said[0]["state"], said[0]["level"]) == ("ok", "load")
    assert not strangers


def _is_ours(pid: int) -> bool:
    """Whether a process is no training of these tests: those come and go."""
    try:
        return PROGRAM.name.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_audit_and_doctor(box: Box) -> None:
    box.command("start")
    audit = json.loads(box.command("audit", "--json", check=False).stdout)
    doctor = box.command("doctor", check=False).stdout
    _record(test="audit", audit=audit, doctor=doctor)
    text = json.dumps(audit)
    assert _smi()["name"] in text
