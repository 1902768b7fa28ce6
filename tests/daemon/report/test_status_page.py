from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.report.status_page import page


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


UPDATED = "2024-05-01T03:12:44.000+00:00"


def status(**more: Any) -> dict[str, Any]:
    return {
        "run": "gpt-1a2b",
        "state": "failing",
        "state_reason": "the loss is NaN since step 4210",
        "now": {
            "step": 4216.0,
            "total": 5000.0,
            "epoch": 0.84,
            "values": {"train_loss": math.nan, "lr": 0.0003, "eval_loss": 2.5},
            "step_interval_s": 0.25,
            "eta": "2024-05-01T03:16:00.000+00:00",
            "last_step_at": "2024-05-01T03:12:43.000+00:00",
        },
        "exit": None,
        "ended_at": None,
        "incidents": [
            {
                "id": "3fa2c1",
                "class": "loss_nan",
                "severity": "critical",
                "opened_at": "2024-05-01T03:12:40.000+00:00",
                "summary": "the loss is NaN since step 4210",
                "evidence": [{"text": "output.log:812: step 4210 `loss` nan"}],
                "remedy": {"first_step": "Stop the run."},
            }
        ],
        "checkpoint_dirs": ["/data/out"],
        "checkpoints": {
            "latest": {
                "path": "/data/out/step_4200",
                "step": 4200.0,
                "bytes": 15 << 30,
                "saved_at": "2024-05-01T03:10:00.000+00:00",
                "state": "ok",
                "level": "structure",
            },
            "last_verified": {"path": "/data/out/step_4200", "state": "ok", "level": "structure"},
            "best": "/data/out/step_4000",
            "resume_from": "/data/out/step_4200",
            "durability": {
                "survives_stop": False,
                "survives_destroy": False,
                "where": "memory (tmpfs /data)",
                "better": "save below /workspace",
                "text": "lost with a stop: memory (tmpfs /data)",
            },
            "cadence": {"text": "saves every 30 min; rule of thumb for a job of 3 h: every 30 min"},
        },
        "notes": ["stdout is block-buffered"],
        "command": ["python", "train.py", "--name", "a b", "--hub_token", "hf_abcdefgh12345678"],
        "cwd": "/work dir",
        "logs": [{"path": "/data/output.log"}],
        **more,
    }


BOX: dict[str, Any] = {
    "gpus": [
        {
            "index": 0,
            "name": "H100",
            "util_ratio": 0.97,
            "mem_used_bytes": 70 << 30,
            "mem_total_bytes": 80 << 30,
            "power_w": 650.4,
            "temp_c": 71.0,
            "throttle": ["hw_thermal"],
            "lost": False,
        },
        {"index": 1, "name": "H100", "lost": True},
    ],
    "disks": [
        {
            "mount": "/data",
            "holds": ["checkpoints", "log"],
            "free_bytes": 30 << 30,
            "total_bytes": 1 << 40,
            "free_inodes": 1100,
            "total_inodes": 9000,
            "read_only": False,
            "saves_left": 2.0,
        },
        {
            "mount": "/",
            "holds": ["cwd"],
            "free_bytes": 5 << 30,
            "total_bytes": 9 << 30,
            "free_inodes": None,
            "total_inodes": None,
            "read_only": True,
            "saves_left": None,
        },
    ],
    "memory": {"working_set_bytes": 20 << 30, "limit_bytes": 64 << 30, "oom_kills": 0},
}
WATCH = [
    {"source": "log_tail:/data/output.log", "state": "impaired", "detail": "it was deleted"},
    {"source": "nvml", "state": "stalled", "detail": "no answer for 9 s"},
    {"source": "kernel_log", "state": "unsupported", "detail": "not in a container"},
    {"source": "disk", "state": "ok", "detail": ""},
]

GOLDEN = """\
# gpt-1a2b: failing
Updated 2024-05-01T03:12:44.000+00:00

the loss is NaN since step 4210

## Now

- step: 4216 of 5000 at 03:12 UTC (just now)
- epoch: 0.84
- train_loss: nan
- lr: 0.0003
- eval_loss: 2.5
- throughput: 4 step/s
- ETA: 03:16 UTC (in 3 min)

## Risks

- **critical** loss_nan since 03:12 UTC (just now): the loss is NaN since step 4210 \
(incident 3fa2c1)
  - proof: `` output.log:812: step 4210 `loss` nan ``
  - first step: Stop the run.
- 2.0 saves left on /data

## Checkpoints

- latest: /data/out/step_4200 (15.0 GiB, step 4200, saved 03:10 UTC (2 min ago))
- best: /data/out/step_4000
- last verified: /data/out/step_4200 (ok, structure checked)
- would resume from: /data/out/step_4200
- durability: lost with a stop: memory (tmpfs /data); save below /workspace
- cadence: saves every 30 min; rule of thumb for a job of 3 h: every 30 min

## Box

- GPU 0 H100: 97% busy, 70.0 GiB of 80.0 GiB, 650 W, 71 °C, throttled: hw_thermal
- GPU 1 H100: LOST
- disk /data (checkpoints, log): 30.0 GiB of 1.0 TiB free, 1100 of 9000 inodes free
- disk / (cwd): 5.0 GiB of 9.0 GiB free, inodes unknown, READ-ONLY
- memory: 20.0 GiB working set against the cgroup limit of 64.0 GiB; OOM kills seen: 0

## Watch

- log_tail:/data/output.log: impaired: it was deleted
- nvml: stalled (BLIND): no answer for 9 s
- kernel_log: unsupported (not on this box): not in a container
- disk: ok
- note: stdout is block-buffered

## Handover

- command: `python train.py --name 'a b' --hub_token ***`
- folder: /work dir
- log: /data/output.log
- first thing to type: `middlewatch status gpt-1a2b`
- to resume it after its end: `middlewatch resume gpt-1a2b` (--exec starts it)
"""


