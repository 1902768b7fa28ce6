"""Checkpoints are found wherever a run saves them, for as long as it lives."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

SAVER = """
import json, os, signal, struct, sys, time

def save(path, whole=True):
    entry = {"dtype": "F32", "shape": [20000], "data_offsets": [0, 80000]}
    head = json.dumps({"layer.weight": entry, "layer.bias": {**entry, "data_offsets": [80000, 160000]}})
    data = struct.pack("<Q", len(head)) + head.encode() + b"\\1\\2\\3\\4" * 40000
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    file = open(path, "wb")
    file.write(data if whole else data[:1000])
    file.flush()
    return file.close() if whole else file

def steps(first, last):
    for step in range(first, last):
        print(f"step {step} loss {3 / step:.4f}", flush=True)
        time.sleep(0.1)

def wait_for(name):
    step = 0
    while not os.path.exists(name):
        step += 1
        steps(step, step + 1)
"""


def start(box: Any, code: str, *args: str, name: str = "train.py", cwd: Path | None = None) -> Any:
    folder = cwd or box.root / "work"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(SAVER + code)
    log = (folder / f"{name}.log").open("wb")
    with log:
        return box.spawn(sys.executable, "-u", name, *args, cwd=folder, stdout=log, stderr=log)


def watch(box: Any, process: Any, name: str) -> str:
    done = box.command("watch", "--pid", str(process.pid), "--name", name, "--json")
    return str(json.loads(done.stdout)[0]["run"])


def paths(box: Any, run: str, below: Path) -> list[str]:
    index = box.ask("checkpoints", run=run)
    return sorted(str(Path(c["path"]).relative_to(below)) for c in index["checkpoints"])


def test_a_folder_made_later_and_one_that_the_log_names(box: Any) -> None:
    far = box.root / "far/away"
    process = start(
        box,
        f"""
wait_for("watched")
save("outputs/day/hour/checkpoints/last.safetensors")
steps(20, 40)
save("{far}/20.blob")
print("Saved model to {far}/20.blob")
steps(40, 100000)
""",
    )
    run = watch(box, process, "gpt")
    assert box.status(run)["checkpoint_dirs"] == []
    (box.root / "work" / "watched").touch()
    box.until(
        lambda: (
            paths(box, run, box.root)
            == ["far/away/20.blob", "work/outputs/day/hour/checkpoints/last.safetensors"]
        ),
        "both saves",
    )
    box.until(
        lambda: (
            {c["verified"]["state"] for c in box.ask("checkpoints", run=run)["checkpoints"]}
            == {"ok"}
        ),
        "their verdicts",
    )
    folders = {f["path"]: f["why"] for f in box.status(run)["checkpoint_folders"]}
    assert folders[str(far)] == f"the log says 'Saved model to {far}/20.blob'"
    page = box.until(lambda: text if str(far) in (text := _page(box, run)) else "", "the page")
    assert f"- folder: {far}: known because the log says" in page
    box.until(
        lambda: any("checkpoints" in d["holds"] for d in box.status(run)["box"]["disks"]),
        "the disk of the saves",
    )
    # It is kept: a daemon that starts anew follows the same folders.
    box.command("stop")
    box.command("start")
    assert len(box.until(lambda: paths(box, run, box.root))) == 2


def test_two_runs_that_save_to_one_folder(box: Any) -> None:
    code = """
steps(1, 30)
save(f"ckpt/{sys.argv[1]}_1.safetensors"); save(f"{sys.argv[1]}.safetensors")
steps(30, 100000)
"""
    one, two = start(box, code, "lion"), start(box, code, "bear")
    names = {name: watch(box, p, name) for name, p in (("lion", one), ("bear", two))}
    work = box.root / "work"
    for name, run in names.items():
        wanted = sorted([f"ckpt/{name}_1.safetensors", f"{name}.safetensors"])
        box.until(lambda r=run, w=wanted: paths(box, r, work) == w, f"the saves of {name}")


def test_a_save_that_is_not_judged_yet_is_named_and_corrected(box: Any) -> None:
    process = start(
        box,
        """
steps(1, 40)
save("ckpt/step_30.safetensors")
while not os.path.exists("second"):
    steps(40, 41)
held = save("ckpt/step_50.safetensors", whole=False)
while not os.path.exists("end"):
    steps(60, 61)
raise KeyError("it ends here")
""",
    )
    run, work = watch(box, process, "gpt"), box.root / "work"
    first = f"{work}/ckpt/step_30.safetensors"
    box.until(lambda: box.ask("checkpoints", run=run)["resume_from"] == first, "the first save")
    (work / "second").touch()
    box.until(lambda: len(paths(box, run, work)) == 2, "the second save")
    (work / "end").touch()
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    good = f"Last good checkpoint: {first} (step 30)"
    assert good in push.body
    assert f"a newer one is being checked: {work}/ckpt/step_50.safetensors (step 50)" in push.body
    later = box.push(lambda p: p.title.startswith("[CORRECTED] gpt on"), "a correction")
    assert "step_50.safetensors is corrupt" in later.title
    assert f"Newest good checkpoint: {first}" in later.body
    index = box.ask("checkpoints", run=run)
    assert [c["verified"]["state"] for c in index["checkpoints"]] == ["ok", "corrupt"]
    assert index["resume_from"] == first


def test_the_last_save_of_a_killed_run_is_found_and_judged(box: Any) -> None:
    process = start(box, 'steps(1, 20); save("a/best.safetensors"); print("x"); time.sleep(600)')
    run = watch(box, process, "gpt")
    box.steps(15, run)
    box.until(lambda: (box.root / "work/a/best.safetensors").exists())
    process.send_signal(signal.SIGKILL)
    process.wait()
    box.until(lambda: box.ask("checkpoints", run=run)["resume_from"], "its last save")


def _page(box: Any, run: str) -> str:
    return str((box.state / "runs" / run / "training_status.md").read_text())
