"""What is sent with a push of the real daemon, and what `middlewatch evidence` says later."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PNG = b"\x89PNG\r\n\x1a\n"


def test_the_evidence_of_a_crash(
    box: Any, program: Callable[[str], list[str]], tmp_path: Path
) -> None:
    box.run(*program("trainer"), "crash", "--at", "30", "--sleep", "0.02", name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt"))
    one = box.incident("python_exception")
    names = [f"middlewatch-{one['id']}-loss.png", f"middlewatch-{one['id']}.txt"]
    assert list(push.files) == names
    assert push.files[names[0]].startswith(PNG)
    text = push.files[names[1]].decode("utf-8-sig")
    assert "KeyError" in text
    assert "== Left out" in text

    shown = box.command("evidence", one["id"]).stdout
    then = [line for line in shown.splitlines() if line.startswith("Evidence of incident")]
    assert then == text.splitlines()[:1]  # that of the moment of the push, not of now
    facts = json.loads(box.command("evidence", one["id"], "--json").stdout)
    assert facts["curve"]["points"]
    assert facts["log"]["lines"]
    archive = tmp_path / "night.tar.gz"
    box.command("evidence", one["id"], "--out", str(archive))
    with tarfile.open(archive) as packed:
        inside = {Path(name).name for name in packed.getnames()}
    assert inside == {*names, f"middlewatch-{one['id']}.json"}

    # Without a daemon the file still has it.
    box.command("stop")
    assert "KeyError" in box.command("evidence", one["id"]).stdout
    assert box.command("evidence", "nobody", check=False).returncode == 2
    assert box.command("evidence", one["id"], "--out", "x.zip", check=False).returncode == 2


def test_nothing_is_sent_with_it_if_so_configured(
    box: Any, program: Callable[[str], list[str]]
) -> None:
    box.configure("[alerts]\nattach = false\n")
    box.run(*program("trainer"), "crash", "--at", "5", "--sleep", "0.02", name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt"))
    assert push.files == {}
    one = box.incident("python_exception")
    assert "KeyError" in box.command("evidence", one["id"]).stdout
