"""The service under a real systemd: the unit by itself, and one boot with everything in it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from ..fakes.nvml_library import NvmlDouble
from ..fakes.systemd_analyze import analyze
from .conftest import Machine

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "systemd" / "middlewatch.service"
EXPOSURE = 4.0
"""systemd-analyze calls 2.0 to 4.9 "OK"; a gap below that leaves room for its new questions."""


def after_success(*words: str) -> str:
    """What ``systemd-analyze`` says, after success."""
    status, said = analyze(*words)
    assert status == 0, said
    return said


def test_systemd_finds_nothing_to_complain_about(tmp_path: Path) -> None:
    # The one thing that is not here is the program: put any other in its place.
    text = UNIT.read_text(encoding="utf-8")
    unit = tmp_path / UNIT.name
    unit.write_text(text.replace("=/opt/middlewatch/bin/middlewatch ", f"={sys.executable} "))
    assert unit.read_text() != text
    # Unknown keys are no failure for it, only a line of text.
    assert after_success("verify", "--man=no", str(unit)) == ""


def test_it_gives_up_what_it_does_not_need() -> None:
    threshold = f"--threshold={EXPOSURE * 10:.0f}"
    said = after_success("security", "--offline=true", "--no-pager", threshold, str(UNIT))
    assert "Overall exposure level" in said


@pytest.mark.slow
def test_the_service_lives_through_what_happens_to_a_box(
    machine: Machine, nvml_double: NvmlDouble, tmp_path: Path
) -> None:
    driver, shared = tmp_path / "driver", tmp_path / "shared"
    driver.mkdir()
    shared.mkdir()
    shutil.copy(nvml_double.library, driver)
    shutil.copy(nvml_double.path, driver)
    shutil.copy(UNIT, shared)
    program = Path(__file__).with_name("service_in_guest.py")
    said = machine.run(program, shared, {"/nvml": driver})
    assert (shared / "report.json").exists(), said
    report = json.loads((shared / "report.json").read_text())
    print(*(f"{step['s']:6.2f} s  {step['step']}" for step in report["steps"]), sep="\n")
    print(report["figures"])
    problems = [f"{step['step']}\n{step['problem']}" for step in report["steps"] if step["problem"]]
    assert problems == [], "\n".join([*problems, "The journal:", report["journal"]])


@pytest.mark.slow
def test_setup_has_the_watch_start_with_the_box(machine: Machine, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    said = machine.run(Path(__file__).with_name("setup_in_guest.py"), shared, {})
    assert (shared / "report.json").exists(), said
    report = json.loads((shared / "report.json").read_text())
    journal = report.pop("journal")
    problems = [f"{step}\n{problem}" for step, problem in report.items() if problem]
    assert problems == [], "\n".join([*problems, "The journal:", journal])
