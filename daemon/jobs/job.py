"""A job: what is started, with what, and for how long. The place that it is started at is another thing.

The tables of a job file are the dataclasses of this module: their fields are its keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Launcher = Literal["none", "torchrun", "accelerate", "deepspeed"]
DAY_S = 86400.0
PORT = 29500
"""Where the ranks meet if nothing else is said: torchrun's own default."""


@dataclass(frozen=True)
class Main:
    """Table `[job]`: the command, and what it needs."""

    command: tuple[str, ...] = ()
    """What is started, word by word: `["python", "train.py", "--config", "base.yaml"]`. With a launcher
    the script and its arguments: `["train.py", "--lr", "3e-4"]`."""
    name: str = ""
    """What the run is called. Empty: MODEL-training-TIME."""
    model: str = ""
    """What is trained, like `gpt2-124m`: a label, and the first part of the name."""
    experiment: str = ""
    """A label: what this run belongs to."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of your own."""
    workdir: str = "."
    """Where the command is started, from the folder of the job file."""
    launcher: Launcher = "none"
    """What starts the ranks: `torchrun`, `accelerate`, `deepspeed`; `none`: the command does it itself,
    or there is one process."""
    nodes: int = 1
    """How many machines."""
    gpus: int = 0
    """GPUs of each machine; 0: none."""
    processes: int = 0
    """Ranks of each machine; 0: one for each GPU, at least one."""
    cpus: int = 0
    """Cores of each machine; 0: what the place gives."""
    memory_bytes: int = 0
    """Memory of each machine, like `"64GiB"`; 0: what the place gives."""
    port: int = PORT
    """Where the ranks meet; 0: a free one, on one machine."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment, with their values. Nothing secret: it stands in what is written."""
    pass_env: tuple[str, ...] = ()
    """Variables that are handed on as they are where `launch` is typed: tokens, for instance. Only
    their names are written down."""
    mounts: tuple[str, ...] = ()
    """`HERE:THERE` or `HERE:THERE:ro`: folders that a container sees; the same on every machine."""
    checkpoints: str = ""
    """Where it saves, as the command sees it."""
    max_time_s: float = DAY_S
    """How long it may last, like `"36h"`; it is ended then. 0: no limit."""
    save_before_end_s: float = 90.0
    """So long before its end it gets the signal to save, where the place can send one."""
    again: int = 0
    """At the place `local`: how often it is started again by itself after an end that allows it."""
    preemptible: bool = False
    """It may be interrupted: a cheaper machine, a queue that takes it away."""


@dataclass(frozen=True)
class Needs:
    """Table `[size]`: what the model needs, for the arithmetic of `middlewatch size` before the start."""

    params: str = ""
    """Parameters, like `"7B"`; empty: memory of the GPU is not looked at."""
    optimizer: str = "adamw"
    """As `middlewatch size --optimizer` takes it; so the next four."""
    precision: str = "bf16"
    """`bf16`, `fp16`, `amp`, `fp32` or `bf16-pure`."""
    sharding: str = "ddp"
    """`ddp`, `zero1`, `zero2`, `zero3` or `fsdp`."""
    seq: int = 2048
    """Tokens of a sequence."""
    batch: int = 1
    """Sequences of one GPU at once."""
    checkpointing: bool = False
    """Activations are computed again, layer by layer."""
    saves: int = 0
    """How many saves are kept."""
    save_bytes: int = 0
    """Size of one, like `"12GiB"`; 0: by the parameters, if they are known."""


@dataclass(frozen=True)
class Docker:
    """Table `[docker]`: a container on one machine, or one on each of several."""

    image: str = ""
    """What the container is made of; needed."""
    shm_bytes: int = 0
    """Shared memory; 0: 16 GiB on one machine, 32 GiB on several."""
    network: str = ""
    """Empty: that of the engine; `host` on several machines."""
    options: tuple[str, ...] = ()
    """More words for `docker run`, before the image."""


@dataclass(frozen=True)
class Slurm:
    """Table `[slurm]`: a batch job."""

    partition: str = ""
    """The partition; empty: that of the cluster, as for the next three."""
    account: str = ""
    """Who is charged."""
    qos: str = ""
    """Quality of service."""
    constraint: str = ""
    """Features that the nodes have to have, like `a100`."""
    setup: tuple[str, ...] = ()
    """Lines of the script before the start: `module load cuda`, `source env/bin/activate`."""
    array: tuple[str, ...] = ()
    """Arguments that are added to the command, a text for each element of a job array."""
    array_limit: int = 0
    """So many elements at once; 0: as many as there is room for."""
    after: tuple[str, ...] = ()
    """Ids of jobs that come first."""
    after_kind: Literal["afterok", "afterany", "afternotok", "after"] = "afterok"
    """What has to have become of them: they succeeded, ended, failed, or began."""
    requeue: bool = True
    """After an interruption, or at its time limit once it has saved, the same job is put into the queue
    again and goes on."""
    signal: Literal["USR1", "TERM", "USR2"] = "USR1"
    """What the trainer is sent `save_before_end_s` before the time limit."""
    rank_logs: bool = False
    """A file for the output of each rank beside that of the job."""
    watch: bool = True
    """The watch runs beside the training, as a part of the job."""
    options: tuple[str, ...] = ()
    """More `#SBATCH` lines, like `--exclusive`."""


