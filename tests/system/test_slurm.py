"""Jobs through a real Slurm of two nodes on this machine: what ``launch --on slurm`` writes, and what it asks."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.engines.engine import Begun, State
from middlewatch.daemon.engines.slurm import Driver
from middlewatch.daemon.jobs import slurm
from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.read import parse
from middlewatch.daemon.system.errors import UsageError

from ..fakes.box import Box, Receiver
from ..fakes.slurm_cluster import PATIENCE_S, NoSlurm, SlurmCluster

pytestmark = [pytest.mark.system, pytest.mark.slow]

PYTHON = sys.executable
TRAIN = """\
import json, os, signal, struct, sys, time
out, steps, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.makedirs(out, exist_ok=True)
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
step = max((int(name[5:-12]) for name in os.listdir(out) if name.endswith(".safetensors")), default=0)
print("***** Running training *****", flush=True)
print("begins after step", step, "of", steps, flush=True)
if step:
    steps = step + 30  # the second part is a short one
while step < steps:
    step += 1
    print(f"step {step}/{steps} loss {2 / (step + 1):.4f} lr 1e-4", flush=True)
    time.sleep(0.2)
    if asked and how != "never saves":
        asked.clear()
        head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        with open(f"{out}/save.tmp", "wb") as file:
            file.write(struct.pack("<Q", len(head)) + head + struct.pack("<f", 0.5))
        os.replace(f"{out}/save.tmp", f"{out}/step_{step}.safetensors")
        print("saved after step", step, flush=True)
        if how == "leaves":
            sys.exit(0)
