"""`middlewatch launch --on docker` with a real engine: what is started, watched, ended and removed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.engines.docker import Driver
from middlewatch.daemon.launch.rehearsal import free_port
from middlewatch.daemon.system.errors import MiddlewatchError

from ..fakes import local_shell
from ..fakes.box import Box, Receiver
from ..fakes.docker_engine import PYTHON, DockerEngine, NoEngine, docker_engine, programs_shown
from ..fakes.far_box import NAME, far_box

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it starts a docker engine"),
    pytest.mark.skipif(shutil.which("docker") is None, reason="needs docker (package docker.io)"),
]

SECRET = "mw-geheim-'$(id)'\n 秘密"
"""With all that a shell and a line of text could spoil."""

TRAIN = """\
import os, pathlib, signal, sys, time
out = pathlib.Path("/code/out")
def save(*_):
    (out / "saved").write_text(str(step))
    print("saved at step", step, flush=True)
    raise SystemExit(0)
signal.signal(signal.SIGTERM, save)
(out / "token").write_text(os.environ.get("MW_TOKEN", ""))
print("***** Running training *****")
for step in range(int(sys.argv[1])):
    print(f"step {step}/{sys.argv[1]} loss {2 / (step + 1):.4f} lr 1e-4")
    time.sleep(0.1)
print("训练完成")
"""
FAILS = "print('step 1 loss 2.0', flush=True); raise KeyError('boom')\n"
GROWS = """\
import time
print("***** Running training *****", flush=True)
kept = []
while True:
    kept.append(bytearray(4 << 20))
    time.sleep(0.01)
"""
LEAVES = """\
import json, pathlib, signal, struct, sys, time
out = pathlib.Path("/code/out")
def save(*asked):
    while asked and not (out / "go").exists():
        time.sleep(0.05)
    head = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    (out / "part.tmp").write_bytes(struct.pack("<Q", len(head)) + head + bytes(16))
    (out / "part.tmp").rename(out / f"step_{step}.safetensors")
    print(f"saved step {step}", flush=True)
    if asked:
        raise SystemExit(143)
signal.signal(signal.SIGTERM, save)
print("***** Running training *****")
for step in range(100000):
    print(f"step {step}/100000 loss {2 / (step + 1):.4f} lr 1e-4", flush=True)
    if step == 20:
        save()
    time.sleep(0.1)
"""
MEETS = """\
import os, socket, time
rank, size, where = (os.environ[n] for n in ("RANK", "WORLD_SIZE", "MASTER_ADDR"))
port = int(os.environ["MASTER_PORT"])
if rank == "0":
    with socket.create_server((where, port)) as server:
        other, _ = server.accept()
        with other:
            print("rank 0 of", size, "heard", other.recv(100).decode())
else:
    while True:
        try:
            with socket.create_connection((where, port)) as one:
                one.sendall(b"rank " + rank.encode())
            break
        except OSError:
            time.sleep(0.05)
    print("rank", rank, "said it")
