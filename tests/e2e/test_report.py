"""`middlewatch report` about a real run, in its three forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_report_of_a_real_run(
    box: Any, program: Callable[[str], list[str]], tmp_path: Path
) -> None:
    run = box.run(*program("trainer"), "crash", "--at", "30", "--sleep", "0.02", name="gpt")
    box.incident("python_exception")
    page = tmp_path / "gpt.html"
    assert str(page) in box.command("report", "gpt", "--out", str(page)).stdout
    text = page.read_text(encoding="utf-8")
    for word in (f"Run {run}", "python_exception", "KeyError", 'class="curve"', "trainer.py"):
        assert word in text
    told = box.command("report", "gpt", "--md", "--out", "-").stdout
    assert told.startswith(f"# Run {run}")
    assert "KeyError" in told
    picture = tmp_path / "gpt.png"
    box.command("report", "gpt", "--out", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    nowhere = box.command("report", "gpt", "--out", str(tmp_path / "no" / "x.html"), check=False)
    assert nowhere.returncode == 2