print("done", flush=True)
"""
TELL = """\
import os, time
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "SECRET_TOKEN")
print("I am", *(os.environ.get(name, "-") for name in names), flush=True)
"""
SLEEP = "import time; print('sleeps', flush=True); time.sleep(600)"
GROWS = "kept = []\nimport time\nwhile True: kept.append(bytearray(8 << 20)); time.sleep(0.05)"


class Yard:
    """A cluster, a folder that its nodes share, and the driver that is asked."""

    def __init__(self, cluster: SlurmCluster, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.cluster, self.folder, self.driver = cluster, folder, Driver()
        self.patch = patch
        patch.setenv("SLURM_CONF", str(cluster.conf))
        # Where middlewatch of this environment is, and python as the tests have it.
        patch.setenv("PATH", f"{Path(PYTHON).parent}:{os.environ['PATH']}")
        for name, text in (("train.py", TRAIN), ("tell.py", TELL)):
            (folder / name).write_text(text)

    def artefact(self, name: str, words: list[str], main: str = "", more: str = "") -> Artefact:
        text = f"[job]\ncommand = {json.dumps(words)}\n{main}\n[slurm]\n{more}\n"
        job = parse(text, str(self.folder / "job.toml"))
        return slurm.artefact(job, Here(name, frozenset(os.environ)))

    def start(
        self, name: str, words: list[str], main: str = "", more: str = "watch = false"
    ) -> Begun:
        artefact = self.artefact(name, words, main, more)
        place = self.folder / f"launch-{name}"
        place.mkdir()
        for file, text in artefact.files.items():
            (place / file).write_text(text)
        return self.driver.start(artefact, place)

    def until(self, job: str, *standings: str) -> State:
        def look() -> State | None:
            state = self.driver.state(job)
            return state if state.standing in standings else None

        return self.cluster.until(look, f"job {job} to be {' or '.join(standings)}")

    def over(self, begun: Begun) -> State:
        return self.until(begun.id, "finished", "failed", "stopped")

    def says(self, begun: Begun, words: str) -> str:
        """The log, once these words are in it."""
        log = Path(begun.log)
        return self.cluster.until(
            lambda: log.read_text() if log.exists() and words in log.read_text() else None,
            f"{words!r} in {log}",
        )


@contextlib.contextmanager
def yard_of(folder: Path, patch: pytest.MonkeyPatch, **more: Any) -> Iterator[Yard]:
    # The names of sockets are short, and so are those of their folders.
    with tempfile.TemporaryDirectory(prefix="mw") as place:
        try:
            cluster = SlurmCluster(Path(place), **more)
        except NoSlurm as why:
            pytest.skip(str(why))
        try:
            yield Yard(cluster, folder, patch)
        finally:
            cluster.close()


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    with yard_of(tmp_path, monkeypatch) as made:
        yield made


def test_the_time_limit(yard: Yard, tmp_path: Path) -> None:
    """All at once, as a limit of Slurm is a minute at least: a training that saves and leaves, one that
    saves and goes on, one that never saves. The first is launched and watched as a person would do it."""
    receiver = Receiver()
    (tmp_path / "box").mkdir()
    box = Box(tmp_path / "box", receiver)
    box.configure("")
    limit = 'checkpoints = "{}"\nmax_time_s = "60s"\nsave_before_end_s = 15'
    try:
        (tmp_path / "job.toml").write_text(
            f'[job]\nname = "leaves"\ncommand = {json.dumps([PYTHON, "train.py", "a", "5000", "leaves"])}\n'
            + limit.format("a")
        )
        said = box.command("launch", str(tmp_path / "job.toml"), "--on", "slurm", "--json").stdout
        launched = json.loads(said)
        first = Begun(launched["id"], launched["log"])
        goes_on = yard.start(
            "goes-on", [PYTHON, "train.py", "b", "5000", "goes on"], limit.format("b")
        )
        never = yard.start(
            "never", [PYTHON, "train.py", "c", "5000", "never saves"], limit.format("c")
        )

        log = yard.says(first, "is requeued, and goes on from there")
        saved = log.split("saved after step ")[1].split("\n")[0]
        # The same job, its log goes on in the same file, and the training where it had saved.
        log = yard.says(first, f"begins after step {saved}")
        state = yard.over(first)
        assert (state.standing, state.exit_code) == ("finished", 0)
        # On a busy machine the second part may be asked to save, too.
        restarts = state.details["restarts"]
        assert restarts >= 1
        log = Path(first.log).read_text()
        assert log.count("begins after step") == 1 + restarts
        assert log.count("done") == 1
        log_first = log
        push = next(
            p for p in receiver.pushes if "leaves" in p.title and "middlewatch:" in p.title + p.body
        )
        # Where the script says the rest late, what it has said before is the proof.
        assert "requeued" in push.body or "the time ends" in push.body
        assert f"step_{saved}.safetensors" in push.body

        log = yard.says(goes_on, "is requeued, and goes on from there")
        saved = log.split("saved after step ")[1].split("\n")[0]
        yard.says(goes_on, f"begins after step {saved}")
        assert yard.over(goes_on).details["restarts"] >= 1

        state = yard.over(never)
        assert (state.standing, state.details["state"]) == ("stopped", "TIMEOUT")
        assert "reached its time limit of 00:01:00" in state.reason
        log = Path(never.log).read_text()
        assert "nothing was saved in c since this start" in log
        assert "SIGUSR1 to the training" in log
        # The watch ended with its job.
        kept = next((tmp_path / ".middlewatch").glob("leaves-*/watch"))
        assert not (kept / "middlewatch.sock").exists()
        pages = [page.read_text() for page in kept.glob("runs/leaves-*/training_status.md")]
        last = log_first.rsplit("step ", 1)[1].split("/")[0]
        assert any(f"step: {last} of" in page for page in pages)
        assert any("slurm_time_limit" in page for page in pages)
    finally:
        box.close()
        receiver.close()


def test_an_array(yard: Yard) -> None:
    program = "import sys, time; print('element', *sys.argv[1:], flush=True); time.sleep(2); print('end', time.time())"
    begun = yard.start(
        "cells",
        [PYTHON, "-c", program],
        more='watch = false\narray = ["--lr 1", "--lr 2", "--lr \'3 x\'", "--lr 4 {index}"]\narray_limit = 2',
    )
    most = 0

    def running() -> State | None:
        nonlocal most
        lines = yard.cluster.ask("squeue", "-h", "-r", "-t", "RUNNING", "-o", "%i").splitlines()
        most = max(most, len(lines))
        state = yard.driver.state(begun.id)
        return state if state.standing in ("finished", "failed", "stopped") else None

    state = yard.cluster.until(running, "the end of the array")
    assert state.standing == "finished"
    assert sorted(state.details["parts"]) == [f"{begun.id}_{n}" for n in range(4)]
    assert most == 2
    logs = [(yard.folder / f"cells-{begun.id}_{n}.out").read_text() for n in range(4)]
    said = [next(x for x in log.splitlines() if x.startswith("element")) for log in logs]
    assert said == [
        *("element --lr 1", "element --lr 2", "element --lr 3 x", "element --lr 4 3"),
    ]
    assert begun.log == str(yard.folder / f"cells-{begun.id}_*.out")


def test_what_comes_after(yard: Yard) -> None:
    fails = yard.start("fails", [PYTHON, "-c", "raise SystemExit(3)"])
    after = yard.start("after", [PYTHON, "-c", ""], more=f'watch = false\nafter = ["{fails.id}"]')
    state = yard.over(fails)
    assert (state.standing, state.exit_code) == ("failed", 3)
    assert state.reason == "it ended with exit status 3"

    def told() -> State | None:
        state = yard.driver.state(after.id)
        return state if "for ever" in state.reason else None

    state = yard.cluster.until(told, "what is said of a job that can never begin")
    assert state.standing == "waiting"
    assert f"afterok:{fails.id}(failed)" in state.reason
    assert f"scancel {after.id}" in state.reason

    phases = (
        '[[phase]]\nname = "one"\nsteps = 1\n[[phase]]\nname = "two"\nsteps = 1\narguments = ["-f"]'
    )
    program = "import sys; sys.exit('-f' in sys.argv)"
    chain = yard.start(
        "chain",
        [PYTHON, "-c", program],
        more=f'watch = false\n{phases}\n[[phase]]\nname = "three"\nsteps = 1',
    )
    one, two, three = chain.id.split(",")
    state = yard.until(three, "stopped")
    assert "so Slurm took it out of the queue" in state.reason
    state = yard.driver.state(chain.id)
    assert [state.details["parts"][job]["standing"] for job in (one, two, three)] == [
        *("finished", "failed", "stopped"),
    ]
    assert chain.details["jobs"] == {
        "1-one.sbatch": one,
        "2-two.sbatch": two,
        "3-three.sbatch": three,
    }


def test_phases_that_are_judged(yard: Yard) -> None:
    program = (
        "import sys, time\n"
        "for step in range(1, 6):\n"
        "    time.sleep(1)\n"
        "    print(f'step {step}/5 loss 1.5', flush=True)\n"
        "print(f'step 5/5 eval_loss {sys.argv[1]}', flush=True)\n"
    )
    (yard.folder / "judged.py").write_text(program)
    phase = '[[phase]]\nname = "{}"\nsteps = 5\narguments = ["{}"]\nsuccess = "eval_loss < 2.0"\n'
    chain = yard.start(
        "judged",
        [PYTHON, "judged.py"],
        more="\n"
        + phase.format("good", "1.25")
        + phase.format("bad", "2.75")
        + phase.format("last", "1"),
    )
    good, bad, last = chain.id.split(",")
    assert "took it out of the queue" in yard.until(last, "stopped").reason
    assert yard.driver.state(good).standing == "finished"
    assert yard.driver.state(bad).exit_code == 1
    log = (yard.folder / f"judged-good-{good}.out").read_text()
    assert "eval_loss was 1.25 at last; it is to be < 2.0" in log
    report = yard.folder / ".middlewatch" / f"judged-good-{good}" / "report.md"
    assert "judged-good" in report.read_text()


def test_its_place_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that goes before it: the push says so and names the last save, before Slurm kills the rest."""
    receiver = Receiver()
    (tmp_path / "box").mkdir()
    box = Box(tmp_path / "box", receiver)
    box.configure("")
    more = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPartitionName=first Nodes=ALL PriorityTier=9"
    try:
        with yard_of(tmp_path, monkeypatch, nodes=1, more=more) as yard:
            # The configuration of the box goes along, as that of a person would.
            for key in ("MIDDLEWATCH_CONFIG", "MIDDLEWATCH_ALERT_URLS"):
                if key in box.env:
                    monkeypatch.setenv(key, box.env[key])
            begun = yard.start(
                "gives-way",
                [PYTHON, "train.py", "out", "5000", "goes on"],
                'checkpoints = "out"\ncpus = 2',
                "",
            )
            yard.says(begun, "step 3/")
            yard.cluster.run("scancel", "--signal=USR1", f"{begun.id}.0")  # it saves
            log = yard.says(begun, "saved after step")
            saved = log.split("saved after step ")[1].split("\n")[0]
            yard.cluster.until(
                lambda: any((tmp_path / ".middlewatch").glob("*/watch/runs/*/training_status.md")),
                "its page",
            )
            before = yard.start(
                "goes-before", [PYTHON, "-c", ""], "cpus = 2", 'watch = false\npartition = "first"'
            )
            push = yard.cluster.until(
                lambda: next((p for p in receiver.pushes if "gives-way" in p.title), None),
                "the push",
            )
            assert "DUE TO PREEMPTION" in push.title + push.body
            assert f"step_{saved}.safetensors" in push.body
            assert yard.over(before).standing == "finished"
            yard.says(begun, f"begins after step {saved}")  # requeued by Slurm itself
    finally:
        box.close()
        receiver.close()


