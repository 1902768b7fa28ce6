"""Every command on the pages for tasks is run on a bare box, in the order of the page.

There is a real daemon, a toy training, a finished log, and a receiver on loopback in the place of the phone.
A block that cannot be run here is marked in its page with the reason: ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("first-watch", "phone", "using-checkpoints", "old-logs", "trouble")
BLOCK = re.compile(
    r"(?:<!-- not run: (.+?) -->\n)?^```(sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
NOT_RUN = {
    "first-watch": [
        "it finds the trainings of the whole box",
        "its output is that of another box",
        "the process and the folders are of another box",
        "it needs a terminal and another box",
    ],
    "phone": ["the incident is an example", "the incident is an example"],
    "using-checkpoints": [
        "it needs torch",
        "it renames",
        "it starts a training again",
        "it needs another host",
        "it deletes",
    ],
    "old-logs": ["it needs another host"],
    "trouble": [
        "the incident is an example",
        "it ends the run",
        "the process and the log are of another box",
    ],
}
"""What is not run here, and why: all of it."""
ANSWERS_1 = ("status", "incidents", "watch", "doctor", "checkpoints", "verify", "replay")
"""Commands whose answer may be a bad one here: other trainings, a full disk, a crash in a log."""
NAME = "gpt-of-the-pages"
"""In the place of ``gpt``: the box may have another run of that name."""
TRAIN = """
import itertools, pathlib, struct, time
out = pathlib.Path("out")
out.mkdir(exist_ok=True)
for n in itertools.count(1):
    print(f"step {n}/6000 | train_loss {3 - n / 6000:.4f} | lr 1.0e-03", flush=True)
    if n % 10 == 0:
        head = b'{"w":{"dtype":"F32","shape":[9999],"data_offsets":[0,39996]}}'
        part = out / "part"
        part.write_bytes(struct.pack("<Q", len(head)) + head + struct.pack("<f", n) * 9999)
        part.rename(out / f"step-{n:06}.safetensors")
        print(f"saved out/step-{n:06}.safetensors", flush=True)
    time.sleep(0.1)
"""


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """(reason not to run it, commands) of every block of a page."""
    found = []
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for reason, language, body in BLOCK.findall(text):
        lines = body.replace("\\\n", " ").splitlines()
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found.append((reason, [line for line in lines if line and not line.startswith("#")]))
    return found


def test_what_is_not_run_is_known() -> None:
    marked = {page: [why for why, _ in blocks(page) if why] for page in PAGES}
    assert marked == NOT_RUN
    text = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in PAGES)
    assert text.count("<!-- not run") == sum(map(len, NOT_RUN.values())), "a mark before no block"


@pytest.fixture
def shell(box: Any) -> Iterator[Any]:
    """Types a line on the box, in the folder of a training."""
    folder = box.root / "gpt-small"
    (folder / "logs").mkdir(parents=True)
    (folder / "train.py").write_text(TRAIN)
    real = (ROOT / "tests" / "logs" / "nanogpt-char-nan.log").read_text()
    (folder / "train.log").write_text(real)
    for rank in range(2):
        (folder / "logs" / f"rank{rank}.log").write_text(real)
    shim = box.root / "bin" / "middlewatch"
    shim.parent.mkdir()
    shim.write_text(
        f"#!{sys.executable}\nimport sys\nfrom middlewatch.daemon.cli import main\nsys.exit(main())\n"
    )
    shim.chmod(0o755)
    (shim.parent / "python").symlink_to(shutil.which(sys.executable) or sys.executable)
    env = {**box.env, "PATH": f"{shim.parent}:{box.env['PATH']}"}
    env.pop("MIDDLEWATCH_ALERT_URLS", None)
    url = box.receiver.url

    def types(line: str) -> subprocess.CompletedProcess[str]:
        real = re.sub(r"\bgpt\b", NAME, line.replace("ntfys://ntfy.sh/YOUR-OWN-TOPIC", url))
        return subprocess.run(
            ["bash", "-c", real],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    yield types
    types("middlewatch end gpt --signal KILL --yes; middlewatch stop")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_can_be_typed(box: Any, shell: Any, page: str) -> None:
    if page != "first-watch":
        started = "middlewatch run --name gpt --checkpoints out -- python train.py"
        assert shell(started).returncode == 0
        if page == "trouble":
            assert shell(f"middlewatch alert add {box.receiver.url}").returncode == 0
        index = "middlewatch checkpoints gpt --json"
        box.until(lambda: '"resume_from":"' in shell(index).stdout.replace(" ", ""), "a good save")
    typed = 0
    for reason, lines in blocks(page):
        for line in () if reason else lines:
            done = shell(line)
            told = f"$ {line}\n{done.stdout}{done.stderr}"
            command = (re.findall(r"middlewatch (\w+)", line) or [""])[0]
            if page == "phone" and line == "middlewatch alert test":
                assert "delivered" in done.stdout, told
            fine = (0, 1) if command in ANSWERS_1 else (0,)
            if command == "resume":
                assert "still runs" in done.stdout, "it is shown, and refused while the run lives"
                fine = (4,)
            assert done.returncode in fine, told
            assert "Traceback" not in told
            typed += 1
    assert typed >= 4
