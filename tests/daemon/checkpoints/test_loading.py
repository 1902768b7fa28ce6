"""The level of loading: real torch, in one child for all that can share it."""

from __future__ import annotations

import ast
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.formats import distcp_archives
from middlewatch.daemon.checkpoints.formats.torch_zip import Malformed
from middlewatch.daemon.checkpoints.load import interpreters, memory_budget
from middlewatch.daemon.checkpoints.load import loader as loading
from middlewatch.daemon.checkpoints.load.loader import Loader
from middlewatch.daemon.config.run_spec import Rank, RunSpec
from middlewatch.daemon.launch.programs import HELPERS
from middlewatch.daemon.system import walls
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.errors import UsageError

from ..cgroup_box import PID, V1_MOUNT, V2_MOUNT, FakeBox
from .evil import archive

Copy = Callable[[str], Path]
HERE = Path(loading.__file__).parent
WHOLE = (
    *("ckpt.pt", "legacy_step_40.pt", "epoch=3-step=4000.ckpt", "model.safetensors"),
    *("checkpoint-500", "sharded", "sharded/model.safetensors.index.json", "step_300"),
    "ds/global_step120",
)


@pytest.fixture(scope="module")
def loader() -> Iterator[Loader]:
    """One child with torch in it."""
    pytest.importorskip("torch")
    with Loader(interpreters.find(sys.executable), 1 << 30, SystemClock()) as loader:
        yield loader


@pytest.mark.parametrize("name", WHOLE)
def test_whole_checkpoints_are_loaded(loader: Loader, made: Path, name: str) -> None:
    told: list[tuple[int, int]] = []
    found = loader.check(str(made / name), lambda path, done, of: told.append((done, of)))
    assert found == loading.Loaded("ok", whole=True)
    assert told[-1][0] == told[-1][1] > 0
    assert loader.walls, "the kernel must have taken the filter"
    assert loader.torch.startswith("2.")


def damaged(path: Path, find: bytes, put: bytes) -> None:
    data = path.read_bytes()
    assert find in data
    path.write_bytes(data.replace(find, put))


def test_what_torch_cannot_load_is_corrupt(loader: Loader, copy: Copy) -> None:
    cut = copy("ckpt.pt")
    cut.write_bytes(cut.read_bytes()[:-9000])
    found = loader.check(str(cut))
    assert found.state == "corrupt"
    assert found.detail.startswith("torch cannot load it: ")
    tensors = copy("model.safetensors")
    damaged(tensors, b'"F32"', b'"F99"')
    assert loader.check(str(tensors)).state == "corrupt"
    folder = copy("checkpoint-500")
    (folder / "optimizer.pt").write_bytes(archive({"byteorder": b"upside"}))
    found = loader.check(str(folder))
    assert found.state == "corrupt"
    assert "optimizer.pt: " in found.detail


def test_what_needs_code_is_no_fault(loader: Loader, copy: Copy) -> None:
    torch = pytest.importorskip("torch")
    folder = copy("checkpoint-500")
    torch.save({"args": Path("x"), "fraction": range(3)}, folder / "training_args.bin")
    (folder / "random_states_0.pkl").write_bytes(b"\x80\x02}.")
    found = loader.check(str(folder))
    assert (found.state, found.whole) == ("ok", False)
    assert found.detail == (
        "load not tried for random_states_0.pkl: it is a plain pickle, which can run any code;"
        f" training_args.bin: it needs builtins.range, {type(Path()).__module__}.PosixPath,"
        " which would run code"
    )