"""
GLOO = """\
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(value)
# In one piece: two ranks print to one pipe.
sys.stdout.write(f"rank {dist.get_rank()} of {dist.get_world_size()} sum {value.item()}\\n")
dist.barrier()
dist.destroy_process_group()
"""


class Yard:
    """A box with a daemon, an engine, and a job file that is launched."""

    def __init__(self, box: Box, engine: DockerEngine, code: Path) -> None:
        self.box, self.engine, self.code = box, engine, code

    def job(self, *words: str, **more: Any) -> str:
        """Write a job file, with the keys ``more`` under [job], ``options`` and ``network`` under [docker]; its
        path."""
        docker = {
            "image": self.engine.IMAGE,
            "network": more.pop("network", "none"),
            "options": list(more.pop("options", ())),
        }
        main = {
            "command": [PYTHON, *words],
            "workdir": "/code",
            "mounts": [*programs_shown(), f"{self.code}:/code", *more.pop("mounts", ())],
            "save_before_end_s": "20s",
            **more,
        }
        tables = {"job": main, "docker": docker, "job.env": more.pop("env", {})}
        main.pop("env", None)
        lines = []
        for name, table in tables.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(table[key])}" for key in table)]
        path = self.code / "job.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return str(path)

    def launch(self, *words: str, status: int = 0) -> dict[str, Any]:
        """What ``launch --json`` answers, or with another status what it complains of."""
        done = self.box.command("launch", *words, "--on", "docker", "--json", check=False)
        assert done.returncode == status, done.stdout + done.stderr + self.box.log()
        if status > 1:
            return {"said": done.stderr}
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def state(self, launched: dict[str, Any]) -> dict[str, Any]:
        """Standing, reason and containers, as the driver tells them."""
        found = Driver().state(launched["id"])
        return {"standing": found.standing, "reason": found.reason, **found.details}

    def over(self, launched: dict[str, Any]) -> dict[str, Any]:
        """The state once nothing runs any more."""

        def ended() -> dict[str, Any] | None:
            found = self.state(launched)
            over = all(one["status"] == "exited" for one in found["containers"])
            return found if over else None

        try:
            found: dict[str, Any] = self.box.until(ended, "the end of its containers")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{[self.logs(n) for n in self.names()]}") from None
        return found

    def exit_of(self, run: str) -> dict[str, Any]:
        """How a run ended, once the daemon knows."""
        found: dict[str, Any] = self.box.until(
            lambda: self.box.status(run)["exit"], f"the end of {run}"
        )
        return found

    def logs(self, name: str) -> str:
        words = ["docker", "logs", name]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    def names(self) -> set[str]:
        """Of all containers of the engine, but that of its own first test."""
        listed = json.loads(self.engine.ask("GET", "/containers/json?all=1")[1])
        return {one["Names"][0].lstrip("/") for one in listed} - {"first"}

    def files(self) -> Iterator[tuple[Path, bytes]]:
        """Everything that the state directory holds."""
        for path in self.box.state.rglob("*"):
            if path.is_file():
                yield path, path.read_bytes()


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    code = tmp_path / "code"
    (code / "out").mkdir(parents=True)
    scripts = {"train": TRAIN, "fails": FAILS, "grows": GROWS, "leaves": LEAVES, "meets": MEETS}
    scripts["gloo"] = GLOO
    for name, text in scripts.items():
        (code / f"{name}.py").write_text(text, encoding="utf-8")
    receiver = Receiver()
    box = Box(tmp_path, receiver)
    box.configure("")
    # The names of sockets are short, and so are those of their folders.
    with tempfile.TemporaryDirectory(prefix="mw") as folder:
        try:
            with docker_engine(Path(folder)) as engine:
                monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
                box.extra_env["MW_TOKEN"] = SECRET
                yield Yard(box, engine, code)
                box.close()
        except NoEngine as why:
            pytest.skip(str(why))
        finally:
            receiver.close()


def test_one_is_started_watched_ends_and_is_removed(yard: Yard) -> None:
    job = yard.job(
        "/code/train.py", "60", name="gpt", pass_env=["MW_TOKEN"], checkpoints="out", model="gpt2"
    )
    made = yard.launch(job)
    assert made["name"] == "gpt"
    assert made["run"].startswith("gpt-")
    yard.box.ask("finding", on=True)  # what is found by itself is not watched a second time
    yard.box.steps(3, made["run"])
    status = yard.box.status(made["run"])
    assert status["container"]["name"] == "gpt"
    assert str(yard.code / "out") in status["checkpoint_dirs"]
    # its sixty steps may be over before a busy box has asked
    assert yard.state(made)["standing"] in ("running", "finished")
    assert yard.engine.inspect("gpt")["HostConfig"]["ShmSize"] == 16 << 30

    assert yard.over(made)["standing"] == "finished"
    assert yard.exit_of(made["run"]) == {"code": 0, "signal": None}
    here = status["container"]["id"]
    runs = [yard.box.status(run["run"]) for run in yard.box.ask("runs")]
    assert [run["run"] for run in runs if (run["container"] or {}).get("id") == here] == [
        made["run"]
    ]

    # The value came there, and is written nowhere here: not in a record, not in the words of a process.
    assert (yard.code / "out" / "token").read_text() == SECRET
    record = json.loads(Path(made["launch"]).read_text())
    assert record["run"] == made["run"]
    assert record["labels"] == {"model": "gpt2"}
    assert str(yard.code / "train.py") in record["scripts"]
    details = record["engine"]["details"]
    assert details["image"]["id"].startswith("sha256:")
    assert details["containers"][0]["id"] == yard.engine.inspect("gpt")["Id"]
    for path, data in yard.files():
        assert b"geheim" not in data, path

    said = yard.launch("--remove", "gpt")["containers"][0]
    assert yard.names() == set()
    log = Path(said["log"]).read_text(encoding="utf-8").splitlines()
    assert log[0] == "***** Running training *****"
    assert log[-1] == "训练完成"
    assert len(log) == 62
    about = json.loads(Path(said["status"]).read_text())
    assert (about["exit_code"], about["oom_killed"], about["restarts"]) == (0, False, 0)
    assert about["standing"] == "finished"
    assert Path(said["log"]).parent == Path(made["launch"]).parent
    again = yard.launch("--remove", "gpt")["containers"][0]
    assert again["was_gone"]
    assert again["log"] == said["log"]
    assert yard.state(made)["standing"] == "unknown"


def test_ends_of_all_kinds(yard: Yard) -> None:
    """All at once: every one of them takes some seconds."""
    engine = yard.engine
    train = "/code/train.py"
    yard.launch(yard.job(train, "100000", name="stopped"))
    yard.box.until(lambda: "step 3/" in yard.logs("stopped"), "its first steps")
    refused = yard.launch("--remove", "stopped", status=4)["said"]
    assert "not removed, as it is not over: stopped" in refused
    assert "--stop NAME" in refused
    killed = yard.launch(yard.job(train, "100000", name="killed"))
    twice = yard.launch(
        yard.job("/code/fails.py", name="twice", options=("--restart=on-failure:2",))
    )
    late = yard.launch(
        yard.job(train, "100000", name="late", max_time_s="23s")  # 20 of them to save
    )
    engine.post("/containers/killed/kill?signal=KILL")

    assert engine.inspect("stopped")["Config"]["StopTimeout"] == 20
    told = yard.launch("--stop", "stopped")
    assert told["standing"] == "stopped"
    assert told["reason"] == "ended through docker stop, exit status 0"
    assert "saved at step" in yard.logs("stopped")
    assert int((yard.code / "out" / "saved").read_text()) >= 3

    found = yard.over(killed)
    assert found["standing"] == "stopped"
    assert "docker kill" in found["reason"]
    found = yard.over(late)
    assert (found["standing"], found["reason"]) == ("stopped", "its time was over (max_time)")
    assert yard.logs("late").splitlines()[-1].startswith("saved at step")

    def gave_up() -> bool:
        one = yard.state(twice)["containers"][0]
        return (one["status"], one["restarts"]) == ("exited", 2)

    yard.box.until(gave_up, "the end of its restarts")
    found = yard.state(twice)
    assert found["standing"] == "failed"
    assert found["reason"] == "exit status 1, started again 2 times"
    # It ends within its first second: either it was handed over before, or that is told.
    assert twice["runs"] or "docker logs twice" in twice["notes"][0]
    said = yard.launch("--remove", "twice")["containers"][0]
    assert json.loads(Path(said["status"]).read_text())["restarts"] == 2
    assert Path(said["log"]).read_text().count("KeyError: 'boom'") == 3
    assert yard.names() == {"stopped", "killed", "late"}


def test_killed_for_memory(yard: Yard) -> None:
    words = ["docker", "info", "--format", "{{.MemoryLimit}}"]
    if subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() != "true":
        pytest.skip("this engine cannot limit memory: no memory cgroup")
    made = yard.launch(yard.job("/code/grows.py", name="grows", memory_bytes="128MiB"))
    found = yard.over(made)
    assert found["standing"] == "failed"
    assert "OOMKilled (limit 128.0 MiB)" in found["reason"]
    incident = yard.box.incident("cgroup_oom_kill")
    assert incident["run"] == made["run"]
    said = yard.launch("--remove", "grows")["containers"][0]
    assert json.loads(Path(said["status"]).read_text())["oom_killed"] is True


def test_one_that_is_taken_away_is_told_while_it_saves(yard: Yard) -> None:
    """The push comes inside the grace period, and names the last save."""
    out = yard.code / "out"
    job = yard.job("/code/leaves.py", name="spot", preemptible=True, checkpoints="/code/out")
    launched = yard.launch(job)
    (run,) = launched["runs"]
    yard.box.until(lambda: yard.box.ask("checkpoints", run=run)["resume_from"], "its first save")
    yard.box.until(lambda: "step 25/" in yard.logs("spot"), "more steps")
    with ThreadPoolExecutor(1) as beside:
        stopped = beside.submit(yard.engine.post, "/containers/spot/stop?t=300")
        push = yard.box.push(lambda p: "spot" in p.title)
        assert not stopped.done(), "it is told before the end"
        assert "SIGTERM" in push.title
        assert "step_20.safetensors" in push.body
        (out / "go").write_text("")
        stopped.result()
    assert yard.over(launched)["standing"] == "stopped"
    assert yard.exit_of(run)["code"] == 143
    yard.box.until(lambda: "after step" in yard.box.incident("preempted")["summary"], "its end")
    assert [i["class"] for i in yard.box.ask("incidents", all=True)] == ["preempted"]


def test_an_engine_that_is_restarted(yard: Yard) -> None:
    made = yard.launch(yard.job("/code/train.py", "100000", name="gpt"))
    yard.box.until(lambda: "step 3/" in yard.logs("gpt"), "its first steps")
    yard.engine.stop()  # its containers end with it
    with pytest.raises(MiddlewatchError, match="Cannot connect to the Docker daemon") as raised:
        Driver().state(made["id"])
    assert "systemctl start docker" in raised.value.hint
    refused = yard.launch("--remove", "gpt", status=2)["said"]
    assert "Cannot connect" in refused
    yard.engine.start()
    found = yard.over(made)
    assert found["standing"] in ("stopped", "failed", "finished"), found
    said = yard.launch("--remove", "gpt")["containers"][0]
    assert "step 3/" in Path(said["log"]).read_text()
    assert yard.names() == set()


def test_nothing_is_removed_before_it_is_saved(yard: Yard) -> None:
    silent = yard.launch(
        yard.job("/code/train.py", "3", name="silent", options=("--log-driver", "none"))
    )
    yard.over(silent)
    said = yard.launch("--remove", "silent", status=5)["said"]
    assert "silent is not removed, as its log could not be saved" in said
    assert "docker rm silent" in said
    gpt = yard.launch(yard.job("/code/train.py", "3", name="gpt"))
    yard.over(gpt)
    folder = Path(gpt["launch"]).parent
    (folder / "gpt.json").mkdir()  # the log can be saved, the status cannot
    said = yard.launch("--remove", "gpt", status=5)["said"]
    assert "nothing is removed" in said
    assert yard.names() == {"silent", "gpt"}
    (folder / "gpt.json").rmdir()
    yard.launch("--remove", "gpt")
    assert yard.names() == {"silent"}


def test_two_machines_meet_at_the_master(yard: Yard) -> None:
    """Both are this machine: two containers in its network."""
    port = free_port()
    two = {"nodes": 2, "port": port, "network": ""}
    made = yard.launch(
        yard.job("/code/meets.py", name="meets", **two), "--hosts", "localhost,localhost"
    )
    found = yard.over(made)
    assert found["standing"] == "finished", [yard.logs(f"meets-{n}") for n in (0, 1)]
    assert yard.logs("meets-0") == "rank 0 of 2 heard rank 1\n"
    assert yard.logs("meets-1") == "rank 1 said it\n"
    shm = [yard.engine.inspect(f"meets-{n}")["HostConfig"]["ShmSize"] for n in (0, 1)]
    assert shm == [32 << 30] * 2
    yard.launch("--remove", "meets")
    folder = Path(made["launch"]).parent
    assert {path.name for path in folder.iterdir()} == {
        *("launch.json", "meets-0.log", "meets-0.json", "meets-1.log", "meets-1.json")
    }


def test_two_containers_on_one_machine_are_two_runs(yard: Yard) -> None:
    job = yard.job("/code/train.py", "100000", name="two", nodes=2, port=free_port(), network="")
    made = yard.launch(job, "--hosts", "localhost,localhost")
    assert len(made["runs"]) == 2
    assert made["notes"] == []
    for number, run in enumerate(made["runs"]):
        yard.box.steps(3, run)
        status = yard.box.status(run)
        assert status["name"] == status["container"]["name"] == f"two-{number}"
    assert yard.launch("--stop", "two")["standing"] == "stopped"
    for run in made["runs"]:
        assert yard.exit_of(run) == {"code": 0, "signal": None}


def test_two_machines_train_over_gloo(yard: Yard) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch: two containers meet without it in the test before")
    prefix = Path(sys.prefix)
    job = yard.job(
        "/code/gloo.py",
        name="gloo",
        nodes=2,
        network="",
        port=free_port(),
        launcher="torchrun",
        processes=2,
        mounts=[f"{prefix}:{prefix}:ro"],
        env={"PATH": f"{prefix}/bin:/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )
    # torchrun tells machines apart by host name and process id, unless they have addresses.
    made = yard.launch(job, "--hosts", "localhost=127.0.0.1,localhost=127.0.0.2")
    found = yard.over(made)
    said = [yard.logs(f"gloo-{n}") for n in (0, 1)]
    assert found["standing"] == "finished", said
    ranks = sorted(line for text in said for line in text.splitlines() if line.startswith("rank "))
    assert ranks == [f"rank {n} of 4 sum 10.0" for n in range(4)]


def test_what_is_in_the_way_is_told_before_anything_is_started(yard: Yard) -> None:
    yard.launch(yard.job("/code/train.py", "1", name="gpt-1"))
    two = {"nodes": 2, "network": "", "port": free_port()}
    hosts = ("--hosts", "localhost,localhost")
    said = yard.launch(yard.job("/code/meets.py", name="gpt", **two), *hosts, status=4)["said"]
    assert "there is a container gpt-1 here already" in said
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        taken = {**two, "port": port}
        said = yard.launch(yard.job("/code/meets.py", name="other", **taken), *hosts, status=4)[
            "said"
        ]
    assert f"port {port} here is taken" in said
    missing = f"{yard.code}/nowhere"
    job = yard.job("/code/train.py", "1", name="other", mounts=[f"{missing}:/data"])
    said = yard.launch(job, status=2)["said"]
    assert f"there is no {missing} here" in said
    job = yard.job("/code/train.py", "1", name="card", options=("--gpus", "all"))
    said = yard.launch(job, status=2)["said"]  # no card here: the engine says so only at the start
    assert "card did not start" in said
    assert "NVIDIA Container Toolkit" in said
    assert yard.names() == {"gpt-1"}
    assert {path.name for path in (yard.box.state / "launches").iterdir()} == {"gpt-1"}


def test_machines_that_ssh_reaches(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the engine of this machine; one cannot start containers. No sshd is needed for that."""
    root = yard.box.root / "far"
    root.mkdir()
    for name, refuses in (("gpu1", ""), ("gpu2", ""), ("gpu3", "run")):
        program = local_shell.box(root, name) / "bin" / "docker"
        program.write_text(far_docker(root / f"{name}.words", refuses))
        program.chmod(0o755)
    ssh = str(local_shell.shell(root))
    yard.box.extra_env["RSYNC_RSH"] = ssh
    monkeypatch.setenv("RSYNC_RSH", ssh)
    two = {"nodes": 2, "network": "none", "pass_env": ["MW_TOKEN"]}

    job = yard.job("/code/train.py", "100000", name="bad", **two)
    said = yard.launch(job, "--hosts", "gpu1,gpu3", status=5)["said"]
    assert "bad-1 did not start: docker on gpu3: it is full" in said
    assert "started before and stopped again: bad-0 on gpu1" in said
    assert "ssh gpu1 'docker rm bad-0'" in said
    assert yard.engine.inspect("bad-0")["State"]["Running"] is False
    assert yard.names() == {"bad-0"}

    made = yard.launch(
        yard.job("/code/train.py", "100000", name="far", **two), "--hosts", "gpu1,gpu2"
    )
    assert made["runs"] == []
    assert (
        "far-1 is not watched from here: it runs on gpu2; to watch it where its engine is: ssh gpu2"
        in str(made["notes"])
    )
    yard.box.until(lambda: "step 3/" in yard.logs("far-1"), "its first steps")
    told = yard.launch("--stop", "far")
    assert (told["standing"], told["exit_code"]) == ("stopped", 0)
    assert [one["host"] for one in yard.state(made)["containers"]] == ["gpu1", "gpu2"]
    assert (yard.code / "out" / "token").read_text() == SECRET
    typed = "".join(path.read_text() for path in root.glob("*.words"))
    assert "--env MW_TOKEN" in typed
    assert "geheim" not in typed
    for path, data in yard.files():
        assert b"geheim" not in data, path
    yard.launch("--remove", "far")
    assert yard.names() == {"bad-0"}
    assert "saved at step" in (Path(made["launch"]).parent / "far-1.log").read_text()

    said = yard.launch(
        yard.job("/code/train.py", "3", name="nowhere", **two), "--hosts", "gpu1,gpu9", status=3
    )
    assert "gpu9 is not reached: ssh: Could not resolve hostname gpu9" in said["said"]