def test_cancelled_and_requeued(yard: Yard) -> None:
    begun = yard.start("sleeps", [PYTHON, "-c", SLEEP], 'max_time_s = "2h"', "watch = false")
    yard.says(begun, "sleeps")
    state = yard.until(begun.id, "running")
    assert state.details["nodes"] in ("n1", "n2")
    assert 7000 < state.details["time_left_s"] <= 7200
    assert state.details["memory_asked_bytes"] == 100 << 20
    yard.cluster.run("scontrol", "requeue", begun.id)
    state = yard.until(begun.id, "waiting")
    yard.cluster.until(
        lambda: Path(begun.log).read_text().count("sleeps") == 2, "its second start in the same log"
    )
    yard.driver.end(begun.id)
    state = yard.over(begun)
    assert state.standing == "stopped"
    assert "it was cancelled" in state.reason
    assert state.details["restarts"] == 1
    with pytest.raises(UsageError):
        yard.driver.state("1; reboot")


def test_ranks_over_two_nodes(yard: Yard) -> None:
    yard.patch.setenv("SECRET_TOKEN", "s3cret")
    yard.patch.setenv("RANK", "7")  # left over in the shell
    begun = yard.start(
        "ranks",
        [PYTHON, "tell.py"],
        'nodes = 2\nprocesses = 2\ncpus = 2\npass_env = ["SECRET_TOKEN"]',
        "rank_logs = true\nwatch = false",
    )
    assert yard.over(begun).standing == "finished"
    logs = [Path(begun.log.replace(".out", f"-{n}.out")).read_text() for n in range(4)]
    assert logs == [
        "I am 0 0 4 0 n1 29500 s3cret\n",
        "I am 1 1 4 0 n1 29500 s3cret\n",
        "I am 2 0 4 1 n1 29500 s3cret\n",
        "I am 3 1 4 1 n1 29500 s3cret\n",
    ]
    assert "s3cret" not in next(yard.folder.glob("launch-ranks/*.sbatch")).read_text()