def test_plain_data_of_every_kind_is_loaded(loader: Loader, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    counts = collections.OrderedDict(a=1)
    state = {
        "set": {1},
        "bytes": b"x",
        "counts": counts,
        "size": torch.Size([1]),
        "half": 1j,
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "type": torch.bfloat16,
        "long": 1 << 80,
        "sparse": torch.eye(3).to_sparse(),
    }
    for new in (True, False):
        path = tmp_path / "step_1.pt"
        torch.save(state, path, _use_new_zipfile_serialization=new)
        assert loader.check(str(path)) == loading.Loaded("ok", whole=True)


def test_memory_is_bounded(made: Path, tmp_path: Path) -> None:
    """A file that must be read whole and does not fit is left alone; a mapped one is not."""
    torch = pytest.importorskip("torch")
    state = {"w": torch.zeros(2_000_000)}
    torch.save(state, tmp_path / "new.pt")
    torch.save(state, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with Loader(interpreters.find(sys.executable), 4 << 20, SystemClock()) as loader:
        assert loader.check(str(tmp_path / "new.pt")).whole
        found = loader.check(str(tmp_path / "old.pt"))
        assert (found.state, found.whole) == ("ok", False)
        size = (tmp_path / "old.pt").stat().st_size
        assert f"it needs {size} bytes of memory" in found.detail
        with zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED, True, 1) as bomb:
            bomb.writestr("archive/version", b"3\n")
            bomb.writestr("archive/data.pkl", bytes(160 << 20))
        found = loader.check(str(tmp_path / "bomb.pt"))
        assert (found.state, found.whole) == ("ok", False)
        assert "it needs more than 4194304 bytes of memory" in found.detail
        assert loader.check(str(made / "ckpt.pt")).whole, "and the next one is loaded"


def test_a_file_that_kills_the_child_does_not_stop_the_next(made: Path, tmp_path: Path) -> None:
    """Here the file stays the same and the child is killed from outside, as the kernel would."""
    pytest.importorskip("torch")
    with Loader(interpreters.find(sys.executable), 1 << 30, SystemClock()) as loader:
        assert loader.check(str(made / "ckpt.pt")).whole
        child = loader._child
        assert child is not None
        child.kill()
        child.wait(120)
        found = loader.check(str(made / "ckpt.pt"))
        assert (found.state, found.whole) == ("ok", False)
        assert "the loader ended while loading it (status -9)" in found.detail
        assert loader.check(str(made / "ckpt.pt")).whole


def test_a_python_without_torch_is_told(tmp_path: Path, made: Path) -> None:
    broken = tmp_path / "site"
    broken.mkdir()
    (broken / "torch.py").write_text("raise OSError('libcudart.so.12: cannot open')")
    environ = interpreters.environment({**os.environ, "PYTHONPATH": str(broken)})
    python = interpreters.Python(sys.executable, "given", environ)
    with (
        Loader(python, 1 << 30, SystemClock()) as loader,
        pytest.raises(loading.NoLoader, match=r"libcudart\.so\.12: cannot open"),
    ):
        loader.check(str(made / "ckpt.pt"))
    python = interpreters.Python("/nowhere/python", "given", {})
    with (
        Loader(python, 1 << 30, SystemClock()) as loader,
        pytest.raises(loading.NoLoader, match="cannot be started"),
    ):
        loader.check(str(made / "ckpt.pt"))


def test_nothing_to_load_is_said(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert "no file for torch" in loader.check(str(tmp_path)).detail
    assert "load not tried" in loader.check(str(tmp_path / "gone.pt")).detail


# ------------------------------------------------------------------------ the walls

TRY = """
import ctypes, os, socket, sys, threading
from middlewatch.daemon.checkpoints.load.sandbox import enter
home = sys.argv[1]
assert enter()
libc = ctypes.CDLL(None)
def denied(what, *args, **more):
    try:
        what(*args, **more)
    except (OSError, ValueError):
        return
    print(what, args, "went through")
denied(open, home + "/new", "w")
denied(open, home + "/old", "r+")
denied(open, home + "/old", "a")
denied(os.open, home + "/old", os.O_RDONLY | os.O_TRUNC)
denied(os.mkdir, home + "/dir")
denied(os.unlink, home + "/old")
denied(os.rename, home + "/old", home + "/new")
denied(os.symlink, home + "/old", home + "/link")
denied(os.link, home + "/old", home + "/hard")
denied(os.chmod, home + "/old", 0o777)
denied(os.truncate, home + "/old", 0)
denied(os.utime, home + "/old", (1, 1))
denied(os.fork)
denied(os.posix_spawn, "/bin/true", ["true"], {})
denied(os.execv, "/bin/true", ["true"])
denied(os.kill, os.getppid(), 0)
denied(socket.socket)
denied(socket.socketpair)
if os.system("true") == 0: print("system went through")
if libc.system(b"true") == 0: print("libc.system went through")
caps = open("/proc/self/status").read().split("CapEff:")[1].split()[0]
if int(caps, 16) & ~4: print("capabilities", caps)  # CAP_DAC_READ_SEARCH is kept
assert open(home + "/old").read() == "old"
ran = []
thread = threading.Thread(target=ran.append, args=(1,)); thread.start(); thread.join()
assert ran == [1]
print("done")
"""


def test_the_walls_hold_whatever_runs_inside(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    before = (tmp_path / "old").stat()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRY, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout == "done\n", done.stdout + done.stderr
    after = (tmp_path / "old").stat()
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (before.st_mtime_ns, before.st_mode) == (after.st_mtime_ns, after.st_mode)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_rule_jumps_to_a_rule(machine: str) -> None:
    every = (walls.PROGRAMS, walls.NETWORK, walls.CHANGES, walls.SYSTEM)
    calls = [call for group in every for call in group[machine]]
    program = walls.rules(machine, calls, changes=True, alone=4711)
    assert len(program) < 4096
    for at, (code, then, other, _) in enumerate(program):
        if code in (0x15, 0x35, 0x45):
            assert max(at + 1 + then, at + 1 + other) < len(program)
            assert max(then, other) < 256
    assert program[-1][0] == 0x06


def test_the_child_is_python_as_old_as_3_8() -> None:
    for name in ("load/sandbox", "load/plain_objects", "load/program", "../system/walls"):
        ast.parse((HERE.parent / f"{name}.py").read_text(), feature_version=(3, 8))
    ast.parse(loading.program(), feature_version=(3, 8))


def test_the_child_is_taken_for_no_training() -> None:
    assert any(mark in loading._BOOT for mark in HELPERS)


# ------------------------------------------------------------------------ which python


def venv(home: Path, base: str = sys.executable) -> Path:
    """A virtual environment as small as it gets, which has a package called torch."""
    (home / "bin").mkdir(parents=True)
    real = Path(os.path.realpath(base))
    (home / "bin" / "python").symlink_to(real)
    (home / "pyvenv.cfg").write_text(f"home = {real.parent}\n")
    ask = "import sys; print('python%d.%d' % sys.version_info[:2])"
    version = subprocess.run([real, "-c", ask], capture_output=True, text=True, check=True).stdout
    site = home / "lib" / version.strip() / "site-packages"
    site.mkdir(parents=True)
    (site / "torch.py").write_text("")
    return home / "bin" / "python"


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process that trains; they all end with the test."""
    begun: list[subprocess.Popen[str]] = []

    def start(*words: str, **environ: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*words, "-c", "print('up', flush=True); input()"],
            env=environ,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@pytest.mark.parametrize("how", ["whole path", "own path", "search path", "VIRTUAL_ENV"])
def test_the_venv_of_the_training_process(tmp_path: Path, training: Any, how: str) -> None:
    python = venv(tmp_path / "env")
    real = os.path.realpath(python)
    env = {"PATH": "/usr/bin", "PYTHONPATH": "rel:/abs", "SECRET": "x", "LD_PRELOAD": ""}
    if how == "whole path":
        process = training(str(python), **env)
    elif how == "own path":
        process = training("env/bin/python", **env)
    elif how == "search path":
        path = f"{python.parent}:/usr/bin"
        process = training("/bin/sh", "-c", 'exec python "$@"', "sh", **{**env, "PATH": path})
    else:
        process = training(real, **env, VIRTUAL_ENV=str(python.parent.parent))
    found = interpreters.of_process(process.pid, ticks(process.pid))
    assert found is not None
    if how != "VIRTUAL_ENV":  # called by its real name, it is that one, and not in the venv
        assert found.path == str(python)
        assert interpreters.has_torch(found)
    assert found.environ["PYTHONPATH"] == "/abs"
    assert not {"SECRET", "LD_PRELOAD"} & set(found.environ)
    assert found.environ["CUDA_VISIBLE_DEVICES"] == ""
    assert interpreters.of_process(process.pid, 1) is None, "another process has its number"


def test_the_order_of_pythons(tmp_path: Path, training: Any) -> None:
    living, recorded = venv(tmp_path / "living"), venv(tmp_path / "recorded")
    process = training(str(living), PATH="/usr/bin")
    rank = Rank(process.pid, ticks(process.pid), 0)
    command = (str(recorded), "train.py")
    run = RunSpec("gpt", command=command, cwd=str(tmp_path), ranks=(rank,))
    assert interpreters.find(None, [run]).path == str(living)
    process.kill()
    process.wait()
    assert interpreters.find(None, [run]).path == str(recorded)
    assert interpreters.find(str(recorded)).path == str(recorded)
    with pytest.raises(UsageError, match="is not a program"):
        interpreters.find(str(tmp_path))
    with pytest.raises(UsageError, match=r"not a python 3\.8 or later with torch"):
        interpreters.find("/bin/true")


def test_the_python_of_a_recorded_command(tmp_path: Path) -> None:
    python = venv(tmp_path / "env")
    torchrun = tmp_path / "torchrun"
    torchrun.write_text(f"#!{python}\nimport torch\n")
    torchrun.chmod(0o755)
    here = str(tmp_path)
    assert interpreters.of_command(("env/bin/python", "train.py"), here) == str(python)
    assert interpreters.of_command(("env", "A=1", str(python), "t.py"), here) == str(python)
    assert interpreters.of_command((str(torchrun), "train.py"), here) == str(python)
    assert interpreters.of_command(("python3", "train.py"), here) == shutil.which("python3")
    for nothing in ((), ("./gone", "x"), ("/bin/true",), ("gone/bin/python",)):
        assert interpreters.of_command(nothing, here) == ""


def test_nowhere_a_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment without torch, on a box whose search path has none."""
    bare = venv(tmp_path / "env")
    for path in bare.parent.parent.rglob("torch.py"):
        path.unlink()
    code = (
        "from middlewatch.daemon.checkpoints.load import interpreters as i\n"
        "try:\n    i.find(None)\nexcept Exception as e:\n    print(f'{e}|{e.hint}')\n"
    )
    site = next(bare.parent.parent.rglob("site-packages"))
    root = HERE.parents[3]
    (site / "own.pth").write_text(f"{root}\n")
    env = {"PATH": str(bare.parent), "PYTHONPATH": str(root)}
    done = subprocess.run([bare, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == (
        "no python with torch found|pip install 'middlewatch[torch]', or --python PATH\n"
    ), done.stderr


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: to be somebody else")
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="needs a python for everybody")
def test_root_runs_the_python_of_a_user_as_that_user() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        home = Path(name)
        home.chmod(0o755)
        python = venv(home / "env", "/usr/bin/python3")
        os.chown(python, 65534, 65534, follow_symlinks=False)
        run = RunSpec("gpt", command=(str(python), "train.py"), cwd="/", uid=65534)
        found = interpreters.find(None, [run])
        assert (found.path, found.uid) == (str(python), 65534)
        told = subprocess.run(
            [found.path, "-c", "import os; print(os.getuid(), os.getgid())"],
            env=dict(found.environ),
            stdout=subprocess.PIPE,
            check=True,
            **found.identity(),
        )
        assert told.stdout == b"65534 65534\n"


# ------------------------------------------------------------------------ parts


def test_the_row_of_archives_in_a_distcp_file(tmp_path: Path, made: Path) -> None:
    parts = [archive({}), archive({"data/0": bytes(5000)}), archive({})]
    path = tmp_path / "__0_0.distcp"
    path.write_bytes(b"".join(parts))
    assert [length for _, length in distcp_archives.of(str(path))] == [len(part) for part in parts]
    for real in (made / "step_300").glob("*.distcp"):
        found = distcp_archives.of(str(real))
        assert sum(length for _, length in found) == real.stat().st_size
    path.write_bytes(b"".join(parts) + b"x")
    with pytest.raises(Malformed, match="no archive ends at byte"):
        distcp_archives.of(str(path))


def test_the_budget_is_half_of_what_is_free_in_the_box_and_under_every_limit(
    tmp_path: Path,
) -> None:
    box, root = FakeBox(tmp_path), str(tmp_path)
    box.mounted(V2_MOUNT)
    box.lives_in("0::/box/job")
    meminfo = tmp_path / "proc/meminfo"
    meminfo.write_text("MemTotal: 99 kB\nMemAvailable:    8388608 kB\n")
    assert memory_budget.memory(PID, root) == 4 << 30
    box.group("box/job", current=1, inactive=0)
    box.group("box", current=4 << 30, inactive=0, limit=6 << 30)
    assert memory_budget.memory(PID, root) == 1 << 30
    box.group("box", current=6 << 30, inactive=0, limit=6 << 30)
    assert memory_budget.memory(PID, root) == memory_budget.LEAST_BYTES
    nowhere = str(tmp_path / "nowhere")
    assert memory_budget.memory(PID, nowhere) == memory_budget.MOST_BYTES // 2


@pytest.mark.parametrize(
    ("version", "mount", "line"),
    [(2, V2_MOUNT, "0::/box/job"), (1, V1_MOUNT, "4:memory:/box/job")],
)
def test_a_container_full_of_page_cache_has_the_whole_budget(
    tmp_path: Path, version: int, mount: str, line: str
) -> None:
    """64 GiB, 50 of them inactive page cache: what the training has read, and no reason to wait."""
    box = FakeBox(tmp_path)
    (tmp_path / "proc/meminfo").write_text(f"MemAvailable: {128 << 20} kB\n")
    box.mounted(mount)
    box.lives_in(line)
    box.group("box/job", version, current=63 << 30, inactive=50 << 30, pids=str(PID))
    box.group("box", version, current=63 << 30, inactive=50 << 30, limit=64 << 30)
    assert memory_budget.memory(PID, str(tmp_path)) == memory_budget.MOST_BYTES


def test_nothing_of_torch_is_imported_here() -> None:
    code = textwrap.dedent("""
        import sys
        from middlewatch.daemon.checkpoints.load import interpreters, loader as loading
        interpreters.find(sys.executable)
        print({"torch", "numpy", "pickle", "pickletools"} & set(sys.modules))
    """)
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr
