"""The engine of Kubernetes: the real ``kubectl`` against an API server of ours on loopback."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.cli import main
from middlewatch.daemon.engines.choice import engine
from middlewatch.daemon.engines.kubernetes import Driver
from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.job import Job, Kubernetes, Main
from middlewatch.daemon.jobs.places import render
from middlewatch.daemon.system.errors import MiddlewatchError, UsageError

from ...fakes.kubernetes_api import KubernetesApi

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
SECRET = "hf_not_a_real_token"


@dataclass
class Cluster:
    api: KubernetesApi
    folder: Path

    def launched(self, name: str = "gpt.2", nodes: int = 2) -> tuple[Artefact, Path]:
        main = Main(command=("python", "train.py"), nodes=nodes, pass_env=("HF_TOKEN",))
        job = Job(main, kubernetes=Kubernetes(image="registry.example/train:1"))
        artefact = render("kubernetes", job, Here(name, frozenset(os.environ)))
        folder = self.folder / f"launch-{name}"
        folder.mkdir(exist_ok=True)
        for file, text in artefact.files.items():
            (folder / file).write_text(text, encoding="utf-8")
        return artefact, folder

    def pod(self, name: str, job: str, phase: str = "Running", **status: Any) -> None:
        self.api.add(
            "pods",
            {
                "metadata": {"name": name, "labels": {"job-name": job}},
                "spec": {"containers": [{"name": "train", "image": "x"}]},
                "status": {"phase": phase, **status},
            },
        )


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with KubernetesApi() as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path / "kubeconfig")))
        monkeypatch.setenv("HOME", str(tmp_path))  # kubectl keeps what it discovered there
        monkeypatch.setenv("HF_TOKEN", SECRET)
        monkeypatch.setenv("MIDDLEWATCH_STATE_DIR", str(tmp_path / "state"))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        yield Cluster(api, tmp_path)


def test_a_job_is_looked_at_by_the_server_and_then_made(cluster: Cluster) -> None:
    driver = engine("kubernetes")
    assert driver.missing() == ("", "")
    artefact, folder = cluster.launched()
    begun = driver.start(artefact, folder)
    assert begun.id == "ml/gpt-2@here"
    assert begun.look == "kubectl logs -f job/gpt-2 --namespace ml"
    assert begun.details["uid"] == cluster.api.job("gpt-2")["metadata"]["uid"]
    posts = [line for line in cluster.api.asked if line.startswith("POST")]
    assert ["dryRun=All" in line for line in posts] == [True, True, False, False, False]
    assert all("fieldValidation=Strict" in line for line in posts)
    spec = cluster.api.job("gpt-2")["spec"]
    assert spec["template"]["spec"]["subdomain"] == "gpt-2"
    assert driver.state(begun.id).reason == "there is no pod yet"


def test_what_is_handed_on_is_in_the_secret_and_nowhere_else(cluster: Cluster) -> None:
    artefact, folder = cluster.launched()
    begun = Driver().start(artefact, folder)
    kept = cluster.api.objects["secrets", "ml", "gpt-2-env"]
    assert base64.b64decode(kept["data"]["HF_TOKEN"]).decode() == SECRET
    assert kept["metadata"]["labels"]["app.kubernetes.io/instance"] == "gpt-2"
    (train,) = cluster.api.job("gpt-2")["spec"]["template"]["spec"]["containers"]
    reference = {"secretKeyRef": {"name": "gpt-2-env", "key": "HF_TOKEN"}}
    assert {"name": "HF_TOKEN", "valueFrom": reference} in train["env"]
    texts = [path.read_text() for path in folder.iterdir()]
    texts += [repr(artefact), repr(begun), json.dumps(cluster.api.job("gpt-2"))]
    assert not any(SECRET in text for text in texts)


def test_a_job_of_that_name_is_never_taken_for_this_one(cluster: Cluster) -> None:
    Driver().start(*cluster.launched())
    before = json.dumps(cluster.api.job("gpt-2"))
    with pytest.raises(MiddlewatchError, match="already exists") as told:
        Driver().start(*cluster.launched())
    assert "--name" in told.value.hint
    assert json.dumps(cluster.api.job("gpt-2")) == before


def test_a_key_that_the_cluster_does_not_know_is_found_before_anything_is_made(
    cluster: Cluster,
) -> None:
    pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    artefact, folder = cluster.launched()
    manifest = folder / "job.yaml"
    manifest.write_text(manifest.read_text().replace("backoffLimit:", "backOffLimit:"))
    with pytest.raises(MiddlewatchError, match="backOffLimit"):
        Driver().start(artefact, folder)
    assert not cluster.api.objects


def test_what_was_made_before_a_failure_is_named(cluster: Cluster) -> None:
    cluster.api.refuse["PATCH secrets"] = (
        403,
        "Forbidden",
        "secrets is forbidden: User me cannot patch",
    )
    with pytest.raises(
        MiddlewatchError, match="made before it: create secret generic gpt-2-env"
    ) as told:
        Driver().start(*cluster.launched())
    assert "no right" in told.value.hint


def test_the_state_is_that_of_the_pods(cluster: Cluster) -> None:
    begun = Driver().start(*cluster.launched())
    cluster.pod("gpt-2-0-a", "gpt-2")
    waiting = [{"name": "train", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}]
    cluster.pod("gpt-2-1-b", "gpt-2", "Pending", containerStatuses=waiting)
    cluster.pod("other", "another-job")
    state = Driver().state(begun.id)
    assert state.standing == "waiting"
    assert (
        state.reason
        == "1 of 2 pods run; gpt-2-1-b waits: ErrImagePull: the image cannot be pulled: no"
    )
    cluster.pod("gpt-2-1-b", "gpt-2")
    assert Driver().state(begun.id).standing == "running"


def test_warnings_that_may_not_be_read_do_no_harm(cluster: Cluster) -> None:
    begun = Driver().start(*cluster.launched())
    cluster.api.refuse["GET events"] = (403, "Forbidden", "events is forbidden")
    assert Driver().state(begun.id).standing == "waiting"


def test_the_end_keeps_the_job_and_what_its_pods_printed(cluster: Cluster) -> None:
    driver = Driver()
    begun = driver.start(*cluster.launched())
    for number, pod in enumerate(("gpt-2-0-a", "gpt-2-1-b")):
        cluster.pod(pod, "gpt-2")
        cluster.api.logs[pod] = f"rank {number} 步\n"
    folder = cluster.folder / "launch"
    folder.mkdir()
    driver.end(begun.id, folder)
    assert driver.state(begun.id).standing == "stopped"
    assert cluster.api.job("gpt-2")["spec"]["suspend"] is True
    assert not [key for key in cluster.api.objects if key[0] == "pods"]
    logs = {path.name: path.read_text() for path in folder.glob("*.log")}
    assert logs == {"gpt-2-0-a.log": "rank 0 步\n", "gpt-2-1-b.log": "rank 1 步\n"}
    asked = len(cluster.api.asked)
    driver.end(begun.id, folder)  # once more: nothing is changed
    assert not [line for line in cluster.api.asked[asked:] if line.startswith("PATCH")]


def test_a_job_that_is_gone_is_unknown(cluster: Cluster) -> None:
    state = Driver().state("ml/never@here")
    assert (state.standing, "deleted" in state.reason) == ("unknown", True)
    with pytest.raises(UsageError, match="no job of a cluster"):
        Driver().state("4711")


def test_without_a_cluster_it_says_so(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.folder / "none"))
    missing, hint = Driver().missing()
    assert "no cluster" in missing
    assert hint
    monkeypatch.setenv("PATH", str(cluster.folder))
    assert Driver().missing()[0] == "kubectl is not installed here"


def test_a_cluster_that_does_not_answer_is_told(cluster: Cluster) -> None:
    config = json.loads((cluster.folder / "kubeconfig").read_text())
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:9"  # discard: nobody listens
    (cluster.folder / "kubeconfig").write_text(json.dumps(config))
    with pytest.raises(MiddlewatchError, match="refused") as told:
        Driver().state("ml/gpt-2@here")
    assert "cannot be reached" in told.value.hint


def test_the_manifest_passes_kubectl_without_being_sent(cluster: Cluster) -> None:
    """What a person types who hands the manifest over: a dry run on the side of the client."""
    from middlewatch.daemon.engines.client_program import call

    _, folder = cluster.launched(nodes=2)
    words = ("kubectl", "create", "--dry-run=client", "-f", "job.yaml", "-o", "name")
    said = call(words, deadline_s=120, cwd=folder)
    assert said.split() == ["service/gpt-2", "job.batch/gpt-2"]
    assert not cluster.api.objects


def test_the_command_launches_and_keeps_a_record_without_secrets(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.folder / "job.toml"
    job.write_text(
        '[job]\ncommand = ["python", "train.py"]\nname = "gpt.2"\npass_env = ["HF_TOKEN"]\n'
        '[kubernetes]\nimage = "registry.example/train:1"\n',
        encoding="utf-8",
    )
    assert main(["launch", str(job), "--on", "kubernetes", "--print"]) == 0
    assert "\nkind: Job\n" in capsys.readouterr().out
    assert main(["launch", str(job), "--on", "kubernetes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["id"] == "ml/gpt-2@here"
    assert cluster.api.job("gpt-2")["spec"]["backoffLimit"] == 0
    record = json.loads(Path(told["launch"]).read_text())
    assert record["engine"]["id"] == told["id"]
    assert set(record["files"]) == {"job.yaml", "handed-on.env"}
    kept = [path for path in (cluster.folder / "state").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
    assert main(["launch", str(job), "--on", "kubernetes"]) == 5
    assert "already exists" in capsys.readouterr().err
