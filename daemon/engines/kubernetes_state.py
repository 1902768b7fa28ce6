"""What the objects of a cluster say of a job, as a sentence. Pure: objects as the API gives them come in.

Reasons: https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup and
https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .engine import Standing, State

CONTAINER = "train"
Object = Mapping[str, Any]
_DISRUPTIONS = {
    "PreemptionByScheduler": "preempted: a pod of a higher priority took its place",
    "DeletionByTaintManager": "its machine was taken out of use (a taint that it does not bear)",
    "EvictionByEvictionAPI": "evicted on request, as when a machine is drained",
    "DeletionByPodGC": "its machine is gone",
    "TerminationByKubelet": "its machine ended it: short of memory or disk, or shut down",
}
_POD_REASONS = {
    "Evicted": "evicted by its machine",
    "DeadlineExceeded": "its time limit was over",
    "NodeLost": "its machine does not answer",
    "Shutdown": "its machine was shut down",
    "Terminated": "its machine was shut down",
    "Preempting": "it had to make room for a more important pod",
    "UnexpectedAdmissionError": "its machine could not give it what it needs",
}
_DISRUPTED = frozenset(("Evicted", "NodeLost", "Shutdown", "Terminated", "Preempting"))
_WAITING = {
    "ErrImagePull": "the image cannot be pulled",
    "ImagePullBackOff": "the image cannot be pulled",
    "InvalidImageName": "the name of the image is not valid",
    "ErrImageNeverPull": "the image is not on the machine, and may not be pulled",
    "CreateContainerConfigError": "something that the container is given is missing",
    "CreateContainerError": "the container cannot be created",
    "RunContainerError": "the container cannot be started",
    "CrashLoopBackOff": "the container ended again and again",
}
_TOLD_OF_VOLUMES = ("FailedMount", "FailedAttachVolume")


def judged(job: Object, pods: Sequence[Object], events: Iterable[Object] = ()) -> State:
    """The state of the job, by itself, its pods and the warnings about them."""
    spec, status = job.get("spec", {}), job.get("status", {})
    true = {c["type"]: c for c in status.get("conditions", []) if c.get("status") == "True"}
    pods = sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp") or ""))
    details = {"pods": [_details(pod) for pod in pods]}
    if "Complete" in true:
        return State("finished", "", 0, details)
    if "Failed" in true:
        return _failed(true["Failed"], pods, details)
    if spec.get("suspend"):
        said = "suspended: its pods were ended, the job is kept"
        return State("stopped", said, None, details)
    if job["metadata"].get("deletionTimestamp"):
        return State("stopped", "it is being deleted", None, details)
    return _going(int(spec.get("parallelism") or 1), pods, list(events), details)


def _failed(condition: Object, pods: Sequence[Object], details: dict[str, Any]) -> State:
    """The cluster has given up: why, and what the pod says that was the first to fail."""
    reason = str(condition.get("reason") or "")
    if reason == "DeadlineExceeded":
        return State("stopped", "its time limit was over (activeDeadlineSeconds)", None, details)
    failed = [pod for pod in pods if pod.get("status", {}).get("phase") == "Failed"]
    if not failed:
        said = str(condition.get("message") or reason or "the cluster gave up")
        return State("failed", said, None, details)
    first = min(failed, key=_ended_at)
    words, standing = why(first)
    tries = f"; {len(failed)} pods failed" if len(failed) > 1 else ""
    return State(standing, f"{_name(first)}: {words}{tries}", exit_code(first), details)


def _going(
    wanted: int, pods: Sequence[Object], events: Sequence[Object], details: dict[str, Any]
) -> State:
    """It has not ended: it runs, or something is missing."""
    alive = [
        pod for pod in pods if pod.get("status", {}).get("phase") in ("Pending", "Running", None)
    ]
    over = [pod for pod in pods if pod.get("status", {}).get("phase") == "Failed"]
    before = f"; before that {_name(over[-1])}: {why(over[-1])[0]}" if over else ""
    done = sum(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods)
    running = [pod for pod in alive if _runs(pod)]
    waiting = [pod for pod in alive if not _runs(pod)]
    if waiting:
        some = f"{len(running)} of {wanted} pods run; " if running else ""
        words = f"{some}{_name(waiting[0])} waits: {waits(waiting[0], events)}{before}"
        return State("waiting", words, None, details)
    if len(running) + done < wanted:
        said = next((_message(e) for e in events if e.get("reason") == "FailedCreate"), "")
        return State("waiting", (said or "there is no pod yet") + before, None, details)
    many = f"{len(running)} of {wanted} pods run" if wanted > 1 else ""
    return State("running", (many + before).removeprefix("; "), None, details)


def why(pod: Object) -> tuple[str, Standing]:
    """Why a pod failed, and whether it was ended from outside (``stopped``)."""
    status = pod.get("status", {})
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    ended = _terminated(pod)
    if ended.get("reason") == "OOMKilled":
        limit = _limit(pod)
        return f"OOMKilled: it needed more memory than {limit or 'there was'}", "failed"
    for condition in status.get("conditions", []):
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            told = str(condition.get("reason") or "")
            words = _DISRUPTIONS.get(told, told or "ended from outside")
            return _with(words, message or str(condition.get("message") or "")), "stopped"
    if reason:
        words = f"{reason}: {_POD_REASONS.get(reason, 'it was not run on')}"
        outside = reason in _DISRUPTED or reason == "DeadlineExceeded"
        return _with(words, message), "stopped" if outside else "failed"
    code = exit_code(pod)
    if code is None:
        return "no container of it has told how it ended", "failed"
    if code > 128:  # as a shell and every runtime tell the end by a signal
        return f"ended by signal {code - 128} (exit code {code})", "failed"
    return _with(f"exit code {code}", str(ended.get("message") or "")), "failed"


def waits(pod: Object, events: Iterable[Object] = ()) -> str:
    """Why a pod does not run yet."""
    status = pod.get("status", {})
    for condition in status.get("conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _with("no machine has room for it", str(condition.get("message") or ""))
    for container in _statuses(pod):
        waiting = container.get("state", {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason in _WAITING:
            message = str(waiting.get("message") or "")
            return _with(f"{reason}: {_WAITING[reason]}", message)
    name = pod["metadata"]["name"]
    for event in events:
        about = event.get("involvedObject", {}).get("name")
        if about == name and event.get("reason") in _TOLD_OF_VOLUMES:
            return _with("a volume is not there", _message(event))
    return "its containers are being created"


def exit_code(pod: Object) -> int | None:
    """That of the training, else of another container that failed."""
    code = _terminated(pod).get("exitCode")
    return None if code is None else int(code)


def _terminated(pod: Object) -> Object:
    """How the training's container ended; of another one only where that has told nothing."""
    ends = {c["name"]: c.get("state", {}).get("terminated") or {} for c in _statuses(pod)}
    own = ends.get(CONTAINER)
    return own or next((end for end in ends.values() if end.get("exitCode")), {})


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status", {})
    return [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]


def _runs(pod: Object) -> bool:
    if pod.get("status", {}).get("phase") != "Running":
        return False
    return not any(
        (c.get("state", {}).get("waiting") or {}).get("reason") in _WAITING for c in _statuses(pod)
    )


def _limit(pod: Object) -> str:
    for container in pod.get("spec", {}).get("containers", []):
        if container.get("name") == CONTAINER:
            limit = container.get("resources", {}).get("limits", {}).get("memory")
            return f"its limit of {limit}" if limit else ""
    return ""


def _ended_at(pod: Object) -> str:
    """When it ended, as the API writes times: they sort as texts. One that does not say it comes last."""
    return str(_terminated(pod).get("finishedAt") or "~")


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _message(event: Object) -> str:
    return str(event.get("message") or "")


def _with(words: str, message: str) -> str:
    return f"{words}: {message.strip()}" if message.strip() else words


def _details(pod: Object) -> dict[str, Any]:
    return {
        "pod": _name(pod),
        "phase": pod.get("status", {}).get("phase") or "",
        "node": pod.get("spec", {}).get("nodeName") or "",
        "exit_code": exit_code(pod),
    }
