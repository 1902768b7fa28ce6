"""What scripts/bare-box and scripts/first_push.py do without a bare box."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
REPORT = """\
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="3" tests="6">
<testcase classname="tests.a" name="good"/>
<testcase classname="tests.a" name="bad"><failure message="assert 1 == 2&#10;where 1">long</failure></testcase>
<testcase classname="tests.a" name="broken"><error message="failed on setup">long</error></testcase>
<testcase classname="tests.b" name="x"><skipped message="needs root">where</skipped></testcase>
<testcase classname="tests.b" name="y"><skipped message="needs root">where</skipped></testcase>
<testcase classname="tests.b" name="z"><skipped message="no cc">where</skipped></testcase>
</testsuite></testsuites>
"""


def names_of(script: str) -> dict[str, Any]:
    return runpy.run_path(str(SCRIPTS / script))


def bare_box(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The script, where no program can be found."""
    return subprocess.run(
        [sys.executable, str(SCRIPTS / "bare-box"), *words],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_readme_takes_one_line_to_the_first_push() -> None:
    first_push = names_of("first_push.py")
    readme = (SCRIPTS.parent / "README.md").read_text(encoding="utf-8")
    (line,) = first_push["typed_lines"](readme, "/home/me/urls")
    assert line.endswith("/middlewatch setup --alert /home/me/urls --no-mirror --no-boot --watch")
    assert len(line.split(" && ")) <= 3
    with pytest.raises(first_push["Failed"], match="no block with"):
        first_push["typed_lines"]("# nothing here", "/home/me/urls")


def test_the_terminal_keeps_what_was_exported(tmp_path: Path) -> None:
    terminal = names_of("first_push.py")["Terminal"](tmp_path)
    try:
        assert terminal.type("export WORD=lamp") == (0, "")
        # `cat` reads nothing of what is typed after it.
        assert terminal.type("cat && echo ~ $WORD") == (0, f"{tmp_path} lamp")
        assert terminal.type("echo before; (exit 7)") == (7, "before")
    finally:
        terminal.close()


def test_a_report_of_tests_is_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    counts, reasons, failed = names_of("bare-box")["read_report"](report)
    assert counts == "1 passed, 2 failed, 3 skipped"
    assert reasons == {"needs root": 2, "no cc": 1}
    assert failed == ["tests.a::bad: assert 1 == 2", "tests.a::broken: failed on setup"]


def test_a_machine_that_cannot_have_a_box_says_why(tmp_path: Path) -> None:
    done = bare_box(tmp_path, "debian-12")
    assert done.returncode == 0, done.stderr
    assert re.match(r"skipped: needs (root|mmdebstrap)", done.stderr)
    assert bare_box(tmp_path, "debian-12", "--must-run").returncode == 1


def test_an_unknown_system_is_named(tmp_path: Path) -> None:
    done = bare_box(tmp_path, "debian-7")
    assert done.returncode == 2
    assert "no such system: debian-7; known: debian-12" in done.stderr


def test_every_way_to_install_is_read_from_the_page() -> None:
    page = (SCRIPTS.parent / "docs" / "install.md").read_text(encoding="utf-8")
    lines = list(names_of("install_ways.py")["typed"](page))
    assert lines[0] == "python3 -m venv ~/.middlewatch && ~/.middlewatch/bin/pip install ."
    for way in ("pipx install", "uv tool install", "~/.middlewatch/bin/pip install"):
        for what in (".", "WHEEL", "git+ADDRESS"):
            assert sum(line.endswith(f"{way} {what}") for line in lines) == 1, (way, what)
    assert len(lines) == 9
