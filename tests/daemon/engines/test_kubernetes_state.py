"""What a cluster says of a job, as a sentence: statuses as the API writes them."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.daemon.engines.kubernetes_state import judged


def job(parallelism: int = 1, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "gpt"}, "spec": {"parallelism": parallelism}, "status": status}


def failed(reason: str) -> dict[str, Any]:
    condition = {"type": "Failed", "status": "True", "reason": reason, "message": "it says so"}
    return job(conditions=[condition], failed=1)


def pod(phase: str, name: str = "gpt-0", **status: Any) -> dict[str, Any]:
    container = {"name": "train", "resources": {"limits": {"memory": "64Gi"}}}
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-11-27T03:04:00Z"},
        "spec": {"containers": [container], "nodeName": "node-7"},
        "status": {"phase": phase, **status},
    }


def ended(
    code: int, reason: str = "Error", name: str = "train", at: str = "2026-11-27T04:00:00Z"
) -> dict[str, Any]:
    end = {"exitCode": code, "reason": reason, "finishedAt": at}
    return {"containerStatuses": [{"name": name, "state": {"terminated": end}}]}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {
        "containerStatuses": [
            {"name": "train", "state": {"waiting": {"reason": reason, "message": message}}}
        ]
    }


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]}


ROOM = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    ("seen", "pods", "standing", "words", "code"),
    [
        (job(conditions=[{"type": "Complete", "status": "True"}]), [pod("Succeeded")], "finished", "", 0),
        (job(), [], "waiting", "there is no pod yet", None),
        (job(), [pod("Pending", **condition("PodScheduled", "False", "Unschedulable", ROOM))], "waiting", f"gpt-0 waits: no machine has room for it: {ROOM}", None),
        (job(), [pod("Pending", **waiting("ImagePullBackOff", "not found"))], "waiting", "gpt-0 waits: ImagePullBackOff: the image cannot be pulled: not found", None),
        (job(), [pod("Pending", **waiting("CreateContainerConfigError", 'secret "alerts" not found'))], "waiting", 'something that the container is given is missing: secret "alerts" not found', None),
        (job(), [pod("Pending", **waiting("ContainerCreating"))], "waiting", "its containers are being created", None),
        (job(), [pod("Running")], "running", "", None),
        (job(2), [pod("Running"), pod("Running", "gpt-1")], "running", "2 of 2 pods run", None),
        (job(2), [pod("Running"), pod("Pending", "gpt-1", **waiting("ContainerCreating"))], "waiting", "1 of 2 pods run; gpt-1 waits", None),
        (job(), [pod("Failed", **ended(137, "OOMKilled")), pod("Running", "gpt-b")], "running", "before that gpt-0: OOMKilled", None),
        (failed("BackoffLimitExceeded"), [pod("Failed", **ended(137, "OOMKilled"))], "failed", "gpt-0: OOMKilled: it needed more memory than its limit of 64Gi", 137),
        (failed("BackoffLimitExceeded"), [pod("Failed", **ended(1))], "failed", "gpt-0: exit code 1", 1),
        (failed("PodFailurePolicy"), [pod("Failed", **ended(2))], "failed", "gpt-0: exit code 2", 2),
        (failed("BackoffLimitExceeded"), [pod("Failed", **ended(139))], "failed", "ended by signal 11", 139),
        (failed("BackoffLimitExceeded"), [pod("Failed", reason="Evicted", message="The node was low on resource: ephemeral-storage.")], "stopped", "Evicted: evicted by its machine: The node was low on resource", None),
        (failed("BackoffLimitExceeded"), [pod("Failed", **ended(143), **condition("DisruptionTarget", "True", "PreemptionByScheduler", "preempted by x"))], "stopped", "preempted: a pod of a higher priority took its place: preempted by x", 143),
        (failed("DeadlineExceeded"), [], "stopped", "its time limit was over", None),
        (failed("BackoffLimitExceeded"), [], "failed", "it says so", None),
        ({**job(), "spec": {"suspend": True}}, [], "stopped", "suspended", None),
        ({"metadata": {"name": "gpt", "deletionTimestamp": "2026-11-27T04:00:00Z"}}, [pod("Running")], "stopped", "being deleted", None),
    ],
)  # fmt: skip
def test_words_for_what_is_seen(
    seen: dict[str, Any], pods: list[dict[str, Any]], standing: str, words: str, code: int | None
) -> None:
    state = judged(seen, pods)
    assert (state.standing, state.exit_code) == (standing, code)
    assert words in state.reason
    assert bool(words) == bool(state.reason)


def test_of_several_pods_the_first_that_failed_is_told() -> None:
    """The others fail with it, as they lose their connection."""
    first = pod("Failed", "gpt-1", **ended(137, "OOMKilled", at="2026-11-27T04:00:00Z"))
    then = pod("Failed", "gpt-0", **ended(1, at="2026-11-27T04:00:09Z"))
    state = judged(failed("BackoffLimitExceeded"), [then, first])
    assert state.reason.startswith("gpt-1: OOMKilled")
    assert state.reason.endswith("2 pods failed")
    assert state.details["pods"][0]["node"] == "node-7"


def test_the_container_that_watches_does_not_speak_for_the_training() -> None:
    both = pod("Failed")
    both["status"]["containerStatuses"] = [
        ended(3, name="watch")["containerStatuses"][0],
        ended(1)["containerStatuses"][0],
    ]
    assert judged(failed("BackoffLimitExceeded"), [both]).exit_code == 1


def test_warnings_tell_what_the_pod_itself_does_not() -> None:
    quota = {
        "reason": "FailedCreate",
        "message": "exceeded quota: gpus",
        "involvedObject": {"name": "gpt"},
    }
    assert judged(job(), [], [quota]).reason == "exceeded quota: gpus"
    volume = {
        "reason": "FailedMount",
        "message": 'claim "ckpt" not found',
        "involvedObject": {"name": "gpt-0"},
    }
    other = {**volume, "involvedObject": {"name": "another"}}
    creating = pod("Pending", **waiting("ContainerCreating"))
    assert (
        'a volume is not there: claim "ckpt"' in judged(job(), [creating], [other, volume]).reason
    )
    assert "created" in judged(job(), [creating], [other]).reason
