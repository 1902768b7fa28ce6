from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middlewatch.daemon.box.platforms import ROLES, recognise
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.platform_facts import NOBODY, facts_of_all, names
from middlewatch.daemon.system.errors import ConfigError

from ..box_tree import BoxTree

Build = Callable[[BoxTree], object]

BOXES: list[tuple[str, Build]] = [
    ("runpod", lambda b: b.env("RUNPOD_POD_ID", "RUNPOD_API_KEY").mount("/workspace")),
    ("runpod", lambda b: b.program("runpodctl").text("/etc/rp_environment")),
    ("vastai", lambda b: b.env("VAST_TCP_PORT_22")),
    ("vastai", lambda b: b.env("CONTAINER_ID").text(os.path.expanduser("~root/onstart.sh"))),
    ("autodl", lambda b: b.env("AutoDLService6006URL")),
    ("autodl", lambda b: b.mount("/root/autodl-tmp").text("/etc/network_turbo")),
    (
        "autodl",
        lambda b: b.text("proc/sys/kernel/hostname", "autodl-container-3f1c-aa07\n").mount(
            "/root/autodl-fs", "nfs4"
        ),
    ),
    ("lambda", lambda b: b.mount("/lambda/nfs/weights", "nfs4")),
    (
        "lambda",
        lambda b: b.folder("/usr/share/doc/lambda-stack-cuda").text(
            "/etc/apt/preferences.d/lambda-repository"
        ),
    ),
    ("kaggle", lambda b: b.env("KAGGLE_KERNEL_RUN_TYPE")),
    ("kaggle", lambda b: b.folder("/kaggle/working", "/kaggle/input")),
    ("colab", lambda b: b.folder("/usr/local/lib/python3.12/dist-packages/google/colab")),
    ("colab", lambda b: b.env("COLAB_GPU").folder("/content")),
    ("slurm", lambda b: b.env("SLURM_JOB_ID")),
    ("slurm", lambda b: b.program("sbatch", "scontrol")),
    (
        "slurm",
        lambda b: b.text("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_0\n"),
    ),
    ("kubernetes", lambda b: b.folder("/var/run/secrets/kubernetes.io/serviceaccount")),
    ("kubernetes", lambda b: b.env("KUBERNETES_SERVICE_HOST")),
    ("docker", lambda b: b.text("/.dockerenv")),
    ("podman", lambda b: b.text("/run/.containerenv")),
    ("gpushare", lambda b: b.mount("/hy-tmp")),
    ("matpool", lambda b: b.text("/public/script/switch_pip_source.sh")),
    ("featurize", lambda b: b.folder("/home/featurize")),
    ("lanrui", lambda b: b.mount("/home/user/datadisk")),
    ("paperspace", lambda b: b.env("PAPERSPACE_FQDN")),
    ("aws", lambda b: b.text("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")),
    ("gcp", lambda b: b.text("sys/class/dmi/id/sys_vendor", "Google\n")),
    (
        "azure",
        lambda b: b.text("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n").folder(
            "/var/lib/waagent"
        ),
    ),
]


@pytest.fixture
def box(tmp_path: Path) -> BoxTree:
    return BoxTree(tmp_path)


@pytest.mark.parametrize(("name", "build"), BOXES, ids=[n for n, _ in BOXES])
def test_a_platform_is_recognised_from_inside(box: BoxTree, name: str, build: Build) -> None:
    build(box)
    found = recognise(str(box.root))[0]
    assert found.id == name
    assert found.signs