def test_a_rich_page() -> None:
    assert page(status(), BOX, WATCH, UPDATED) == GOLDEN


def test_a_poor_page() -> None:
    text = page(
        status(
            state="unknown",
            now={
                "step": None,
                "total": None,
                "epoch": None,
                "values": {},
                "step_interval_s": None,
                "eta": None,
                "last_step_at": None,
            },
            incidents=[],
            checkpoints={"latest": None, "last_verified": None, "best": None, "resume_from": None},
            checkpoint_dirs=[],
            notes=[],
            command=[],
            cwd="",
            logs=[],
        ),
        {"gpus": [], "disks": [], "memory": None},
        [],
        UPDATED,
    )
    assert text.startswith("# gpt-1a2b: unknown\nUpdated ")
    for line in (
        "- step: none seen yet",
        "- none open",
        "- none seen (no folder is known)",
        "- GPUs: none visible",
        "- memory: not known",
        "- command: `unknown`",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"code": 1, "signal": None}, "status 1"),
        ({"code": None, "signal": 9}, "signal 9"),
        ({"code": 0, "signal": None}, "status 0"),
        ({"code": None, "signal": None}, "status unknown"),
    ],
)
def test_how_it_ended(told: dict[str, int | None], words: str) -> None:
    text = page(status(exit=told, ended_at=UPDATED), BOX, WATCH, UPDATED)
    assert f"- ended: 03:12 UTC (just now), {words}" in text.splitlines()


def test_a_status_that_came_over_the_wire_has_words_for_nan() -> None:
    now = status()["now"] | {"step": "inf", "total": "nan", "epoch": "nan"}
    now["values"] = {"train_loss": "nan", "lr": "-inf", "n": 3}
    text = page(status(now=now), BOX, WATCH, UPDATED)
    assert "- step: inf of nan at " in text
    assert "- train_loss: nan\n- lr: -inf\n- n: 3\n" in text


EVIL = "x\n# fake: finished\r\n## Now\x0b## Risks\u2028# y\x1b[31m\x00\udcff"


def test_nothing_from_outside_can_fake_a_heading_or_paint_a_terminal() -> None:
    disk = BOX["disks"][0] | {"mount": EVIL, "saves_left": 1.0}
    box = BOX | {"disks": [disk], "gpus": [BOX["gpus"][0] | {"name": EVIL}]}
    incident = status()["incidents"][0] | {
        "summary": EVIL,
        "evidence": [{"text": EVIL}],
        "remedy": {"first_step": EVIL},
    }
    checkpoints = status()["checkpoints"]
    text = page(
        status(
            state_reason=EVIL,
            incidents=[incident],
            checkpoints=checkpoints
            | {"best": EVIL, "resume_from": EVIL, "latest": checkpoints["latest"] | {"path": EVIL}},
            now=status()["now"] | {"values": {EVIL: 1.0}},
            notes=[EVIL],
            command=[EVIL],
            cwd=EVIL,
            logs=[{"path": EVIL}],
        ),
        box,
        [{"source": EVIL, "state": "failed", "detail": EVIL}],
        UPDATED,
    )
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# gpt-1a2b: failing",
        "## Now",
        "## Risks",
        "## Checkpoints",
        "## Box",
        "## Watch",
        "## Handover",
    ]
    assert all(c.isprintable() or c == "\n" for c in text)
    text.encode("utf-8")


@given(st.text(), st.dictionaries(st.text(), st.floats() | st.text() | st.integers(), max_size=5))
def test_any_words_make_a_page(words: str, values: dict[str, Any]) -> None:
    text = page(
        status(state_reason=words, now=status()["now"] | {"values": values}), BOX, WATCH, words
    )
    assert text.splitlines()[0] == "# gpt-1a2b: failing"


def test_the_container_and_where_its_folders_are() -> None:
    container = {
        "name": "gpt",
        "image": "pytorch:2.4",
        "restart_policy": "on-failure:3",
        "mounts": [{"path": "/ckpt", "host": "/data/ckpt"}],
    }
    text = page(status(container=container), BOX, [], UPDATED)
    assert "- container: gpt, restart policy on-failure:3 (image pytorch:2.4)\n" in text
    assert "  - /ckpt is /data/ckpt of the host\n" in text
    nameless = {**container, "name": None}
    assert "container" not in page(status(container=nameless), BOX, [], UPDATED)
