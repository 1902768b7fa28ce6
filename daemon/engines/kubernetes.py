"""A cluster, driven through ``kubectl``, which has the person's own way to it and rights there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..jobs.artefact import Artefact
from ..system.errors import MiddlewatchError, UsageError
from .client_program import ClientFailed, call
from .engine import Begun, State
from .kubernetes_state import CONTAINER, judged

CALL_S = 60.0
"""Seconds for a call. A cluster answers in less than one; a plugin that logs in asks its own service first.
Our choice."""
LOG_S = 600.0
"""Seconds to fetch the log of a pod: hundreds of megabytes over a slow line. Our choice."""
_HINTS = {
    "already exists": "another name: --name NAME; or away with the older one: kubectl delete job NAME",
    "forbidden": "the account has no right to this, or a quota is used up: kubectl auth can-i create jobs",
    "Unauthorized": "log in to the cluster again, as its provider says",
    "must be logged in": "log in to the cluster again, as its provider says",
    "namespaces": "a namespace that is there: namespace under [kubernetes]",
    "unknown field": "the cluster is older than what the job asks for: docs/launch-kubernetes.md",
    "Unable to connect": "the cluster cannot be reached from here: kubectl cluster-info",
    "was refused": "the cluster cannot be reached from here: kubectl cluster-info",
}
"""What kubectl says -> what to do."""


class Driver:
    """The engine of Kubernetes. A job is called ``NAMESPACE/NAME@CONTEXT``: another context that is chosen
    later does not lead to another cluster."""

    def missing(self) -> tuple[str, str]:
        """Without ``kubectl``, or a cluster that it knows."""
        if shutil.which("kubectl") is None:
            return (
                "kubectl is not installed here",
                "https://kubernetes.io/docs/tasks/tools/; or --print, and hand the manifest over elsewhere",
            )
        if not _context() and not os.environ.get("KUBERNETES_SERVICE_HOST"):
            return ("kubectl knows no cluster here", "kubectl config get-contexts; $KUBECONFIG")
        return "", ""

    def start(self, artefact: Artefact, folder: Path) -> Begun:
        """Have the server look at the manifest first, then make what it says.

        ``create``, not ``apply``: a job of that name that is there already is never taken for this one.
        """
        manifest = artefact.commands[-1][-1]
        context = _context()
        at = ("--context", context) if context else ()
        _said(("create", "--dry-run=server", "-f", manifest, *at), folder)
        done: list[str] = []
        for words in artefact.commands:
            try:
                _said((*words[1:], *at), folder)
            except MiddlewatchError as error:
                left = f"; made before it: {', '.join(done)}" if done else ""
                raise MiddlewatchError(f"{error}{left}", error.hint) from error
            done.append(" ".join(words[1:5]))
        made = json.loads(_said(("get", "-f", manifest, "-o", "json", *at), folder))
        objects = made["items"] if made.get("kind") == "List" else [made]
        job = next(one for one in objects if one["kind"] == "Job")
        name, space = job["metadata"]["name"], job["metadata"]["namespace"]
        where = f" --namespace {space}"
        return Begun(
            id=f"{space}/{name}" + (f"@{context}" if context else ""),
            look=f"kubectl logs -f job/{name}{where}",
            end=f'kubectl patch job {name}{where} --type=merge -p \'{{"spec":{{"suspend":true}}}}\'',
            details={"uid": job["metadata"]["uid"], "context": context},
        )

    def state(self, job_id: str) -> State:
        """What the cluster says of it, its pods and the warnings about them."""
        name, at = _place(job_id)
        try:
            job = json.loads(_said(("get", "job", name, "-o", "json", *at)))
        except ClientFailed as error:
            if "NotFound" not in error.said:
                raise
            return State("unknown", f"the cluster has no job {name}: it was deleted")
        pods = _pods(name, at)
        return judged(job, pods, _warnings(at) if not _ended(job) else ())

    def end(self, job_id: str, folder: Path) -> None:
        """Fetch its log into ``folder``, then suspend it.

        A suspended job stays in the cluster with all that it was asked for, and can go on; its pods get
        SIGTERM and their time to save. With them their logs go, as with every other way that a cluster has
        to end pods: so these are fetched first.
        """
        name, at = _place(job_id)
        if self.state(job_id).standing in ("finished", "failed", "stopped", "unknown"):
            return
        self.fetch(job_id, folder)
        patch = '{"spec":{"suspend":true}}'
        _said(("patch", "job", name, "--type=merge", "-p", patch, *at))

    def fetch(self, job_id: str, folder: Path) -> list[Path]:
        """Fetch what the pods have printed so far, a file for each that has begun: ``POD.log``."""
        name, at = _place(job_id)
        made = []
        for pod in _pods(name, at):
            if pod.get("status", {}).get("phase") in (None, "Pending"):
                continue
            path = folder / f"{pod['metadata']['name']}.log"
            words = ("logs", pod["metadata"]["name"], "-c", CONTAINER, *at)
            call(("kubectl", *words), deadline_s=LOG_S, into=path)
            made.append(path)
        return made


def _said(words: tuple[str, ...], folder: Path | None = None) -> str:
    """What ``kubectl`` answered. Raises ClientFailed with a hint for what is known."""
    try:
        return call(
            ("kubectl", f"--request-timeout={CALL_S / 2:.0f}s", *words),
            deadline_s=CALL_S,
            cwd=folder,
        )
    except ClientFailed as error:
        hint = next((hint for said, hint in _HINTS.items() if said in error.said), "")
        raise ClientFailed(
            f"kubectl: {error.said or error}", hint or error.hint, error.said
        ) from error


def _context() -> str:
    """The chosen context; empty where there is none, as in a pod."""
    try:
        return call(("kubectl", "config", "current-context"), deadline_s=CALL_S).strip()
    except ClientFailed:
        return ""


def _place(job_id: str) -> tuple[str, tuple[str, ...]]:
    """The name of the job, and the options that lead to it."""
    where, _, context = job_id.partition("@")
    space, _, name = where.partition("/")
    if not space or not name:
        raise UsageError(
            f"{job_id!r} is no job of a cluster", "it is NAMESPACE/NAME@CONTEXT, as launch told it"
        )
    return name, ("--namespace", space, *(("--context", context) if context else ()))


def _pods(name: str, at: tuple[str, ...]) -> list[dict[str, Any]]:
    found = json.loads(_said(("get", "pods", "-l", f"job-name={name}", "-o", "json", *at)))
    pods: list[dict[str, Any]] = found["items"]
    return pods


def _warnings(at: tuple[str, ...]) -> list[dict[str, Any]]:
    """Warnings of the namespace; none where the account may not read them."""
    try:
        words = ("get", "events", "--field-selector", "type=Warning", "-o", "json", *at)
        found: list[dict[str, Any]] = json.loads(_said(words))["items"]
    except ClientFailed:
        return []
    return found


def _ended(job: dict[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)
