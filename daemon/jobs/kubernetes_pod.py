"""The pod of a training: what it is started with, what it sees, what it may use."""

from __future__ import annotations

from typing import Any

from ..system.errors import UsageError
from . import launchers
from .artefact import Here, passed
from .job import Job
from .kubernetes_names import SPOT, label_value, literal, size, tolerations
from .kubernetes_watch import CPUS, FOLDER, MEMORY, SAID, SIDECAR_GRACE_S, both, training, watching

CONTAINER = "train"
INDEX = "JOB_COMPLETION_INDEX"
"""Set by the cluster in the pods of an Indexed Job: 0 is the master.
https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode"""
_INDEX_OF = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_RANK = "\0rank\0"
"""Stands for the variable until the words of the person have been made literal."""


def pod(job: Job, here: Here, name: str) -> dict[str, Any]:
    """The template of the pod, without its metadata."""
    watched = _is_watched(job)
    volumes, mounts = _volumes(job, watched=watched)
    envs = [{"secretRef": {"name": secret}} for secret in job.kubernetes.secrets]
    container = {
        "name": CONTAINER,
        "image": job.kubernetes.image,
        **_start(job, here, name),
        **({"workingDir": job.kubernetes.workdir} if job.kubernetes.workdir else {}),
        "env": _env(job, here, name),
        **({"envFrom": envs} if envs else {}),
        "resources": _resources(job),
        "volumeMounts": mounts,
    }
    taints = [*job.kubernetes.tolerations]
    taints += [f"{job.kubernetes.gpu_resource}:NoSchedule"] if job.main.gpus else []
    taints += SPOT if job.main.preemptible else []
    grace = job.main.save_before_end_s + (SIDECAR_GRACE_S if watched else 0)
    return {
        "restartPolicy": "Never",
        "#1": "So long after SIGTERM the rest is killed: time to save.",
        "terminationGracePeriodSeconds": max(1, round(grace)),
        "#2": "The training is not process 1: SIGTERM ends it also where it has no handler for it.",
        "shareProcessNamespace": True,
        **({"subdomain": name} if job.main.nodes > 1 else {}),
        **_of(serviceAccountName=job.kubernetes.service_account),
        **_of(nodeSelector=dict(job.kubernetes.node_selector)),
        **_of(tolerations=tolerations(taints)),
        **_of(initContainers=_sidecar(job, here, mounts, envs)),
        "containers": [container],
        "volumes": volumes,
    }


def _is_watched(job: Job) -> bool:
    return bool(job.kubernetes.watch_image or job.kubernetes.watch)


def _of(**one: Any) -> dict[str, Any]:
    return {key: value for key, value in one.items() if value}


def words(job: Job, here: Here, name: str) -> list[str]:
    """The words that start the ranks of one pod, as the cluster is told them."""
    meeting = None
    if job.main.nodes > 1:
        meeting = launchers.Meeting(_RANK, f"{name}-0.{name}", str(job.main.port), name)
    made = [literal(word) for word in launchers.command(job, meeting)]
    return [word.replace(_RANK, f"$({INDEX})") for word in made]


def _start(job: Job, here: Here, name: str) -> dict[str, Any]:
    """Command and arguments of the container."""
    asked = words(job, here, name)
    if job.kubernetes.watch:
        return both(*_watched(job, here), asked)
    return training(asked) if job.kubernetes.watch_image else {"command": asked}


def _watched(job: Job, here: Here) -> tuple[str, str]:
    """The name of the run in its pod, and the folder of its saves, if the watch can know it."""
    index = f"-$({INDEX})" if job.main.nodes > 1 else ""
    saves = job.main.checkpoints
    return here.name + index, literal(saves) if saves.startswith("/") else ""


def _sidecar(
    job: Job, here: Here, mounts: list[dict[str, Any]], envs: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The container that watches: it is ended by the cluster when the training has ended.
    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/"""
    if not job.kubernetes.watch_image:
        return []
    resources = {"cpu": CPUS, "memory": MEMORY}
    seen = [
        mount if mount["mountPath"] == FOLDER else {**mount, "readOnly": True}
        for mount in mounts
        if mount["name"] != "shm"
    ]
    return [
        {
            "name": "watch",
            "image": job.kubernetes.watch_image,
            "restartPolicy": "Always",
            **watching(*_watched(job, here)),
            **({"envFrom": envs} if envs else {}),
            "resources": {"requests": resources, "limits": resources},
            "volumeMounts": seen,
        }
    ]


def _env(job: Job, here: Here, name: str) -> list[dict[str, Any]]:
    """Variables with their values; those that are handed on come from a secret of the cluster."""
    said = SAID if job.main.preemptible and _is_watched(job) else {}
    own = {"PYTHONUNBUFFERED": "1", **said, **job.main.env}
    made: list[dict[str, Any]] = [
        {"name": key, "value": literal(value)} for key, value in own.items()
    ]
    secret = secret_of(name)
    made += [
        {"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
        for key in passed(job, here)
    ]
    if job.main.nodes > 1 and job.main.launcher == "none":
        meet = {
            "MASTER_ADDR": f"{name}-0.{name}",
            "MASTER_PORT": str(job.main.port),
            "NNODES": str(job.main.nodes),
        }
        made += [{"name": key, "value": value} for key, value in meet.items()]
        made.append({"name": "NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": _INDEX_OF}}})
    return made


def secret_of(name: str) -> str:
    """The secret with the variables that are handed on."""
    return f"{name}-env"


def _resources(job: Job) -> dict[str, Any]:
    """What is asked for and what is the limit: the same, so that the pod is the last to be evicted.
    https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"""
    main = job.main
    asked: dict[str, Any] = {}
    if main.cpus:
        asked["cpu"] = main.cpus
    if main.memory_bytes:
        asked["memory"] = size(main.memory_bytes)
    if main.gpus:
        asked[job.kubernetes.gpu_resource] = main.gpus
    return {"requests": asked, "limits": asked} if asked else {}


def _volumes(job: Job, *, watched: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The volumes of the pod, and where the container sees them."""
    volumes: list[dict[str, Any]] = [
        {
            "#": "Shared memory of data loaders and NCCL; it counts as memory of the container.",
            "name": "shm",
            "emptyDir": {"medium": "Memory", "sizeLimit": size(job.kubernetes.shm_bytes)},
        }
    ]
    mounts: list[dict[str, Any]] = [{"name": "shm", "mountPath": "/dev/shm"}]
    for claim in job.kubernetes.claims:
        claimed, _, path = claim.partition(":")
        named = f"claim-{label_value(claimed.replace('.', '-'))}"[:63].rstrip("-")
        if all(volume["name"] != named for volume in volumes):
            volumes.append({"name": named, "persistentVolumeClaim": {"claimName": claimed}})
        mounts.append({"name": named, "mountPath": path})
    for number, mount in enumerate(job.main.mounts, 1):
        here, path, *rest = mount.split(":")
        if not here.startswith("/"):
            raise UsageError(
                f"the cluster cannot see {here}, a folder of this machine",
                'put it on a volume: claims = ["CLAIM:/path"] under [kubernetes], or into the image',
            )
        volumes.append({"name": f"host-{number}", "hostPath": {"path": here, "type": "Directory"}})
        mounts.append(
            {"name": f"host-{number}", "mountPath": path, **({"readOnly": True} if rest else {})}
        )
    if watched:
        volumes.append({"name": "middlewatch", "emptyDir": {}})
        mounts.append({"name": "middlewatch", "mountPath": FOLDER})
    return volumes, mounts