def test_a_machine_behind_a_real_sshd(yard: Yard, tmp_path: Path) -> None:
    socket_of = {"DOCKER_HOST": f"unix://{yard.engine.socket}"}
    with far_box(tmp_path / "sshd", socket_of) as there:
        yard.box.extra_env |= {**there.env(), "DOCKER_HOST": "unix:///nowhere"}
        job = yard.job("/code/train.py", "3", name="far", pass_env=["MW_TOKEN"])
        made = yard.launch(job, "--hosts", NAME)
        assert made["id"].startswith(f"{NAME}:")
        log = yard.box.until(
            lambda: yard.logs("far") if "训练完成" in yard.logs("far") else "", "its end"
        )
        told = yard.launch("--stop", "far")
        assert told["standing"] == "finished"
        said = yard.launch("--remove", "far")["containers"][0]
        assert Path(said["log"]).read_text(encoding="utf-8") == log
    assert (yard.code / "out" / "token").read_text() == SECRET
    assert yard.names() == set()


def far_docker(words: Path, refuses: str) -> str:
    """The client of a machine: it writes down what it was called with."""
    real = shutil.which("docker")
    return f"""#!/bin/sh
echo "$@" >> {words}
[ "$1" = "{refuses}" ] && {{ echo "docker: Error response from daemon: it is full." >&2; exit 125; }}
exec {real} "$@"
"""
