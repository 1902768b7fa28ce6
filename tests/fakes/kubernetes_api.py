"""A small API server of Kubernetes on loopback: what ``kubectl`` asks of it to create, read, change and list.

It keeps objects, speaks discovery, and looks at what is created with the schema of Kubernetes where
kubernetes-validate is installed, as a real one does. It has no controllers: pods and how they end are set by
the test. Suspending a job takes its pods away, as the controller of jobs does.
"""

from __future__ import annotations

import base64
import json
import urllib.parse
import uuid
from pathlib import Path
from typing import Any

from .loopback import Loopback, QuietHandler

try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

KINDS = {
    ("", "pods"): "Pod",
    ("", "services"): "Service",
    ("", "secrets"): "Secret",
    ("", "events"): "Event",
    ("batch", "jobs"): "Job",
}
VERBS = ["create", "delete", "get", "list", "patch", "update"]


class KubernetesApi(Loopback):
    """The server. ``objects``: (plural, namespace, name) -> object; ``logs``: pod -> text; ``asked``: lines of
    all requests. A test may change the first two at any time."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.logs: dict[str, str] = {}
        self.asked: list[str] = []
        self.refuse: dict[str, tuple[int, str, str]] = {}
        """``METHOD plural`` -> status, reason and message that it is refused with."""
        api = self

        class Handler(_Handler):
            server_api = api

        super().__init__(Handler)

    def kubeconfig(self, path: Path) -> Path:
        """A configuration of kubectl that leads here, in the namespace ``ml``."""
        cluster = {"server": self.url}
        context = {"cluster": "ours", "user": "me", "namespace": "ml"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "ours", "cluster": cluster}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": context}],
            "current-context": "here",
        }
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def job(self, name: str) -> dict[str, Any]:
        """A job that was created."""
        return self.objects["jobs", "ml", name]

    def add(self, plural: str, thing: dict[str, Any]) -> None:
        """Put an object there, as a controller does."""
        meta = thing.setdefault("metadata", {})
        meta.setdefault("namespace", "ml")
        meta.setdefault("uid", str(uuid.uuid4()))
        (group,) = (g for g, p in KINDS if p == plural)
        thing["kind"] = KINDS[group, plural]
        thing["apiVersion"] = "batch/v1" if group else "v1"
        self.objects[plural, meta["namespace"], meta["name"]] = thing


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    server_api: KubernetesApi

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._any
        raise AttributeError(name)

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.server_api.asked.append(f"{self.command} {self.path}")
        parts = url.path.strip("/").split("/")
        found = _discovery(url.path)
        if found is not None:
            self._answer(200, found)
            return
        group, rest = ("batch", parts[3:]) if parts[0] == "apis" else ("", parts[2:])
        if rest[:1] != ["namespaces"] or len(rest) < 3 or (group, rest[2]) not in KINDS:
            self._fail(404, "NotFound", "the server could not find the requested resource")
            return
        space, plural, names = rest[1], rest[2], rest[3:]
        refused = self.server_api.refuse.get(f"{self.command} {plural}")
        if refused:
            self._fail(*refused)
        elif self.command == "POST":
            thing = json.loads(body) if body.startswith(b"{") else _secret(body)
            self._create(plural, space, thing, query)
        elif not names:
            self._list(plural, space, query)
        elif (plural, space, names[0]) not in self.server_api.objects:
            self._fail(404, "NotFound", f'{plural} "{names[0]}" not found')
        elif names[1:] == ["log"]:
            self._text(self.server_api.logs.get(names[0], ""))
        else:
            self._one(plural, space, names[0], body)

    def _create(
        self, plural: str, space: str, thing: dict[str, Any], query: dict[str, str]
    ) -> None:
        name = thing["metadata"]["name"]
        if (plural, space, name) in self.server_api.objects:
            self._fail(409, "AlreadyExists", f'{plural} "{name}" already exists')
            return
        if query.get("fieldValidation") == "Strict" and kubernetes_validate is not None:
            try:
                kubernetes_validate.validate(thing, "1.33", strict=True)
            except kubernetes_validate.ValidationError as error:
                self._fail(422, "Invalid", str(error.message))
                return
        thing["metadata"].setdefault("namespace", space)
        thing["metadata"]["uid"] = str(uuid.uuid4())
        if "dryRun" not in query:
            self.server_api.add(plural, thing)
        self._answer(201, thing)

    def _list(self, plural: str, space: str, query: dict[str, str]) -> None:
        wanted = [pair.split("=") for pair in query.get("labelSelector", "").split(",") if pair]
        items = [
            thing
            for (p, s, _), thing in list(self.server_api.objects.items())
            if (p, s) == (plural, space)
            and all(thing["metadata"].get("labels", {}).get(k) == v for k, v in wanted)
        ]
        group = "batch/v1" if plural == "jobs" else "v1"
        kind = KINDS["batch" if plural == "jobs" else "", plural]
        self._answer(
            200, {"kind": f"{kind}List", "apiVersion": group, "metadata": {}, "items": items}
        )

    def _one(self, plural: str, space: str, name: str, body: bytes) -> None:
        objects = self.server_api.objects
        thing = objects[plural, space, name]
        if self.command == "DELETE":
            del objects[plural, space, name]
        elif self.command == "PATCH":
            _merge(thing, json.loads(body))
            if plural == "jobs" and thing["spec"].get("suspend"):
                for key in [k for k, v in objects.items() if _of_job(k, v, name)]:
                    del objects[key]
        self._answer(200, thing)

    def _fail(self, code: int, reason: str, message: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
        self._answer(code, {**status, "reason": reason, "message": message})

    def _answer(self, code: int, value: Any) -> None:
        self.reply(code, "application/json", json.dumps(value).encode())

    def _text(self, text: str) -> None:
        self.reply(200, "text/plain", text.encode())


def _of_job(key: tuple[str, str, str], thing: dict[str, Any], job: str) -> bool:
    return key[0] == "pods" and thing["metadata"].get("labels", {}).get("job-name") == job


def _secret(body: bytes) -> dict[str, Any]:
    """A secret as ``kubectl create secret`` sends it: protobuf, of which only what it holds is read.

    https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
    """
    assert body.startswith(b"k8s\0")
    (raw,) = _fields(body[4:])[2]
    fields = _fields(raw)
    pairs = [_fields(entry) for entry in fields[2]]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _fields(fields[1][0])[1][0].decode()},
        "data": {p[1][0].decode(): base64.b64encode(p[2][0]).decode() for p in pairs},
    }


def _fields(data: bytes) -> dict[int, list[bytes]]:
    """The fields of a protobuf message that have a length; those with a number are passed over."""
    found: dict[int, list[bytes]] = {}
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        field, kind = divmod(number(), 8)
        if kind == 2:
            length = number()
            found.setdefault(field, []).append(data[at : at + length])
            at += length
        else:
            assert kind == 0
            number()
    return found


def _merge(thing: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(thing.get(key), dict):
            _merge(thing[key], value)
        else:
            thing[key] = value


def _discovery(path: str) -> dict[str, Any] | None:
    if path == "/version":
        return {"major": "1", "minor": "33", "gitVersion": "v1.33.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        version = {"groupVersion": "batch/v1", "version": "v1"}
        group = {"name": "batch", "versions": [version], "preferredVersion": version}
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}
    if path in ("/api/v1", "/apis/batch/v1"):
        return _resources("" if path == "/api/v1" else "batch")
    if path == "/openapi/v3":
        known = {p: {"serverRelativeURL": f"/openapi/v3/{p}"} for p in ("api/v1", "apis/batch/v1")}
        return {"paths": known}
    if path.startswith("/openapi/v3/"):
        return _openapi("batch" if "batch" in path else "")
    return None


def _resources(group: str) -> dict[str, Any]:
    resources = [
        {
            "name": plural,
            "singularName": kind.lower(),
            "namespaced": True,
            "kind": kind,
            "verbs": VERBS,
        }
        for (g, plural), kind in KINDS.items()
        if g == group
    ]
    version = "batch/v1" if group else "v1"
    return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}


def _openapi(group: str) -> dict[str, Any]:
    """By this kubectl learns that the server itself looks at the fields."""
    paths = {}
    for (g, plural), kind in KINDS.items():
        if g == group:
            paths[f"/x/{plural}/{{name}}"] = {
                "patch": {
                    "parameters": [{"name": "fieldValidation", "in": "query"}],
                    "x-kubernetes-group-version-kind": {"group": g, "version": "v1", "kind": kind},
                    "responses": {},
                }
            }
    return {"openapi": "3.0.0", "info": {"title": "ours", "version": "1"}, "paths": paths}
