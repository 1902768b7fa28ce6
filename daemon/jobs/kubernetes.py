"""A job for a cluster: the manifest of a Job of Kubernetes, for one machine or for several.

On several machines it is an Indexed Job with a Service without an address of its own, by which the pods find
the first one, the master, by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..system.errors import UsageError
from . import launchers
from .artefact import Artefact, Here, not_passed, passed
from .job import Job
from .kubernetes_names import OWN, labels, object_name
from .kubernetes_pod import CONTAINER, pod, secret_of
from .yaml_text import documents

MANIFEST = "job.yaml"
NAMES = "handed-on.env"
HOPELESS = (2, 126, 127)
"""Exit codes after which another try is the same: wrong usage (Python, argparse, bash), a file that cannot be
executed, a command that is not there (POSIX shells)."""


def artefact(job: Job, here: Here) -> Artefact:
    """The manifest, and the ``kubectl`` lines. Raises UsageError where something of the job is missing."""
    if not job.kubernetes.image:
        raise UsageError(
            "there is no image for the cluster to start", 'image = "…" under [kubernetes]'
        )
    if job.kubernetes.watch and job.kubernetes.watch_image:
        raise UsageError(
            "the watch cannot be in two containers", "watch or watch_image under [kubernetes]"
        )
    name = object_name(here.name)
    files = {MANIFEST: documents(*_objects(job, here, name))}
    handed = passed(job, here)
    commands = []
    space = ("--namespace", job.kubernetes.namespace) if job.kubernetes.namespace else ()
    if handed:
        # A line with a name only has kubectl take the value from its environment.
        files[NAMES] = "".join(f"{key}\n" for key in handed)
        secret = secret_of(name)
        commands.append(
            ("kubectl", "create", "secret", "generic", secret, f"--from-env-file={NAMES}", *space)
        )
        mark = f"{OWN}instance={name}"
        commands.append(("kubectl", "label", "secret", secret, mark, *space))
    commands.append(("kubectl", "create", "-f", MANIFEST))
    return Artefact("kubernetes", tuple(commands), files, notes=tuple(_notes(job, here)))


def _objects(job: Job, here: Here, name: str) -> Iterator[dict[str, Any]]:
    """The documents of the manifest; comments are keys that begin with ``#``."""
    ours, whole = labels(job.labels, name)
    meta = {"name": name, **({"namespace": space} if (space := job.kubernetes.namespace) else {})}
    notes = {"annotations": whole} if whole else {}
    top = f"""\
{name}: a training, written by middlewatch launch. Change what you like, then: kubectl create -f {MANIFEST}
See it: kubectl logs -f job/{name}. Away with all of it: kubectl delete job,service,secret -l {OWN}instance={name}"""
    if job.main.nodes > 1:
        yield {
            "#": top,
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**meta, "labels": ours},
            "spec": {
                "#1": f"No address of its own: it gives each pod a name, the master is {name}-0.{name}.",
                "clusterIP": "None",
                "#2": "The names are there before the pods are ready, since they wait for each other.",
                "publishNotReadyAddresses": True,
                "selector": {"job-name": name},
                "ports": [{"name": "master", "port": job.main.port}],
            },
        }
        top = "The master is the pod with index 0; the others have the same template."
    yield {
        "#": top,
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**meta, "labels": ours, **notes},
        "spec": {
            **_spec(job),
            "template": {"metadata": {"labels": ours}, "spec": pod(job, here, name)},
        },
    }


def _spec(job: Job) -> dict[str, Any]:
    """What the cluster does with the pods."""
    main, spec = job.main, dict[str, Any]()
    if main.nodes > 1:
        spec |= {"completionMode": "Indexed", "completions": main.nodes, "parallelism": main.nodes}
    # If one of several pods fails, the others fail with it, and each counts.
    spec["backoffLimit"] = job.kubernetes.retries * main.nodes
    if main.max_time_s:
        spec["#"] = (
            "From its start, also while it waits; SIGTERM comes then, and time to save after it."
        )
        spec["activeDeadlineSeconds"] = max(1, round(main.max_time_s - main.save_before_end_s))
    rules: list[dict[str, Any]] = []
    if main.preemptible:
        rules.append(
            {
                "#": "A machine that is taken away is no failure: the pod is started again.",
                "action": "Ignore",
                "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
            }
        )
    if job.kubernetes.retries:
        rules.append(
            {
                "#": "Wrong usage, or no such command: another try would end the same way.",
                "action": "FailJob",
                "onExitCodes": {
                    "containerName": CONTAINER,
                    "operator": "In",
                    "values": list(HOPELESS),
                },
            }
        )
    if rules:
        spec["podFailurePolicy"] = {"rules": rules}
    return spec


def _notes(job: Job, here: Here) -> Iterator[str]:
    """What a person should know before it starts."""
    main, ours = job.main, job.kubernetes
    yield from not_passed(job, here)
    _, said = launchers.modern(main.command)
    if said:
        yield said
    if not main.checkpoints:
        yield "checkpoints under [job] is not set: whether the saves outlive the pod is not known"
    elif not _kept(job):
        yield (
            f"checkpoints lie in {main.checkpoints}, which goes with the pod: "
            'claims = ["CLAIM:/path"] under [kubernetes]'
        )
    if main.nodes > 1 and ours.claims:
        yield "the pods are on several machines: a claim that they write to needs ReadWriteMany"
    if main.memory_bytes and ours.shm_bytes > main.memory_bytes:
        yield "shm_bytes is more than memory_bytes, and counts as memory: the container would be killed"
    if not main.memory_bytes and not main.cpus:
        yield "without cpus and memory_bytes the pod is the first to be evicted when a machine is short"
    if main.preemptible and main.nodes > 1 and not ours.retries:
        yield (
            "when one pod is taken away the others fail, which counts: "
            "with retries = 3 under [kubernetes] all start again"
        )
    if main.mounts:
        yield "mounts are folders of the machines of the cluster (hostPath), not of this one"


def _kept(job: Job) -> bool:
    """True where the saves lie on a claim, or on a folder of the machine."""
    claims = [claim.partition(":")[2] for claim in job.kubernetes.claims]
    places = [*claims, *(mount.split(":")[1] for mount in job.main.mounts)]
    saves = job.main.checkpoints.rstrip("/") + "/"
    if not saves.startswith("/"):
        saves = f"{job.kubernetes.workdir.rstrip('/')}/{saves}"
    return any(saves.startswith(place.rstrip("/") + "/") for place in places)