def test_torchrun_over_two_nodes(yard: Yard) -> None:
    torchrun = shutil.which("torchrun") or os.environ.get("MIDDLEWATCH_TEST_TORCHRUN")
    if not torchrun:
        pytest.skip("needs torch: pip install --group torch")
    yard.patch.setenv("PATH", f"{Path(torchrun).parent}:{os.environ['PATH']}")
    (yard.folder / "meet.py").write_text(
        "import os, signal, time, torch, torch.distributed as dist\n"
        "asked = []\n"
        "signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))\n"
        "dist.init_process_group('gloo')\n"
        "one = torch.ones(1); dist.all_reduce(one)\n"
        "print('sum', int(one), 'rank', dist.get_rank(), flush=True)\n"
        "while not asked: time.sleep(0.1)\n"
        "print('told', dist.get_rank(), flush=True)\n"
        "dist.barrier()\n"
    )
    begun = yard.start(
        "meets", ["meet.py"], 'launcher = "torchrun"\nnodes = 2\nport = 29731', "watch = false"
    )
    yard.says(begun, "sum 2 rank 0")
    yard.says(begun, "sum 2 rank 1")
    # The signal of the time limit, as Slurm sends it: through the script and torchrun to both ranks.
    yard.cluster.run("scancel", "--batch", "--signal=USR1", begun.id)
    log = yard.says(begun, "told 0")
    assert yard.over(begun).standing == "finished", log
    assert "told 1" in Path(begun.log).read_text()


