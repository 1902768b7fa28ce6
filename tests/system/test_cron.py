"""``setup`` where only cron starts something: a real cron, in namespaces of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

# Mounts and processes of its own: the crontab of this machine is not touched, and nothing stays.
# cron is killed, as a box that goes down does: the one of Ubuntu 22.04 does not end at a SIGTERM.
SCRIPT = """\
set -eu
mount -t tmpfs tmpfs /var/spool
mkdir -p /var/spool/cron/crontabs
mount -t tmpfs tmpfs /run
printf '0 4 * * * echo 50\\\\%%\\n' | crontab -
cron -f & crond=$!
until [ -e /run/crond.pid ]; do sleep 0.1; done
"$@" setup --no-alert --no-mirror --boot --json >first.json
crontab -l >first.tab
"$@" setup --no-alert --no-mirror --boot --json >second.json
crontab -l >second.tab
crontab -l | sed 's/^@reboot/@daily/' | crontab -
"$@" setup --no-alert --no-mirror --boot --json >changed.json
crontab -l >changed.tab
crontab first.tab
kill -KILL $crond
wait $crond || :
"$@" stop
# The box starts again, as far as cron can tell.
rm -f /run/crond.reboot /run/crond.pid
cron -f & crond=$!
for _ in $(seq 600); do
    if "$@" status >/dev/null 2>&1 || [ $? != 3 ]; then break; fi
    sleep 0.2
done
"$@" start --json >booted.json
kill -KILL $crond
"$@" stop
"""


@pytest.mark.slow
def test_cron_starts_the_watch_with_the_box(tmp_path: Path) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin"
    if os.geteuid() != 0:
        pytest.skip("needs root for mounts of its own")
    for program in ("cron", "crontab", "unshare"):
        if shutil.which(program, path=path) is None:
            pytest.skip(f"needs {program}: scripts/test --system")
    apart = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces can be made here")
    command = str(Path(sys.executable).with_name("middlewatch"))
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
    env = kept | {
        "PATH": path,
        "MIDDLEWATCH_STATE_DIR": str(tmp_path / "state"),
        "MIDDLEWATCH_CONFIG": str(tmp_path / "config.toml"),
    }
    done = subprocess.run(
        [*apart, "bash", "-c", SCRIPT, "bash", command],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    def told(name: str) -> str:
        return (tmp_path / name).read_text()

    boot = json.loads(told("first.json"))["boot"]
    assert (boot["by"], boot["state"], boot["notes"]) == ("cron", "set", [])
    assert told("first.tab").startswith("0 4 * * * echo 50\\%\n")
    assert f"@reboot {boot['line']}" in told("first.tab")
    assert told("second.tab") == told("first.tab")
    assert "@reboot" not in told("changed.tab"), "what a person changed stays"
    assert "kept" in json.loads(told("changed.json"))["boot"]["notes"][0]
    assert json.loads(told("booted.json"))["started"] is False, "cron has started it"
