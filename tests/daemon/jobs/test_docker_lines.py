"""The lines for `docker run`: beside each job file lies what is made of it, word by word.

They are executed in tests/system/test_launch_docker.py.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.jobs import mounts, read
from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.job import Docker, Job, Main
from middlewatch.daemon.jobs.places import render
from middlewatch.daemon.system.errors import UsageError

LINES = Path(__file__).with_name("docker_lines")
SET = frozenset({"HF_TOKEN", "HOME"})
HERE = {
    "one": Here("bert-first", SET),
    "torchrun": Here("gpt2-124m-training-20261127-0304", SET),
    "three": Here("llama", SET, hosts=("gpu1=10.0.0.1", "ann@gpu2", "gpu3")),
}


def written(artefact: Artefact) -> str:
    """An artefact as a text: a host or a note a line, then a word of the command a line."""
    lines = [f"# note: {note}" for note in artefact.notes]
    for number, words in enumerate(artefact.commands):
        lines.append(f"# on {artefact.hosts[number] if artefact.hosts else 'this machine'}")
        lines += [shlex.quote(word) for word in words]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("name", HERE)
def test_the_lines_are_those_of_the_golden_file(name: str) -> None:
    job = replace(read.read(LINES / f"{name}.toml"), folder="/jobs")
    assert written(render("docker", job, HERE[name])) == (LINES / f"{name}.txt").read_text()


def job_of(main: dict[str, Any] | None = None, **docker: Any) -> Job:
    return Job(
        main=Main(command=("python", "train.py"), **(main or {})),
        docker=Docker(**{"image": "torch", **docker}),
        folder="/jobs/a",
    )


def words_of(job: Job, *hosts: str) -> tuple[str, ...]:
    return render("docker", job, Here("run", SET, hosts=hosts)).commands[-1]


def test_several_machines_without_a_launcher_get_the_variables_of_torch() -> None:
    words = words_of(job_of({"nodes": 2, "port": 4000}), "gpu1", "gpu2")
    given = {word for flag, word in pairwise(words) if flag == "--env"}
    assert given == {
        "PYTHONUNBUFFERED=1",
        "MASTER_ADDR=gpu1",
        "MASTER_PORT=4000",
        "NNODES=2",
        "NODE_RANK=1",
        "RANK=1",
        "LOCAL_RANK=0",
        "WORLD_SIZE=2",
    }
    # With more processes on a machine the command numbers them itself; and a value of the job stays.
    words = words_of(job_of({"nodes": 2, "gpus": 4, "env": {"NODE_RANK": "7"}}), "gpu1", "gpu2")
    given = {word.partition("=")[0] for word in words if "=" in word}
    assert "RANK" not in given
    assert "NODE_RANK=7" in words
    assert "NODE_RANK=1" not in words


def test_words_of_the_job_take_the_place_of_ours() -> None:
    options = ("--shm-size=1g", "--net", "mesh", "--gpus", '"device=2,3"', "-w", "/src")
    words = words_of(job_of({"gpus": 2, "workdir": "/work"}, options=options, network="none"))
    ours = words[: words.index("--shm-size=1g")]
    assert not {"--shm-size", "--network", "--gpus", "--workdir"} & set(ours)
    assert words[words.index("--shm-size=1g") :][: len(options)] == options


@pytest.mark.parametrize(
    ("main", "docker", "hosts", "said"),
    [
        ({}, {"image": ""}, (), "docker needs an image"),
        ({}, {"options": ("--rm",)}, (), "cannot have --rm"),
        ({}, {"options": ("--name=x",)}, (), "cannot have --name"),
        ({"nodes": 3}, {}, (), "nodes = 3, and --hosts names none"),
        ({"nodes": 3}, {}, ("a", "b"), "nodes = 3, and --hosts names 2"),
        ({}, {}, ("a", "b"), "nodes = 1, and --hosts names 2"),
        ({"nodes": 2}, {}, ("localhost", "b"), "cannot reach the master as localhost"),
        ({"mounts": ("~/data:/data",)}, {}, (), "'~/data' is not expanded"),
        ({"workdir": "src"}, {}, (), "is in no folder that the container sees"),
        ({"mounts": ("/c:/ckpt:ro",), "checkpoints": "/ckpt/a"}, {}, (), "to be read only"),
    ],
)
def test_what_cannot_be_is_said(
    main: dict[str, Any], docker: dict[str, Any], hosts: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        words_of(job_of(main, **docker), *hosts)
    assert raised.value.hint


def test_saves_that_no_mount_shows_are_told() -> None:
    made = render("docker", job_of({"checkpoints": "/out"}), Here("run", SET))
    assert made.notes == (
        "it saves to /out, which no mount shows: the saves go when the container is removed",
    )
    assert made.facts["checkpoints"] == ""


def test_a_path_is_that_of_the_innermost_mount() -> None:
    job = job_of({"mounts": ("/a:/w", "b:/w/sub", "/:/all:ro"), "workdir": ".", "checkpoints": "c"})
    assert mounts.outside(job, "/w/x") == "/a/x"
    assert mounts.outside(job, "/w/sub/x") == "/jobs/a/b/x"
    assert mounts.outside(job, "/wide") == ""
    assert mounts.outside(job, "/all/etc") == "/etc"
    assert mounts.inside(job, "/jobs/a/b/x") == "/w/sub/x"
    assert mounts.inside(job, "/jobs/a") == "/all/jobs/a"
    assert mounts.workdir(job) == "/all/jobs/a"


def test_one_machine_elsewhere() -> None:
    made = render("docker", job_of(), Here("run", SET, hosts=("ann@gpu7",)))
    assert made.hosts == ("ann@gpu7",)
    assert made.facts["names"] == ["run"]
    assert "--network" not in made.commands[0]