@dataclass(frozen=True)
class Kubernetes:
    """Table `[kubernetes]`: a Job of the cluster."""

    image: str = ""
    """What the container is made of; needed."""
    namespace: str = ""
    """Empty: that of the context of `kubectl`."""
    claims: tuple[str, ...] = ()
    """`CLAIM:/path`: persistent volume claims and where they are seen."""
    shm_bytes: int = 16 << 30
    """Shared memory, a file system in memory at /dev/shm."""
    gpu_resource: str = "nvidia.com/gpu"
    """What the cluster calls its cards."""
    service_account: str = ""
    """As whom the pods run; empty: the default of the namespace."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    """Labels that the nodes have to have."""
    tolerations: tuple[str, ...] = ()
    """Taints that are borne: `KEY`, `KEY=VALUE` or `KEY=VALUE:EFFECT`."""
    secrets: tuple[str, ...] = ()
    """`SECRET`: secrets of the cluster that become variables of the environment."""
    retries: int = 0
    """How often a pod that failed is started again by the cluster."""
    workdir: str = ""
    """Where the command starts in the container; empty: where its image says."""
    watch_image: str = ""
    """Image with middlewatch, for a container beside the training that watches it; empty: none."""
    watch: bool = False
    """The training's own image has middlewatch, which watches the command from inside the same container."""


@dataclass(frozen=True)
class Kaggle:
    """Table `[kaggle]`: a kernel of Kaggle."""

    owner: str = ""
    """The user or organisation that it belongs to."""
    accelerator: Literal["none", "gpu", "tpu"] = "gpu"
    """What it may use."""
    machine: str = ""
    """Which machine, as the client names it, like `NvidiaTeslaT4`; empty: what Kaggle takes by itself."""
    internet: bool = True
    """Whether it reaches the network."""
    public: bool = False
    """Whether everybody sees it."""
    datasets: tuple[str, ...] = ()
    """Its data sets, `OWNER/NAME`."""
    competitions: tuple[str, ...] = ()
    """Competitions whose data it reads."""
    kernels: tuple[str, ...] = ()
    """Kernels whose output is input here: that of its earlier run, to go on from its saves."""
    files: tuple[str, ...] = ()
    """Files that go along, beside those that the command names: texts, below `workdir`."""


@dataclass(frozen=True)
class Phase:
    """Table `[[phase]]`: a part of the training that begins only when the one before it has succeeded."""

    name: str = ""
    """What it is called; needed."""
    steps: int = 0
    """It ends at this many steps of its own; 0: by `tokens`."""
    tokens: float = 0.0
    """It ends at this many tokens of its own; 0: by `steps`."""
    arguments: tuple[str, ...] = ()
    """Words that are added to the command: data, learning rate and its schedule."""
    success: str = ""
    """What has to be true of its last reports, like `"eval_loss < 2.9"`; empty: that it finished and
    its last save is good."""


@dataclass(frozen=True)
class Job:
    """What a job file says. ``folder``: where it lies; everything relative begins there."""

    main: Main = field(default_factory=Main)
    needs: Needs = field(default_factory=Needs)
    docker: Docker = field(default_factory=Docker)
    slurm: Slurm = field(default_factory=Slurm)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    kaggle: Kaggle = field(default_factory=Kaggle)
    phases: tuple[Phase, ...] = ()
    folder: str = ""

    @property
    def ranks_a_node(self) -> int:
        """Processes that train, on each machine."""
        return self.main.processes or max(1, self.main.gpus)

    @property
    def labels(self) -> dict[str, str]:
        """All labels, those with a key of their own first."""
        own = {"model": self.main.model, "experiment": self.main.experiment}
        return {key: value for key, value in own.items() if value} | dict(self.main.labels)


TABLES: Mapping[str, tuple[str, type]] = {
    "job": ("main", Main),
    "size": ("needs", Needs),
    "docker": ("docker", Docker),
    "slurm": ("slurm", Slurm),
    "kubernetes": ("kubernetes", Kubernetes),
    "kaggle": ("kaggle", Kaggle),
}
"""Name of each table in the file -> field of :class:`Job`, and its class."""
