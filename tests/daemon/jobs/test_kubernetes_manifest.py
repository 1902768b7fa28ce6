"""The manifest of a Job: by golden files, and by the schema of Kubernetes.

The golden files are written anew by ``python tests/daemon/jobs/test_kubernetes_manifest.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.job import Job, Kubernetes, Main
from middlewatch.daemon.jobs.kubernetes import artefact
from middlewatch.daemon.jobs.kubernetes_names import (
    label_value,
    literal,
    object_name,
    size,
    tolerations,
)
from middlewatch.daemon.jobs.read import parse
from middlewatch.daemon.system.errors import UsageError

FOLDER = Path(__file__).with_name("kubernetes")
HERE = Here("gpt2-124m-training-20261127-0304", frozenset({"HF_TOKEN", "HOME"}))
JOBS = {
    "one-node": """
        [job]
        command = ["python", "train.py", "--lr", "3e-4"]
        model = "gpt2-124m"
        gpus = 1
        cpus = 8
        memory_bytes = "64GiB"
        checkpoints = "/ckpt/out"
        env = {NCCL_DEBUG = "INFO", SHELL_LIKE = "$(HOME) $$ 中文"}
        [kubernetes]
        image = "registry.example/train:1"
        claims = ["ckpt:/ckpt"]
        """,
    "several-nodes": """
        [job]
        command = ["train.py", "--prompt", "$(HOME) 'a' 学习"]
        model = "gpt2-124m"
        experiment = "学习率 sweep/1"
        launcher = "torchrun"
        nodes = 2
        gpus = 8
        checkpoints = "/ckpt/out"
        preemptible = true
        pass_env = ["HF_TOKEN", "WANDB_API_KEY"]
        mounts = ["/data/set:/data:ro"]
        [kubernetes]
        image = "registry.example/train:1"
        namespace = "ml"
        claims = ["ckpt:/ckpt", "data.v2:/more"]
        retries = 2
        secrets = ["alerts"]
        service_account = "trainer"
        node_selector = {"cloud.google.com/gke-accelerator" = "nvidia-h100-80gb"}
        tolerations = ["team=ml:NoExecute", "spare"]
        watch_image = "registry.example/middlewatch:1"
        """,
    "own-meeting": """
        [job]
        command = ["bash", "start.sh"]
        nodes = 3
        max_time_s = 0
        labels = {type = "pre training", "数据" = "x"}
        [kubernetes]
        image = "train"
        workdir = "/app"
        watch = true
        """,
}


def made(name: str) -> Artefact:
    return artefact(parse(JOBS[name], "job.toml"), HERE)


def manifest(job: Job, here: Here = HERE) -> list[dict[str, Any]]:
    yaml = pytest.importorskip(
        "yaml", reason="PyYAML is not installed: it comes with kubernetes-validate"
    )
    return list(yaml.safe_load_all(artefact(job, here).files["job.yaml"]))


def written() -> Iterator[tuple[Path, str]]:
    for name in JOBS:
        one = made(name)
        for file, text in one.files.items():
            yield FOLDER / f"{name}.{file}", text
        lines = [*(" ".join(words) for words in one.commands), *(f"# {n}" for n in one.notes)]
        yield FOLDER / f"{name}.commands.txt", "\n".join(lines) + "\n"


def test_the_golden_files_are_what_is_made() -> None:
    texts = dict(written())
    assert {path.name for path in FOLDER.iterdir()} == {path.name for path in texts}
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path.name


@pytest.mark.parametrize("version", ["1.29", "1.33", "1.37"])
@pytest.mark.parametrize("name", JOBS)
def test_every_object_is_valid_to_the_letter(name: str, version: str) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed"
    )
    objects = manifest(parse(JOBS[name], "job.toml"))
    assert [one["kind"] for one in objects] == (
        ["Job"] if name == "one-node" else ["Service", "Job"]
    )
    for one in objects:
        validate.validate(one, version, strict=True)


def test_a_wrong_key_is_found() -> None:
    """So that the test above can fail."""
    validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed"
    )
    (job,) = manifest(parse(JOBS["one-node"], "job.toml"))
    job["spec"]["template"]["spec"]["terminationGracePeriod"] = 90
    with pytest.raises(validate.ValidationError):
        validate.validate(job, "1.33", strict=True)


def test_no_value_of_a_variable_that_is_handed_on_is_written() -> None:
    one = made("several-nodes")
    assert one.files["handed-on.env"] == "HF_TOKEN\n"  # the other one is not set here
    assert any("WANDB_API_KEY is to be handed on" in note for note in one.notes)


def test_pods_find_the_master_by_a_name_that_is_legal() -> None:
    job = replace(parse(JOBS["several-nodes"], "job.toml"))
    service, made_job = manifest(job, Here("2.5b-run", frozenset()))
    name = made_job["metadata"]["name"]
    assert name == service["metadata"]["name"] == "run-2-5b-run"
    spec = made_job["spec"]["template"]["spec"]
    assert spec["subdomain"] == name
    assert f"--rdzv-endpoint={name}-0.{name}:29500" in spec["containers"][0]["args"]
    assert "--node-rank=$(JOB_COMPLETION_INDEX)" in spec["containers"][0]["args"]
    assert service["spec"]["selector"] == {"job-name": name}


def test_what_is_missing_is_said() -> None:
    main = Main(command=("python", "t.py"))
    with pytest.raises(UsageError, match="no image"):
        artefact(Job(main), HERE)
    both = Kubernetes(image="a", watch=True, watch_image="b")
    with pytest.raises(UsageError, match="two containers"):
        artefact(Job(main, kubernetes=both), HERE)
    here = replace(main, mounts=("data:/data",))
    with pytest.raises(UsageError, match="cannot see data"):
        artefact(Job(here, kubernetes=Kubernetes(image="a")), HERE)


@pytest.mark.parametrize(
    ("main", "ours", "said"),
    [
        ({"checkpoints": "/out"}, {}, "goes with the pod"),
        ({"checkpoints": "out"}, {"workdir": "/app", "claims": ("c:/data",)}, "goes with the pod"),
        ({"checkpoints": ""}, {}, "is not set"),
        ({"memory_bytes": 1 << 30}, {}, "would be killed"),
        ({}, {}, "first to be evicted"),
        ({"nodes": 2, "preemptible": True}, {}, "retries = 3"),
        ({"nodes": 2}, {"claims": ("c:/data",)}, "ReadWriteMany"),
    ],
)
def test_a_note_says_what_may_go_wrong(
    main: dict[str, Any], ours: dict[str, Any], said: str
) -> None:
    job = Job(Main(command=("x",), **main), kubernetes=Kubernetes(image="a", **ours))
    assert any(said in note for note in artefact(job, HERE).notes)
    safe = Main(command=("x",), checkpoints="out", memory_bytes=64 << 30)
    quiet = Job(safe, kubernetes=Kubernetes(image="a", workdir="/app", claims=("c:/app",)))
    assert not artefact(quiet, HERE).notes


def test_names_labels_and_sizes() -> None:
    assert object_name("GPT.2-训练-x") == "gpt-2-x"
    assert object_name("20261127") == "run-20261127"
    assert len(object_name("a" * 49 + "." * 30 + "b")) <= 50
    assert label_value("学习率 sweep/1") == "sweep-1"
    assert label_value("学") == ""
    assert [size(n) for n in (16 << 30, 3 << 20, 1000)] == ["16Gi", "3Mi", "1000"]
    assert [literal(t) for t in ("$HOME", "$(A)", "$$", "a$")] == ["$HOME", "$$(A)", "$$$", "a$"]
    assert tolerations(["a", "a", "b:NoExecute", "c=d:e"]) == [
        {"key": "a", "operator": "Exists"},
        {"key": "b", "operator": "Exists", "effect": "NoExecute"},
        {"key": "c", "operator": "Equal", "value": "d:e"},
    ]


if __name__ == "__main__":
    for golden, content in written():
        golden.write_text(content, encoding="utf-8")
