"""What a shell asks of the commands: completion, options before the command, colours, a manual page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the command on its path, and what bash completes by."""
    folder = tmp_path_factory.mktemp("shell")
    shim = folder / "middlewatch"
    shim.write_text(
        f"#!{sys.executable}\nimport sys\nfrom middlewatch.daemon.cli import main\nsys.exit(main())\n"
    )
    shim.chmod(0o755)
    (folder / "train.log").touch()
    for shell in ("bash", "zsh", "tcsh"):
        (folder / shell).write_text(said(folder, f"middlewatch completion {shell}").stdout)
    return folder


def said(folder: Path, line: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    env = kept | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "MIDDLEWATCH_STATE_DIR": str(folder / "state"),
        "MIDDLEWATCH_CONFIG": str(folder / "none.toml"),
        **more,
    }
    return subprocess.run(
        ["bash", "-c", line], env=env, cwd=folder, capture_output=True, text=True, check=False
    )


def completed(home: Path, line: str) -> list[str]:
    """What bash proposes for the last word of ``line``."""
    words = line.split(" ")
    script = f"""
        source bash
        COMP_WORDS=({" ".join(w or "''" for w in words)}) COMP_CWORD={len(words) - 1}
        _shtab_middlewatch
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = said(home, script)
    assert done.returncode == 0, done.stderr
    return [word.strip() for word in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("middlewatch sta", ["start", "status"]),
        ("middlewatch chec", ["checkpoints"]),
        ("middlewatch silence --cl", ["--class"]),
        ("middlewatch silence --class cuda_oo", ["cuda_oom"]),
        ("middlewatch drill ", ["nan", "hang", "oom", "disk", "crash"]),
        ("middlewatch watch --log tr", ["train.log"]),
    ],
    ids=str,
)
def test_bash_completes(home: Path, line: str, proposed: list[str]) -> None:
    assert set(completed(home, line)) >= set(proposed)


def test_names_of_runs_are_completed(home: Path) -> None:
    assert completed(home, "middlewatch status gp") in ([], [""]), (
        "no daemon runs, and nothing is said"
    )
    try:
        started = said(home, "middlewatch run --name gpt --json -- sleep 600")
        run = json.loads(started.stdout)
        assert set(completed(home, "middlewatch status gp")) == {"gpt", run["run"]}
    finally:
        said(home, "middlewatch end gpt --signal KILL --yes; middlewatch stop")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_shells_can_read_it(home: Path, shell: str) -> None:
    text = (home / shell).read_text()
    assert "checkpoints" in text
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run(
        [shell, "-n", shell], cwd=home, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "line",
    [
        "middlewatch --json explain cuda_oom",
        "middlewatch explain --json cuda_oom",
        "middlewatch explain cuda_oom --json",
    ],
)
def test_an_option_stands_where_a_person_puts_it(home: Path, line: str) -> None:
    assert json.loads(said(home, line).stdout)["id"] == "cuda_oom"


def test_a_value_before_the_command_is_used(home: Path) -> None:
    (home / "bad.toml").write_text("[alert]\n")
    for line in ("--config bad.toml config check", "--config=bad.toml config check"):
        done = said(home, f"middlewatch {line}")
        assert (done.returncode, "bad.toml:1" in done.stderr) == (2, True), done.stderr
    other = said(home, "middlewatch --state-dir other status")
    assert "other/middlewatch.sock" in other.stderr


def test_options_of_the_command_that_is_run_stay_its_own(home: Path) -> None:
    done = said(home, "middlewatch --json run -- nowhere --json --config x")
    assert (done.returncode, "there is no program nowhere" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("more", "terminal", "coloured"),
    [
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
    ids=str,
)
def test_colours(home: Path, more: dict[str, str], *, terminal: bool, coloured: bool) -> None:
    line = "middlewatch explain cuda_oom"
    if terminal:
        if shutil.which("script") is None:
            pytest.skip("there is no script")
        line = f"script -qec '{line}' typescript"
    done = said(home, line, **more)
    assert done.returncode == 0, done.stderr
    assert ("\x1b[1m" in done.stdout) is coloured


def test_the_manual_page_can_be_read(home: Path) -> None:
    page = ROOT / "src" / "man" / "middlewatch.1"
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("there is no man, or no groff")
    words = ["man", "--warnings", "-l", str(page)]
    env = {**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.stderr == ""
    shown: Any = done.stdout
    assert "--checkpoints DIR" in shown
    assert "-f, --follow" in shown
