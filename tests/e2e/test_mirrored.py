"""The daemon copies what it has verified, and says so in the index, the page and the alarms."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

SAVER = """
import json, struct, sys, time
from pathlib import Path
out, steps = Path(sys.argv[1]), int(sys.argv[2])
out.mkdir(exist_ok=True)
header = json.dumps({"w": {"dtype": "F32", "shape": [65536], "data_offsets": [0, 262144]}}).encode()
for step in range(1, 100000):
    print(f"step {step}/100000 loss {1 / step + 1:.4f}", flush=True)
    if step % 20 == 0 and step <= 20 * steps:
        data = struct.pack("<f", 1 / step) * 65536
        partial = out / f"step-{step:06}.safetensors.tmp"
        partial.write_bytes(struct.pack("<Q", len(header)) + header + data)
        partial.rename(out / f"step-{step:06}.safetensors")
    time.sleep(0.05)
"""


def index_of(box: Any, run: str) -> dict[str, Any]:
    path = box.state / "runs" / run / "checkpoints_index.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def mirrored(box: Any, run: str) -> dict[str, Any]:
    """Name -> what the index says of its copy."""
    entries = index_of(box, run)["checkpoints"]
    return {Path(e["path"]).name: e["mirrored"] for e in entries if e["mirrored"]}


@pytest.mark.slow
def test_verified_saves_are_copied_and_a_place_that_fails_is_told(box: Any) -> None:
    far = box.root / "far"
    far.write_text("no folder yet")
    box.configure(f'[mirror]\nto = "{far}"\n\n[sentinels.blind]\nfor_s = 1\n')
    run = box.run(
        *(sys.executable, "-c", SAVER, str(box.root / "out"), "2"),
        name="gpt",
        options=("--checkpoints", str(box.root / "out")),
    )
    incident = box.incident("blind")
    assert f"mirror:{far}" in incident["summary"]
    assert {"state": "failed", "to": str(far)}.items() <= next(
        iter(mirrored(box, run).values())
    ).items()
    far.unlink()
    daemon = box.ask("ping")["pid"]
    os.kill(daemon, signal.SIGKILL)  # and with it the copier
    box.command("start")
    names = ["step-000020.safetensors", "step-000040.safetensors"]
    told = box.until(
        lambda: (
            (t := mirrored(box, run)).keys() == set(names)
            and all(m["state"] == "ok" for m in t.values())
            and t
        ),
        "both saves are copied",
    )
    for name in names:
        copy = far / "gpt" / name
        assert copy.read_bytes() == (box.root / "out" / name).read_bytes()
        receipt = json.loads((far / "gpt" / f"{name}.middlewatch-mirror.json").read_text())
        assert receipt["digest"] == told[name]["digest"]
    entries = {Path(e["path"]).name: e for e in index_of(box, run)["checkpoints"]}
    assert entries[names[0]]["digest"] == told[names[0]]["digest"]
    sources = {s["source"]: s["state"] for s in box.status(run)["watch"]}
    assert sources[f"mirror:{far}"] == "ok"
    pruned = json.loads(
        box.command("prune", run, "--keep-latest", "1", "--apply", "--yes", "--json").stdout
    )
    assert pruned["index_from"] == "daemon"
    assert [(c["step"], c["deleted"]) for c in pruned["checkpoints"]] == [(20, True), (40, False)]
    box.until(lambda: len(index_of(box, run)["checkpoints"]) == 1, "the index forgets it")
    assert (far / "gpt" / names[0]).exists()


WRITER = """
import sys, time
from pathlib import Path
logs = Path("logs/deep")
logs.mkdir(parents=True)
for step in range(1, 1000):
    print(f"step {step}/1000 loss {1 / step + 1:.4f}", flush=True)
    with open("logs/metrics.jsonl", "a") as file:
        file.write('{"step": %d}\\n' % step)
    (logs / f"sample-{step % 7}.txt").write_text(str(step))
    if Path("enough").exists():
        Path("logs/last.txt").write_text("the last words")
        break
    time.sleep(0.1)
"""


@pytest.mark.slow
def test_results_beside_the_checkpoints_are_copied_too(box: Any) -> None:
    far = box.root / "far"
    box.configure(f'[mirror]\nto = "{far}"\nalso = ["logs/", "wandb/"]\n')
    run = box.run(sys.executable, "-c", WRITER, name="gpt")
    logs = Path(box.status(run)["cwd"]) / "logs"
    told = box.until(
        lambda: (rows := box.status(run)["mirrored_folders"]) and rows[0]["files"] and rows,
        "the first look is over",
    )
    assert [(row["path"], row["to"]) for row in told] == [
        (str(logs), str(far)),
        (str(logs.parent / "wandb"), str(far)),
    ]
    assert [row["state"] for row in told][1] == "missing"
    assert told[0]["watching"] in ("events", "polling", "looking")
    sources = {s["source"]: s["state"] for s in box.status(run)["watch"]}
    assert sources[f"mirror:{far} logs/ wandb/"] == "ok"
    (logs.parent / "enough").touch()
    copy = far / "gpt" / "logs"
    box.until(
        lambda: (
            (copy / "last.txt").exists()
            and (copy / "metrics.jsonl").read_bytes() == (logs / "metrics.jsonl").read_bytes()
        ),
        "all of it is there after the end",
    )
    assert sorted(p.name for p in (copy / "deep").iterdir()) == sorted(
        p.name for p in (logs / "deep").iterdir()
    )