WEAK: list[Build] = [
    lambda b: b,
    lambda b: b.env("PUBLIC_KEY", "GPU_COUNT", "DATA_DIRECTORY").mount("/workspace"),
    lambda b: b.env("CONTAINER_ID"),  # one strong sign alone
    lambda b: b.text("/etc/network_turbo"),
    lambda b: b.folder("/content"),
    lambda b: b.program("runpodctl"),
    lambda b: b.program("sbatch"),
    lambda b: b.text("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),  # Hyper-V at home
    lambda b: b.text("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
    lambda b: b.folder("/mnt", "/storage", "/cloud"),
]


@pytest.mark.parametrize("build", WEAK)
def test_too_little_to_be_sure(box: BoxTree, build: Build) -> None:
    build(box)
    assert recognise(str(box.root)) == ()


def test_every_platform_of_the_file_has_a_box_here() -> None:
    assert {name for name, _ in BOXES} == set(facts_of_all())


def test_no_value_is_ever_kept(box: BoxTree) -> None:
    box.env("RUNPOD_POD_ID", "RUNPOD_API_KEY", "AutodlAutoPanelToken", "CONTAINER_API_KEY")
    own = {"RUNPOD_API_KEY": "s3cr3t-own", "SLURM_JOB_ID": "s3cr3t-job"}
    found = recognise(str(box.root), own)
    assert {"runpod", "autodl", "vastai", "slurm"} <= {p.id for p in found}
    assert "s3cr3t" not in repr(found)


def test_our_own_environment_counts_where_the_first_process_is_a_secret(box: BoxTree) -> None:
    found = recognise(str(box.root), {"RUNPOD_POD_ID": "abc"})[0]
    assert (found.id, found.signs) == ("runpod", ("env RUNPOD_POD_ID",))


def test_a_rented_box_may_be_a_node_and_a_container_too(box: BoxTree) -> None:
    box.env("RUNPOD_POD_ID", "KUBERNETES_SERVICE_HOST").text("/.dockerenv")
    box.text("sys/class/dmi/id/sys_vendor", "Google\n")
    assert [p.id for p in recognise(str(box.root))] == ["runpod", "kubernetes", "gcp", "docker"]


def test_a_person_knows_better(box: BoxTree) -> None:
    box.env("RUNPOD_POD_ID").text("/.dockerenv")
    told = recognise(str(box.root), name="vastai")
    assert [(p.id, p.signs) for p in told] == [
        ("vastai", ("configuration",)),
        ("docker", ("file /.dockerenv",)),
    ]
    assert recognise(str(box.root), name=NOBODY) == ()
    assert parse("[platform]\nname = 'vastai'", "f").platform.name == "vastai"
    with pytest.raises(ConfigError, match="did you mean 'runpod'"):
        parse("[platform]\nname = 'runpd'", "f")


def test_a_place_that_a_variable_names(box: BoxTree) -> None:
    own = {"SLURM_JOB_ID": "7", "TMPDIR": "/local/7/"}
    (slurm,) = recognise(str(box.root), own)
    assert "/local/7" in {t.path for t in slurm.tiers}
    (slurm,) = recognise(str(box.root), {"SLURM_JOB_ID": "7"})
    assert all(t.path.startswith(("/", "@")) for t in slurm.tiers)
    (login,) = recognise(str(box.program("sbatch", "scontrol").root), {"TMPDIR": "/local"})
    assert login.tiers == ()  # no job: nothing is wiped at its end


def test_this_box_can_be_looked_at() -> None:
    for one in recognise():
        assert one.id in names()


@settings(max_examples=50)  # it makes files
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_garbage_is_no_platform(
    tmp_path_factory: pytest.TempPathFactory, environ: bytes, mounts: bytes
) -> None:
    root = tmp_path_factory.mktemp("box")
    for name, data in (("proc/1/environ", environ), ("proc/self/mountinfo", mounts)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert recognise(str(root)) == ()


@pytest.mark.parametrize(("key", "fact"), facts_of_all().items())
def test_the_facts_are_whole(key: str, fact: dict[str, object]) -> None:
    assert fact["role"] in ROLES
    known = {"name", "role", "sure", "strong", "better", "spot", "ends_h", "start", "place"}
    assert set(fact) <= known
    kinds = {"env", "file", "mount", "host", "program", "cgroup", "dmi"}
    for strength in ("sure", "strong"):
        marks = fact.get(strength, {})
        assert isinstance(marks, dict)
        assert set(marks) <= kinds
        assert all(isinstance(m, str) and m for every in marks.values() for m in every)
    places = fact["place"]
    assert isinstance(places, list)
    for place in places:
        assert set(place) <= {"path", "where", "stop", "destroy", "env", "folder", "below"}
        assert place["path"][0] in "/@$"
        assert place["where"]
