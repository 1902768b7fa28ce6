"""Fixtures for every test."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from middlewatch.daemon.system.mounts import Mounts, readable_table

from .fakes.nvml_library import NvmlDouble, build

# DeepSpeed asks pytest-randomly to seed it, which imports it, and torch, into every process.
if "pytest_randomly" in sys.modules:
    vars(sys.modules["pytest_randomly"])["entrypoint_reseeds"] = []

# A suite that is started under nohup or by `&` of a script ignores these signals, and so would all
# that it starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault: no example has a deadline, none is too slow. `nightly` looks longer:
# HYPOTHESIS_PROFILE=nightly scripts/test
settings.register_profile(
    "usual",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("nightly", settings.get_profile("usual"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# Container images set these two, people's machines do not. A program of a test flushes what must
# arrive, and neither the tests nor the thousand processes that they start are compiled anew.
os.environ.pop("PYTHONUNBUFFERED", None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def _in_memory(folder: str) -> bool:
    mount = Mounts(readable_table(), "").of(os.path.realpath(folder))
    return mount is not None and mount.fstype == "tmpfs"


# The daemon warns of checkpoints that lie in memory, and rightly: where /tmp does, tests work on
# a disk.
if "TMPDIR" not in os.environ and _in_memory("/tmp") and not _in_memory("/var/tmp"):
    os.environ["TMPDIR"] = "/var/tmp"
    tempfile.tempdir = None  # whoever asked before is asked again


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our libnvidia-ml.so.1, compiled once for all test processes of a session."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    return build(base / "nvml-library")


@pytest.fixture
def nvml_double(nvml_library: Path, tmp_path: Path) -> NvmlDouble:
    """An NVIDIA driver with two busy H100; ``scenario`` changes it at any time."""
    double = NvmlDouble(nvml_library, tmp_path)
    double.scenario(double.stored("two_h100"))
    return double


FAILED = pytest.StashKey[bool]()
LATELY: deque[str] = deque(maxlen=20)
"""Tests of this worker, the last one at the end."""


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say of what was left open which tests may have left it."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
        if call.excinfo and call.excinfo.errisinstance(pytest.PytestUnraisableExceptionWarning):
            told = "Left by this test or by one before it on the same worker:\n"
            report.sections.append(("whose fault", told + "\n".join((*LATELY, item.nodeid))))
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What a failed test left open is closed before the next one, which would fail for it."""
    done = yield
    LATELY.append(item.nodeid)
    if item.stash.get(FAILED, False):
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)  # the frames of the test, and with them all that it opened
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    return done


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Ten thousand collected tests live to the end: no collection of garbage looks at them again."""
    gc.collect()
    gc.freeze()


EARLY = 0.5
"""Tests that wait lie in this part of a worker's share: at the end it has only short ones left."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal the tests that wait for real processes evenly, early, and between those that do not.

    xdist gives each worker one run of the list, and lets those that are done take from the others.
    The other tests stay together by module, so that few workers make what a module shares.
    """
    waiting = [item for item in items if _waits(item)]
    rest = [item for item in items if not _waits(item)]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    cuts = [len(rest) * worker // workers for worker in range(workers + 1)]
    items[:] = [
        item
        for worker in range(workers)
        for item in _mixed(waiting[worker::workers], rest[cuts[worker] : cuts[worker + 1]])
    ]


def _waits(item: pytest.Item) -> bool:
    return item.nodeid.startswith("tests/e2e/") or bool(item.get_closest_marker("slow"))


def _mixed(waiting: list[pytest.Item], rest: list[pytest.Item]) -> list[pytest.Item]:
    gap = int(EARLY * len(rest)) // max(1, len(waiting))
    mixed = list(rest)
    for number, item in enumerate(waiting):
        mixed.insert(number * (gap + 1), item)
    return mixed
