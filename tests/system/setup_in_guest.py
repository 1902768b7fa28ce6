"""What ``middlewatch setup`` does where systemd runs, inside a container that it has booted.

Run by the guest's own Python with the installed package on its path; ``/in`` is shared with the
test, ``/in/report.json`` is the answer: why a step failed, by its name.
"""

from __future__ import annotations

import http.server
import json
import os
import pwd
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

PREFIX = Path("/opt/middlewatch")
COMMAND = str(PREFIX / "bin/middlewatch")
UNIT = Path("/etc/systemd/system/middlewatch.service")
COPIES = Path("/srv/the copies")
SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
"""At any port: where a guest has no network of its own, others listen beside it."""
PHONE = f"json://127.0.0.1:{SERVER.server_port}/"
PATIENCE_S = 180.0

TRAIN = """\
import itertools, json, struct, time
from pathlib import Path
out = Path("/srv/out")
out.mkdir(exist_ok=True)
for step in itertools.count(1):
    print(f"step {step} loss {2 + 1 / step:.4f} lr 0.001", flush=True)
    if step in (5, 10):
        head = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
        data = struct.pack("<Q", len(head)) + head + struct.pack("<2f", 1.0, step)
        (out / f"step-{step}.safetensors").write_bytes(data)
    time.sleep(0.2)
"""

titles: list[str] = []


class Phone(http.server.BaseHTTPRequestHandler):
    """Takes pushes."""

    def do_POST(self) -> None:
        titles.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["title"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def told(*words: str, text: str = "", **given: Any) -> str:
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **given
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}"
    return str(done.stdout).strip()


def setup(*words: str, **given: Any) -> Any:
    return json.loads(
        told(COMMAND, "setup", "--alert", "-", *words, "--yes", "--json", text=PHONE, **given)
    )


def until(true: Callable[[], object], what: str) -> None:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < PATIENCE_S, f"it never came: {what}"
        time.sleep(0.1)


def main_pid() -> int:
    return int(told("systemctl", "show", "--property", "MainPID", "--value", UNIT.name))


# ------------------------------------------------------------------------ steps


def it_installs_for_root() -> None:
    told(sys.executable, "-m", "venv", "--without-pip", str(PREFIX))
    (site,) = PREFIX.glob("lib/python3*/site-packages")
    (site / "here.pth").write_text("/site\n/deps\n")
    script = Path("/site/bin/middlewatch").read_text().partition("\n")[2]
    Path(COMMAND).write_text(f"#!{PREFIX}/bin/python\n{script}")
    Path(COMMAND).chmod(0o755)


def it_takes_over_from_a_detached_daemon() -> None:
    told(COMMAND, "start")
    made = setup("--boot", "--mirror", str(COPIES))
    assert made["boot"] == {
        "by": "systemd", "path": str(UNIT), "line": None, "state": "set", "notes": [],
    }, made  # fmt: skip
    assert made["daemon"]["pid"] == main_pid()
    assert told("systemctl", "is-enabled", UNIT.name) == "enabled"
    assert titles == ["[TEST] middlewatch can reach you"]
    assert told("systemd-analyze", "verify", "--man=no", str(UNIT)) == ""


def the_confined_service_may_write_the_copies() -> None:
    (Path("/srv") / "train.py").write_text(TRAIN)
    words = ("run", "--name", "toy", "--checkpoints", "/srv/out", "--", sys.executable)
    told(COMMAND, *words, "/srv/train.py", cwd="/srv")
    until(lambda: list(COPIES.rglob("step-5.safetensors")), "a copy of a checkpoint")


def again_it_changes_nothing() -> None:
    before, pid = UNIT.read_bytes(), main_pid()
    assert setup("--boot")["daemon"]["started"] is False
    assert (UNIT.read_bytes(), main_pid()) == (before, pid)


def a_changed_unit_is_kept() -> None:
    text = UNIT.read_text().replace("RestartSec=2", "RestartSec=3")
    UNIT.write_text(text)
    pid = main_pid()
    made = setup("--boot", "--mirror", "/srv/other")
    assert UNIT.read_text() == text
    assert any("was changed by a person" in note for note in made["boot"]["notes"]), made
    assert main_pid() == made["daemon"]["pid"] != pid, "it reads its configuration at its start"


def a_user_without_root_gets_a_service_of_their_own() -> None:
    told("useradd", "--create-home", "anna")
    anna = pwd.getpwnam("anna")
    runtime = f"/run/user/{anna.pw_uid}"
    drop = Path(f"/run/systemd/system/user@{anna.pw_uid}.service.d/runtime.conf")
    drop.parent.mkdir(parents=True)  # what libpam-systemd does on a whole Debian
    drop.write_text(f"[Service]\nEnvironment=XDG_RUNTIME_DIR={runtime}\n")
    told("systemctl", "daemon-reload")
    told("loginctl", "enable-linger", "anna")
    until(Path(runtime, "systemd/private").exists, "the service manager of anna")
    env = {"HOME": anna.pw_dir, "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": runtime}
    hers: dict[str, Any] = {
        "user": anna.pw_uid,
        "group": anna.pw_gid,
        "extra_groups": [],
        "env": env,
        "cwd": "/",
    }
    made = setup("--boot", "--no-mirror", **hers)
    unit = f"{anna.pw_dir}/.config/systemd/user/middlewatch.service"
    assert (made["boot"]["by"], made["boot"]["path"]) == ("systemd --user", unit), made
    assert (made["boot"]["state"], made["boot"]["notes"]) == ("set", []), made
    shown = told(
        "systemctl", "--user", "show", "--property", "MainPID", "--value", UNIT.name, **hers
    )
    assert made["daemon"]["pid"] == int(shown)
    assert told("systemctl", "--user", "is-enabled", UNIT.name, **hers) == "enabled"
    assert made["test"][0]["ok"], made


STEPS = (
    it_installs_for_root,
    it_takes_over_from_a_detached_daemon,
    the_confined_service_may_write_the_copies,
    again_it_changes_nothing,
    a_changed_unit_is_kept,
    a_user_without_root_gets_a_service_of_their_own,
)


def main() -> None:
    SERVER.RequestHandlerClass = Phone
    threading.Thread(target=SERVER.serve_forever, daemon=True).start()
    report = {}
    for step in STEPS:
        try:
            step()
            report[step.__name__] = ""
        except BaseException:  # noqa: BLE001 - the next step is tried in any case
            report[step.__name__] = traceback.format_exc()
    words = ["journalctl", "--output", "cat", "--no-pager", "--lines", "60"]
    report["journal"] = told(*words)
    Path("/in/report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
