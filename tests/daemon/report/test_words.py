"""Titles that are sentences, bodies that do not repeat them, and first steps that can be typed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Change, Incident
from middlewatch.daemon.report.first_steps import first_step
from middlewatch.daemon.report.messages import compose
from middlewatch.daemon.report.words import filled, sentence
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import Evidence, Severity

NOW = 1_700_000_000.0
SPEC = RunSpec(
    id="run7-9c1e",
    name="run7",
    pid=4711,
    logs=("/data/my logs/train.log",),
    checkpoint_dirs=("/data/out",),
)


def incident(trouble: str, summary: str = "it failed", **more: Any) -> Incident:
    values: dict[str, Any] = {
        "id": "3fa2c1",
        "run": "run7-9c1e",
        "trouble": trouble,
        "sentinel": "crash",
        "key": "end",
        "severity": Severity.CRITICAL,
        "state": "open",
        "opened_at": NOW,
        "last_seen_at": NOW,
        "summary": summary,
        **more,
    }
    return Incident(**values)


def pushed(one: Incident) -> tuple[str, list[str]]:
    message = compose(Change("opened", one), "run7", "box3", page(one.trouble), (), NOW, spec=SPEC)
    return message.title, message.body.split("\n")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("KeyError: 'input_ids'; the run ended with exit status 1", None),
        ("loss is NaN since step 4210", None),
        ("/data is full: 0 B of 20.0 GiB left", None),
        ("no progress since step 60 for 75 s; the run waits for a lock (get at train.py:9)", None),
        (
            (
                "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed "
                "by peer [10.0.0.2]:1234 (rank 1)"
            ),
            "RuntimeError: Connection closed by peer [10.0.0.2]:1234 (rank 1)",
        ),
        (
            (
                "[rank1]:[E1122 19:03:11.123456789 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught "
                "collective operation timeout"
            ),
            "Watchdog caught collective operation timeout",
        ),
        (
            (
                "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: "
                "[0,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed."
            ),
            (
                "Title: indexSelectLargeIndex: block: [0,0,0], thread: [0,0,0] Assertion "
                "`srcIndex < srcSelectDimSize` failed."
            ),
        ),
        ("terminate called after throwing an instance of 'c10::Error'", "Title"),
        ("/opt/pytorch/c10/cuda/CUDAException.cpp:43", "Title"),
        (
            (
                "  what():  CUDA error: an illegal memory access was encountered Exception raised from "
                "c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:43"
            ),
            "CUDA error: an illegal memory access was encountered",
        ),
    ],
)
def test_a_title_is_a_sentence(text: str, title: str | None) -> None:
    assert sentence(text, "Title.") == (text if title is None else title)


def test_the_body_does_not_repeat_the_title() -> None:
    line = "/data/train.log:812: loss is NaN since step 4210"
    proofs = [Evidence("log", line), Evidence("log", "/data/train.log:811: step 4209 loss 9.1")]
    title, body = pushed(incident("loss_nan", "loss is NaN since step 4210", evidence=proofs))
    assert title == "[CRITICAL] run7 on box3: loss is NaN since step 4210"
    assert body[0].startswith("Since ")
    assert body[1] == "Proof: /data/train.log:812 (quoted above)"
    assert body[2] == "Proof: /data/train.log:811: step 4209 loss 9.1"
    assert not any("loss is NaN" in line for line in body)


def test_what_the_title_left_out_is_in_the_body() -> None:
    said = "/pytorch/aten/src/ATen/native/cuda/Loss.cu:250: nll_loss: Assertion `t >= 0` failed."
    title, body = pushed(incident("cuda_device_assert", said))
    assert ".cu:" not in title
    assert body[0] == said
    long = "a long story about " + ", ".join(f"shard {n}" for n in range(40))
    assert pushed(incident("io_error", long))[1][0].startswith("a long story about")


@pytest.mark.parametrize(
    ("trouble", "details", "words"),
    [
        ("hang", {"pid": 812}, "py-spy dump --pid 812"),
        ("hang", {}, "py-spy dump --pid 4711"),
        ("xid", {"xid": 79}, "leave this box"),
        ("xid", {"xid": 31}, "Find the first Xid"),
        ("gpu_lost", {}, "leave the box"),
        ("rank_failed", {"exitcode": -9, "signal": 9}, "memory of the host: `free -g`"),
        ("process_killed", {"signal": 1}, "middlewatch run -- COMMAND"),
        ("process_killed", {"exitcode": 129, "how": "hangup"}, "middlewatch run -- COMMAND"),
        ("ckpt_write_failed", {}, "df -h /data/out; df -i /data/out"),
        ("disk_full", {"path": "/data"}, "df -h /data; df -i /data"),
        ("cuda_oom", {}, "out of memory' '/data/my logs/train.log'"),
    ],
)
def test_the_first_step_fits_the_evidence(
    trouble: str, details: dict[str, object], words: str
) -> None:
    step, _ = first_step(incident(trouble, details=details), page(trouble), SPEC)
    assert words in step
    assert "PID" not in step


@pytest.mark.parametrize(
    ("trouble", "details", "logs", "words"),
    [
        ("cgroup_oom_kill", {}, (), "docker inspect -f '{{.HostConfig.Memory}}' gpt"),
        ("python_exception", {}, (), "last)' <(docker logs gpt 2>&1)`"),
        ("python_exception", {}, ("/data/train.log",), "last)' /data/train.log`"),
        ("host_oom_kill", {}, (), "dmesg -T"),
    ],
)
def test_the_first_step_names_the_container(
    trouble: str, details: dict[str, object], logs: tuple[str, ...], words: str
) -> None:
    spec = replace(SPEC, logs=logs, container_name="gpt", container_log="docker:gpt")
    step, _ = first_step(incident(trouble, details=details), page(trouble), spec)
    assert words in step
    assert "NAME" not in step
    assert "docker" not in first_step(incident(trouble, details=details), page(trouble), SPEC)[0]


def test_names_without_a_value_stay() -> None:
    step = "look: `df -h MOUNT; du -xsh DIR/*; cat RANK_LOG; HF_PATH=1 $PATH`"
    assert filled(step, {}) == step
    assert filled(step, {"MOUNT": "/a b", "DIR": "/out", "PATH": "/x"}) == (
        "look: `df -h '/a b'; du -xsh /out/*; cat RANK_LOG; HF_PATH=1 $PATH`"
    )