def test_the_cards_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with yard_of(tmp_path, monkeypatch, nodes=1, gpus=2) as yard:
        tool = tmp_path / "nvidia-smi"
        tool.write_text("#!/bin/sh\necho 'GPU 0: none (UUID: GPU-0)'\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        words = [PYTHON, "-c", "import os; print('sees', os.environ['CUDA_VISIBLE_DEVICES'])"]
        few = yard.start("few", words, "gpus = 2\nprocesses = 1")
        assert yard.over(few).exit_code == 1
        log = Path(few.log).read_text()
        assert "n1: 2 GPUs asked for, nvidia-smi -L shows 1; CUDA_VISIBLE_DEVICES is 0,1" in log
        assert "sees" not in log
        fits = yard.start("fits", words, "gpus = 1")
        assert yard.over(fits).standing == "finished"
        assert "sees 0" in Path(fits.log).read_text()
        with pytest.raises(UsageError) as caught:
            yard.start("more", words, "gpus = 3")
        assert "Slurm would not take more.sbatch" in str(caught.value)
        assert not yard.cluster.ask("squeue", "-h", "-n", "more")


def test_nodes_that_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with yard_of(tmp_path, monkeypatch, more="SlurmdTimeout=5") as yard:
        begun = yard.start("lost", [PYTHON, "-c", SLEEP], more="requeue = false\nwatch = false")
        yard.says(begun, "sleeps")
        name = yard.driver.state(begun.id).details["nodes"]
        other = next(one for one in yard.cluster.names if one != name)
        yard.cluster.kill_node(name)
        state = yard.over(begun)
        assert (state.standing, state.details["state"]) == ("stopped", "NODE_FAIL")
        assert f"a node failed: {name}" in state.reason
        yard.cluster.run(
            "scontrol", "update", f"NodeName={other}", "State=DRAIN", "Reason=ECC errors"
        )
        found = yard.cluster.until(
            lambda: said if len(said := yard.driver.nodes()) == 2 else None, "both nodes told"
        )
        told = "\n".join(found)
        assert f"node {other} is drained: ECC errors" in told
        assert f"node {name} is down" in told
        assert f"an administrator types: scontrol update NodeName={name} State=RESUME" in told
        waits = yard.start("waits", [PYTHON, "-c", ""])
        state = yard.until(waits.id, "waiting")
        assert len(state.details["nodes_in_trouble"]) == 2


def test_more_memory_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with yard_of(tmp_path, monkeypatch, nodes=1, memory=True) as yard:
        begun = yard.start("grows", [PYTHON, "-c", GROWS], 'memory_bytes = "200MiB"')
        state = yard.over(begun)
        assert state.standing == "failed"
        assert "it needed more memory than it had asked for (200M)" in state.reason
        assert "without accounting: try 1.2 times that, --mem=240M" in state.reason
        assert "oom-kill event" in Path(begun.log).read_text()


def test_without_accounting(yard: Yard, tmp_path: Path) -> None:
    """As this cluster is; and then without the client for it, and with a job that nobody knows."""
    begun = yard.start("short", [PYTHON, "-c", "print('done')"])
    assert yard.over(begun).standing == "finished"
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "scontrol", "squeue", "scancel"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    yard.patch.setenv("PATH", str(tmp_path / "bin"))
    assert yard.driver.missing() == ("", "")
    state = yard.driver.state(begun.id)
    assert (state.standing, state.exit_code) == ("finished", 0)
    state = yard.driver.state("424242")
    assert state.standing == "unknown"
    assert "there is no accounting" in state.reason
    yard.patch.setenv("PATH", str(tmp_path))
    assert "sbatch" in yard.driver.missing()[0]


def test_an_allocation_of_a_terminal(yard: Yard, tmp_path: Path) -> None:
    """What is started in the shell of salloc is told to end with its terminal."""
    ours, theirs = os.openpty()
    command = f"middlewatch run --json --state-dir {tmp_path / 'state'} -- {PYTHON} -c 'print(1)' > said.json"
    stop = f"middlewatch stop --state-dir {tmp_path / 'state'}"
    try:
        done = subprocess.run(
            ["setsid", "--ctty", "--wait", "salloc", "--quiet", "sh", "-c", f"{command}; {stop}"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path,
            env=yard.cluster.env | {"PATH": os.environ["PATH"]},
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(theirs)
        shown = os.read(ours, 4096)
        os.close(ours)
    assert done.returncode == 0, shown
    lines = json.loads((tmp_path / "said.json").read_text())["checks"]
    line = next(one for one in lines if one["what"].startswith("allocation "))
    assert line["state"] == "warn"
    assert "salloc (pid" in line["detail"]


def test_the_health_check_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script as the page shows it, on a node that lacks something, and before that on one that does not."""
    page = Path(__file__).resolve().parents[2] / "docs" / "launch-slurm.md"
    check, said = tmp_path / "node-check", tmp_path / "said.json"
    script = page.read_text().partition("```sh\n")[2].partition("```")[0]
    # Of a middlewatch that says what is in a file; nobody's disk is filled for this.
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "middlewatch"
    tool.write_text(f"#!/bin/sh\n[ \"$*\" = 'audit --json' ] && cat {said}; touch {said}.asked\n")
    check.write_text("#!/bin/sh\n")
    for program in (tool, check):
        program.chmod(0o755)
    alerts = {"what": "alerts", "state": "bad", "detail": ""}
    said.write_text(json.dumps({"checks": [alerts, {"what": "disk /", "state": "ok"}]}))
    more = f"HealthCheckProgram={check}\nHealthCheckInterval=2"
    with yard_of(tmp_path, monkeypatch, nodes=1, more=more) as yard:
        # Slurm gives it hardly any environment, and this cluster is not the one of /etc/slurm.
        own = (
            f"export SLURM_CONF={yard.cluster.conf} PATH={tmp_path / 'bin'}:{os.environ['PATH']}\n"
        )
        new = tmp_path / "new"
        new.write_text(script.replace("#!/bin/sh\n", f"#!/bin/sh\n{own}", 1))
        new.chmod(0o755)
        new.replace(check)
        asked = Path(f"{said}.asked")
        yard.cluster.until(asked.exists, "the first health check")
        assert yard.driver.nodes() == []
        said.write_text(json.dumps({"checks": [alerts, {"what": "disk /", "state": "bad"}]}))
        (told,) = yard.cluster.until(yard.driver.nodes, "the node to be drained")
        assert "node n1 is drained: middlewatch audit: disk /" in told
