"""How runs come under watch: launched, attached, discovered."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.system.json_patch import applied

from ..fakes.box import COMMAND

Program = Callable[[str], list[str]]


@pytest.mark.slow
def test_a_real_gpt_in_torch(box: Any, program: Program) -> None:
    pytest.importorskip("torch")
    out = box.root / "out"
    words = (*program("gpt"), "--max_iters", "60", "--out_dir", str(out))
    run = box.run(*words, name="gpt")  # the folder is read from the command line
    push = box.push(lambda p: p.title.startswith("[FINISHED] gpt on"))
    assert "Last step 60" in push.body
    done = box.command("status", run, "--json")
    status = json.loads(done.stdout)
    assert status["state"] == "finished"
    assert status["exit"] == {"code": 0, "signal": None}
    assert status["now"]["step"] == 60
    values = status["now"]["values"]
    assert 0 < values["train_loss"] < 4
    assert {"eval_loss", "lr", "grad_norm"} <= values.keys()
    assert len(status["curve"]["points"]) >= 60
    assert status["checkpoint_dirs"] == [str(out)]
    index = json.loads((box.state / "runs" / run / "checkpoints_index.json").read_text())
    assert index["schema"] == "middlewatch/checkpoints/v1"
    assert [c["step"] for c in index["checkpoints"]] == [20, 40, 60]
    assert {c["format"] for c in index["checkpoints"]} == {"torch"}
    assert {c["verified"]["state"] for c in index["checkpoints"]} == {"ok"}
    assert index["latest"] == index["resume_from"] == str(out / "ckpt-60.pt")
    assert "eval_loss" in index["checkpoints"][-1]["metrics"]
    page = (box.state / "runs" / run / "training_status.md").read_text()
    assert page.startswith(f"# {run}: finished\nUpdated ")
    assert [p for p in box.receiver.pushes if "CRITICAL" in p.title or "WARNING" in p.title] == []


@pytest.mark.slow
@pytest.mark.system
def test_watch_without_options_finds_every_run_of_the_box(
    box: Any, program: Program, searching: None
) -> None:
    """``> file`` under nohup, ``| tee file``, inside tmux, and a torchrun job of two ranks."""
    pytest.importorskip("torch")
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    folder = box.root / "runs"
    scripts = {}
    for name in ("nohuped", "teed", "tmuxed"):
        scripts[name] = folder / name / f"train_{name}.py"
        scripts[name].parent.mkdir(parents=True)
        shutil.copy(program("trainer")[1], scripts[name])
    unbuffered = {"PYTHONUNBUFFERED": "1"}
    python = sys.executable
    box.spawn(
        "/bin/sh",
        "-c",
        f"nohup {python} {scripts['nohuped']} none > {folder}/nohuped/log 2>&1",
        env=unbuffered,
        cwd=folder / "nohuped",
    )
    box.spawn(
        "/bin/sh",
        "-c",
        f"{python} {scripts['teed']} none 2>&1 | tee {folder}/teed/log > /dev/null",
        env=unbuffered,
        cwd=folder / "teed",
    )
    socket = str(box.root / "tmux.sock")
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    inside = f"{python} {scripts['tmuxed']} none"
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "100", "-y", "30", inside],
        cwd=folder / "tmuxed",
        env={**box.env, **unbuffered},
        check=True,
    )
    (folder / "ddp").mkdir()
    with (folder / "ddp" / "log").open("wb") as log:
        box.spawn(
            # What --standalone comes to, but for the name "localhost", which a bare box does not know.
            *(python, "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"),
            *("--local-addr", "127.0.0.1"),
            *program("rank")[1:],
            env={"OMP_NUM_THREADS": "1"},
            cwd=folder / "ddp",
            stdout=log,
            stderr=log,
        )
    try:
        box.until(lambda: "step" in (folder / "ddp" / "log").read_text(), "the torchrun job")
        told = json.loads(box.command("watch", "--json").stdout)
        mine = [t for t in told if str(folder) in " ".join([*t["logs"], t["name"]]) or _ours(t)]
        names = sorted(t["name"] for t in mine)
        assert {"train_nohuped", "train_teed", "train_tmuxed"} <= set(names), told
        assert len([n for n in names if "rank" in n]) == 1, "two ranks are one run"
        for one in mine:
            box.steps(5, run=one["run"])
        ddp = next(t for t in mine if "rank" in t["name"])
        ranks = {p["rank"] for p in box.status(ddp["run"])["processes"]}
        assert {0, 1} <= ranks
        by_name = {t["name"]: box.status(t["run"]) for t in mine}
        assert by_name["train_nohuped"]["logs"][0]["path"] == f"{folder}/nohuped/log"
        assert by_name["train_teed"]["logs"][0]["path"] == f"{folder}/teed/log"
        assert by_name["train_tmuxed"]["home"] == "tmux"
        # Once more: nothing is watched twice.
        again = json.loads(box.command("watch", "--json").stdout)
        assert not any(t["new"] for t in again if t["run"] in {m["run"] for m in mine})
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def _ours(told: dict[str, Any]) -> bool:
    return str(told["name"]).startswith(("train_nohuped", "train_teed", "train_tmuxed", "rank"))


def test_a_run_outlives_the_session_that_started_it(box: Any, program: Program) -> None:
    """A shell that is hung up takes nothing along; output and exit status are kept."""
    words = " ".join(program("trainer"))
    script = f"{sys.executable} -m middlewatch.daemon run --name gpt -- {words} none --steps 60"
    shell = box.spawn("/bin/sh", "-c", f"{script}; sleep 60", stdout=subprocess.DEVNULL)
    box.until(lambda: box.ask("runs"))
    os.killpg(shell.pid, signal.SIGHUP)
    shell.wait()
    box.push(lambda p: p.title.startswith("[FINISHED] gpt on"))
    assert box.status()["exit"] == {"code": 0, "signal": None}


def test_output_is_there_at_once(box: Any) -> None:
    """Python without -u, and a C program: no block of 4 KiB is waited for."""
    slow = (
        "import time\nfor i in range(99): print(f'step {i}/99 loss {9-i/20:.2f}'); time.sleep(.1)"
    )
    run = box.run(sys.executable, "-c", slow, name="py")
    box.steps(5, run=run)
    if shutil.which("stdbuf") is None or shutil.which("awk") is None:
        return
    count = 'BEGIN { for (i = 1; i < 99; i++) { printf "step %d/99 loss 1.5\\n", i; system(""); '
    count += 'while (("sleep 0.1; echo" | getline x) > 0); close("sleep 0.1; echo") } }'
    run = box.run("awk", count, name="awk")
    box.steps(5, run=run)


def test_a_run_is_followed_until_it_ends(box: Any) -> None:
    over = box.root / "over"
    text = "import itertools, pathlib, sys, time\nfor i in itertools.count(1):\n"
    text += "    print(f'step {i} loss {3 + 1 / i:.4f}', flush=True); time.sleep(.1)\n"
    text += "    if pathlib.Path(sys.argv[1]).exists(): break\n"
    run = box.run(sys.executable, "-c", text, str(over), name="py")
    box.steps(2, run=run)
    words = [*COMMAND, "status", run, "--follow", "--json"]
    with subprocess.Popen(words, env=box.env, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        first = json.loads(follower.stdout.readline())
        told = json.loads(follower.stdout.readline())
        over.touch()
        changes = [told, *map(json.loads, follower.stdout)]
    assert (first["type"], first["status"]["run"]) == ("snapshot", run)
    assert {change["type"] for change in changes} == {"change"}
    states = [first["status"]]
    for change in changes:
        states.append(applied(states[-1], change["patch"]))
    assert states[-1]["state"] in ("finished", "failed")
    steps = [state["now"]["step"] for state in states]
    assert steps == sorted(steps)
    assert steps[-1] > steps[0]
    assert box.command("status", "--follow", check=False).returncode == 2


def test_watching_a_log_alone(box: Any) -> None:
    log = box.root / "训练.log"
    log.write_text("step 1/10 loss 2.5\n", encoding="utf-8")
    box.command("watch", "--log", str(log))
    box.steps(1)
    with log.open("a", encoding="utf-8") as more:
        more.write("step 2/10 loss 2.4\n")
    box.steps(2)
    assert box.status()["name"] == "训练"


def test_two_daemons_never_share_a_state_directory(box: Any) -> None:
    box.command("start")
    pid = box.ask("ping")["pid"]
    done = box.command("daemon", check=False)
    assert done.returncode == 4
    assert f"pid {pid}" in done.stderr
    box.command("start")
    assert box.ask("ping")["pid"] == pid
    box.command("stop")
    assert box.command("status", check=False).returncode == 3
    box.command("stop")


def test_the_files_are_whole_at_any_instant(box: Any, program: Program) -> None:
    """Read all the time while the daemon is killed again and again."""
    run = box.run(*program("trainer"), "none", "--save-every", "5", "--sleep", "0.1",
                  "--size", "4096", "--out", str(box.root / "out"), name="gpt",
                  options=("--checkpoints", str(box.root / "out")))  # fmt: skip
    folder = box.state / "runs" / run
    for _ in range(4):
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            _whole(folder)
        os.kill(box.ask("ping")["pid"], signal.SIGKILL)
        _whole(folder)
        box.command("start")
    box.until(lambda: box.ask("checkpoints")["checkpoints"])
    assert not list(folder.glob("*.tmp*"))


def _whole(folder: Path) -> None:
    page = (folder / "training_status.md").read_text()
    assert page.startswith("# gpt-")
    assert "## Watch" in page
    index = json.loads((folder / "checkpoints_index.json").read_text())
    assert index["schema"] == "middlewatch/checkpoints/v1"
