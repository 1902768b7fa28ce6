"""Names, labels and taints as Kubernetes allows them.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ and …/names/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .naming import LONGEST

LABEL_LENGTH = 63
"""Characters of a label's value, of the name in its key, and of a host name."""
OWN = "app.kubernetes.io/"
"""Labels that every object of a launch has: `OWNname`, `OWNinstance`, `OWNmanaged-by`.
https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/"""
_NOT_IN_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SPOT = (
    "cloud.google.com/gke-spot=true:NoSchedule",
    "cloud.google.com/gke-preemptible=true:NoSchedule",
    "kubernetes.azure.com/scalesetpriority=spot:NoSchedule",
)
"""Taints of machines that may be taken away, as clouds set them by themselves: GKE (spot and the older
preemptible) and Azure. EKS and others set none. From their documentation, November 2026."""


def object_name(name: str) -> str:
    """The name for Job, Service and Secret: a host name that begins with a letter (RFC 1035), as a Service
    needs it, and as the pods of an Indexed Job are called by it. ``name``: as :mod:`.naming` makes it."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    legal = words if words[:1].isalpha() else f"run-{words}"
    return legal[:LONGEST].rstrip("-")


def label_value(text: str) -> str:
    """The text as the value of a label: other characters as ``-``; empty where nothing is left."""
    return _NOT_IN_VALUE.sub("-", text)[:LABEL_LENGTH].strip("-_.")


def labels(own: Mapping[str, str], name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Labels of every object of the launch, and annotations with what a label cannot hold as it is."""
    legal = {
        f"{OWN}name": "training",
        f"{OWN}instance": name,
        f"{OWN}managed-by": "middlewatch",
    }
    whole = {}
    for number, (key, text) in enumerate(own.items(), 1):
        short, value = label_value(key), label_value(text)
        if short and value:
            legal.setdefault(short, value)
        if (short, value) != (key, text):
            whole[short or f"label-{number}"] = text if short == key else f"{key}={text}"
    return legal, whole


def tolerations(taints: Iterable[str]) -> list[dict[str, str]]:
    """``KEY``, ``KEY=VALUE``, ``KEY:EFFECT`` or ``KEY=VALUE:EFFECT``, each once, as a pod has them."""
    made: list[dict[str, str]] = []
    for taint in taints:
        rest, _, effect = taint.rpartition(":")
        if effect not in _EFFECTS:
            rest, effect = taint, ""
        key, given, value = rest.partition("=")
        one = {"key": key, "operator": "Equal" if given else "Exists"}
        one |= {"value": value} if given else {}
        one |= {"effect": effect} if effect else {}
        if one not in made:
            made.append(one)
    return made


def size(count: int) -> str:
    """Bytes as a quantity: ``16Gi`` where it is a whole number of them, else ``Mi``, else bytes."""
    for unit, factor in (("Gi", 1 << 30), ("Mi", 1 << 20)):
        if count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)


def literal(text: str) -> str:
    """The text so that the cluster does not put a variable into it: ``$(NAME)`` is one to it.
    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/"""
    return re.sub(r"\$(?=[$(])", "$$", text)
