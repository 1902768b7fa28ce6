"""What is typed at home runs where there is no Linux: without its modules, its flags and its /proc.

A child takes away what a Mac does not have, before anything of ours is imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ...fakes.far_box import NAME
from .conftest import Far, contents, weights

COMMANDS = ("deploy", "pull", "teardown", "tui", "replay", "verify")
NO_LINUX = """
import builtins, os, resource, select, signal, socket, sys

GONE = {
    os: "O_PATH O_DIRECTORY_ O_DIRECT O_TMPFILE O_NOATIME O_LARGEFILE RWF_NOWAIT RWF_HIPRI RWF_DSYNC RWF_SYNC "
        "posix_fadvise POSIX_FADV_DONTNEED POSIX_FADV_RANDOM posix_fallocate pipe2 eventfd memfd_create "
        "pidfd_open sched_setaffinity sched_getaffinity sched_setscheduler SCHED_IDLE SCHED_BATCH setresuid "
        "setresgid getresuid getresgid copy_file_range splice getxattr listxattr setxattr fdatasync unshare",
    select: "epoll EPOLLIN",
    socket: "AF_NETLINK SO_PEERCRED AF_PACKET SOCK_CLOEXEC SOCK_NONBLOCK",
    resource: "prlimit",
    signal: "pidfd_send_signal SIGPWR SIGSTKFLT",
}
for module, names in GONE.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "darwin"

def without(function):
    def called(path=".", *more, **named):
        if isinstance(path, (str, bytes)) and os.fspath(path).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", path)
        return function(path, *more, **named)
    return called

builtins.open = without(builtins.open)
for name in ("open", "stat", "lstat", "listdir", "scandir", "readlink"):
    setattr(os, name, without(getattr(os, name)))
from middlewatch.daemon.cli import main
sys.exit(main(sys.argv[1:]))
"""


def elsewhere(
    *words: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NO_LINUX, *words],
        env=env,
        cwd=cwd,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_its_command_is_there(command: str) -> None:
    done = elsewhere(command, "--help")
    assert done.returncode == 0, done.stderr
    code = NO_LINUX.partition("from middlewatch")[0]
    code += f"import middlewatch.daemon.cli.{command}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_checkpoints_and_logs_are_read(tmp_path: Path) -> None:
    sound, cut = tmp_path / "step-1.safetensors", tmp_path / "step-2.safetensors"
    sound.write_bytes(weights(0.5))
    cut.write_bytes(weights(0.5)[:-8])
    done = elsewhere("verify", str(sound), str(cut), "--json")
    assert done.returncode == 1, done.stderr
    found = {Path(one["path"]).name: one for one in json.loads(done.stdout)}
    assert (found[sound.name]["state"], found[sound.name]["level"]) == ("ok", "finite")
    assert found[cut.name]["state"] != "ok"
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n}/50 loss {2 / n:.3f}\n" for n in range(1, 51)))
    done = elsewhere("replay", str(log), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["last_step"] == 50


@pytest.mark.system
@pytest.mark.slow
def test_results_come_home_and_the_gate_answers(far: Far) -> None:
    spec = far.finished()
    done = elsewhere("pull", NAME, str(far.dest), "--json", env=far.env(), cwd=far.home)
    assert done.returncode == 0, done.stdout + done.stderr
    here = contents(far.dest / spec.id / "checkpoints" / "out")
    assert here == contents(Path(spec.checkpoint_dirs[0]))
    assert far.receipt() is not None
    done = elsewhere("teardown", NAME, "--json", env=far.env(), cwd=far.home)
    assert done.returncode == 4, done.stderr
    assert "not_approved" in [one["kind"] for one in json.loads(done.stdout)["blockers"]]
