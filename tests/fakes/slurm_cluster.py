"""A real Slurm on this machine: one controller and nodes that are processes of one host.

Everything is its own: munge with a key of its own, ports, folders, and an /etc/hosts that only the nodes
see. Nothing of the machine's own Slurm, if it has one, is read or touched. Needs root: a node starts the
tasks of other users.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo", "unshare")
PATIENCE_S = 240.0
"""Until something that never comes is given up; nothing is judged by how long it took."""
CRED_S = 5
"""Seconds that a credential of Slurm holds: a job that is put into the queue again waits one more than
that. It takes no less; by itself it is 120."""
MEMORY = Path("/sys/fs/cgroup/memory")
CGROUP = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainRAMSpace=yes
"""


class NoSlurm(Exception):
    """``str()`` says why no Slurm runs here."""


class SlurmCluster:
    """``nodes`` nodes, ``n1`` and so on, of 2 cores, 2000 MiB and ``gpus`` GPUs that are no real ones.

    ``more``: lines of slurm.conf. ``memory``: what a job may use is enforced. ``folder`` has a short path:
    there are sockets in it.
    """

    def __init__(
        self, folder: Path, *, nodes: int = 2, gpus: int = 0, more: str = "", memory: bool = False
    ) -> None:
        lacking = [name for name in PROGRAMS if _program(name) is None]
        if lacking:
            raise NoSlurm(
                f"needs {', '.join(lacking)} (Debian packages slurm-wlm and munge): scripts/test --system"
            )
        if os.geteuid() != 0:
            raise NoSlurm("needs root: a node of Slurm starts the tasks of other users")
        if memory and not os.access(MEMORY, os.W_OK):
            raise NoSlurm(
                f"needs {MEMORY} (cgroup v1): Slurm cannot enforce the memory of a job here"
            )
        self.folder = folder
        # The control groups of a node are named by it, and two tests may run at once.
        prefix = f"m{os.getpid()}x" if memory else "n"
        self.names = [f"{prefix}{number + 1}" for number in range(nodes)]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.conf = folder / "slurm.conf"
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("SLURM_")},
            "SLURM_CONF": str(self.conf),
        }
        self._write(gpus, more, memory)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------------ up and down

    def _write(self, gpus: int, more: str, memory: bool) -> None:
        host = socket.gethostname().partition(".")[0]
        for name in ("state", "log", *(f"spool-{name}" for name in self.names)):
            (self.folder / name).mkdir()
        ports = _free_ports(1 + len(self.names))
        gres = f" Gres=gpu:{gpus}" if gpus else ""
        lines = [
            "ClusterName=middlewatch-test",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={ports[0]}",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={self.folder}/munge.sock,cred_expire={CRED_S}",
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool-%n",
            f"SlurmctldPidFile={self.folder}/ctld.pid",
            f"SlurmdPidFile={self.folder}/%n.pid",
            f"SlurmctldLogFile={self.folder}/log/slurmctld.log",
            f"SlurmdLogFile={self.folder}/log/slurmd-%n.log",
            "SwitchType=switch/none",
            "MpiDefault=none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU_Memory",
            "DefMemPerCPU=100",
            "ReturnToService=2",
            "KillWait=30",
            "MinJobAge=3600",
            "SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,sched_min_interval=100000",
            "JobAcctGatherType=jobacct_gather/linux",
            "JobAcctGatherFrequency=1",
            "AccountingStorageType=accounting_storage/none",
            "ProctrackType=proctrack/linuxproc",
            f"TaskPlugin=task/{'cgroup' if memory else 'none'}",
            *(["GresTypes=gpu"] if gpus else []),
            *(
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 "
                f"RealMemory=2000{gres} State=UNKNOWN"
                for name, port in zip(self.names, ports[1:], strict=True)
            ),
            f"PartitionName=gpu Nodes={','.join(self.names)} Default=YES MaxTime=INFINITE State=UP",
            *more.splitlines(),
        ]
        self.conf.write_text("\n".join(lines) + "\n")
        (self.folder / "cgroup.conf").write_text(CGROUP if memory else "")
        if gpus:
            for number in range(gpus):
                # Slurm wants devices; these are copies of /dev/null.
                os.mknod(self.folder / f"card{number}", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
            files = f"{self.folder}/card[0-{gpus - 1}]"
            (self.folder / "gres.conf").write_text(f"Name=gpu File={files}\n")
        hosts = Path("/etc/hosts").read_text()
        (self.folder / "hosts").write_text(hosts + "".join(f"127.0.0.1 {n}\n" for n in self.names))

    def _start(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._spawn(
            "munged",
            [
                *("munged", "--foreground", "--force", f"--key-file={key}"),
                *(f"--socket={self.folder}/munge.sock", f"--pid-file={self.folder}/munge.pid"),
                *(f"--seed-file={self.folder}/munge.seed", f"--log-file={self.folder}/log/munge"),
            ],
        )
        self.until(lambda: (self.folder / "munge.sock").exists(), "the socket of munge")
        self._spawn("slurmctld", ["slurmctld", "-D", "-c"])
        for name in self.names:
            self.start_node(name)
        self.until(
            lambda: set(self.ask("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"}, "idle nodes"
        )

    def start_node(self, name: str) -> None:
        """Its daemon. The names of the nodes are known to it and to what it starts only."""
        hosts = f"mount --bind {self.folder}/hosts /etc/hosts"
        slurmd = _program("slurmd")
        self._spawn(name, ["unshare", "-m", "sh", "-c", f"{hosts} && exec {slurmd} -D -N {name}"])

    def kill_node(self, name: str) -> None:
        """As a machine that loses its power; what ran on it is gone, too."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        left = self._left(name)
        for number in (signal.SIGSTOP, signal.SIGKILL):  # so that none can tell of another's end
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _spawn(self, name: str, words: list[str]) -> None:
        with (self.folder / "log" / f"{name}.said").open("ab") as said:
            self.processes[name] = subprocess.Popen(
                [_program(words[0]) or words[0], *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self.env,
                cwd=self.folder,
                start_new_session=True,
            )

    def close(self) -> None:
        """End all jobs, then the daemons, then what may be left of them."""
        if "slurmctld" in self.processes and self.processes["slurmctld"].poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.run("scancel", "--full", "--user=root", check=False)
                self.run("scancel", "--user=root", check=False)
                self.until(lambda: not self.ask("squeue", "-h"), "the end of all jobs")
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in self._left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.processes.clear()
        for name in self.names:
            for folder, _, _ in os.walk(MEMORY / f"slurm_{name}", topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)

    def _left(self, node: str = "") -> list[int]:
        """Processes that this cluster (this node) has started and that are still there."""
        ours, here = f"SLURM_CONF={self.conf}".encode(), f"SLURMD_NODENAME={node}".encode()
        log = f"{self.folder}/log/slurmd-{node}.log"
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                environ = (folder / "environ").read_bytes().split(b"\0")
                if ours in environ and (not node or here in environ or _has_open(folder, log)):
                    found.append(int(folder.name))
        return found

    # ------------------------------------------------------------------------ asking

    def run(self, *words: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            list(words),
            capture_output=True,
            text=True,
            env={**self.env, **more},
            timeout=PATIENCE_S,
            check=False,
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def ask(self, *words: str) -> str:
        """What a client says; empty when it cannot."""
        return self.run(*words, check=False).stdout.strip()

    def job(self, job: str) -> Mapping[str, str]:
        """``scontrol show job`` as a mapping."""
        said = self.ask("scontrol", "--oneliner", "show", "job", job)
        pairs = (word.partition("=") for word in said.split() if "=" in word)
        return {key: value for key, _, value in pairs}

    def until(self, what: Callable[[], T | None], words: str, patience_s: float = PATIENCE_S) -> T:
        """The first true answer of ``what``."""
        deadline = time.monotonic() + patience_s
        while True:
            answer = what()
            if answer:
                return answer
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise NoSlurm(f"{name} does not run here: {self._words(name)}")
            assert time.monotonic() < deadline, f"still waiting for {words}"
            time.sleep(0.1)

    def _words(self, name: str) -> str:
        said = (self.folder / "log" / f"{name}.said").read_text(errors="replace").strip()
        return said.splitlines()[-1] if said else "it said nothing"

    def ended(self, job: str) -> Mapping[str, str]:
        """The job once it is over."""

        def look() -> Mapping[str, str] | None:
            seen = self.job(job)
            return None if seen.get("JobState") in _GOES_ON else seen

        return self.until(look, f"the end of job {job}")


_GOES_ON = (None, "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED", "SUSPENDED")


def _has_open(process: Path, path: str) -> bool:
    return any(os.readlink(fd) == path for fd in (process / "fd").iterdir())


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _free_ports(number: int) -> list[int]:
    """Ports that nobody listens at now, below those that the kernel gives away by itself."""
    found: list[int] = []
    candidate = 16000 + os.getpid() * 7 % 12000
    while len(found) < number:
        candidate += 1
        with socket.socket() as one:
            try:
                one.bind(("", candidate))
            except OSError:
                continue
            found.append(candidate)
    return found
