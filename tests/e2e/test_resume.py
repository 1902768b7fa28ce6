"""Real trainings by real frameworks: killed with -9, then `middlewatch resume`.

What the index says is compared with what the framework itself has written, which is read here
by the framework's own means.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")

PROGRAMS = Path(__file__).with_name("programs")
QUIET = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def need(*modules: str) -> None:
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (scripts/test installs them)")


@pytest.fixture
def killed(box: Any) -> Callable[..., str]:
    """Starts a training, waits for some checkpoints that passed, and ends it by kill -9."""

    def go(*command: str, folder: Path, passed: int, name: str) -> str:
        box.extra_env |= QUIET
        run = box.run(*command, name=name, options=("--checkpoints", str(folder)))
        box.until(lambda: good(box, run, passed), f"{passed} checkpoints that passed")
        os.kill(box.status(run)["pid"], signal.SIGKILL)
        box.until(lambda: box.status(run)["state"] == "failed", "its end")
        return str(run)

    return go


def good(box: Any, run: str, passed: int) -> bool:
    status = box.status(run)
    known = box.ask("checkpoints", run=run)["checkpoints"]
    told = [(c["path"], c["verified"]) for c in known]
    assert status["ended_at"] is None, "\n".join([*status["log_tail"][-30:], *map(str, told)])
    sound = [c for c in known if c["verified"]["state"] == "ok"]
    return len(sound) >= passed


def resume(box: Any, *words: str, status: int = 0) -> dict[str, Any]:
    done = box.command("resume", *words, "--json", check=False)
    assert done.returncode == status, done.stdout + done.stderr + box.log()
    plan: dict[str, Any] = json.loads(done.stdout)
    return plan


def finished(box: Any, plan: dict[str, Any]) -> dict[str, Any]:
    """The run that goes on, once it has ended well."""
    run = plan["started"]["run"]
    box.until(lambda: box.status(run)["ended_at"], "the end of the second run")
    status: dict[str, Any] = box.status(run)
    assert status["state"] == "finished", "\n".join(status["log_tail"])
    assert status["resumed_from"] == plan["run"]
    index = index_of(box, run)
    assert index["resumed_from"] == plan["run"]
    return status


def output(box: Any, run: str) -> str:
    text: str = (box.state / "runs" / run / "output.log").read_text(errors="replace")
    return text


def index_of(box: Any, run: str) -> dict[str, Any]:
    """The index as it is now: saves may still be verified, so one reading goes with one check."""
    index: dict[str, Any] = json.loads(
        (box.state / "runs" / run / "checkpoints_index.json").read_text()
    )
    assert index["schema"] == "middlewatch/checkpoints/v1"
    return index


def entries(index: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        c for c in index["checkpoints"] if c["verified"]["state"] == "ok"
    ]
    assert index["resume_from"] == found[-1]["path"]
    return found


def verified_steps(box: Any, run: str) -> list[float]:
    return [c["step"] for c in index_of(box, run)["checkpoints"] if c["verified"]["state"] == "ok"]


def came_from(known: list[dict[str, Any]], plan: dict[str, Any]) -> dict[str, Any]:
    """The newest, which may have been saved too late to be among those ``known`` before.

    The kill may have hit a save: that one, and no other, is passed over.
    """
    point: dict[str, Any] = plan["checkpoint"]
    assert (point["state"], point["level"]) == ("ok", "finite")
    assert point["step"] >= known[-1]["step"]
    for torn in plan["skipped"]:
        # Of a save in one file nothing shows that it was not ended, but that it is cut off.
        assert torn["state"] == "incomplete" or Path(torn["path"]).is_file(), torn
    assert len(plan["skipped"]) <= 1
    return point


def newest_two(box: Any, run: str) -> list[dict[str, Any]]:
    """The last two that would be gone on from."""
    plan = resume(box, run)
    index = index_of(box, run)
    paths = [c["path"] for c in index["checkpoints"]]
    last = paths.index(plan["checkpoint"]["path"])
    two: list[dict[str, Any]] = index["checkpoints"][last - 1 : last + 1]
    return two


def flip(path: Path) -> None:
    """One bit in the middle of a file, in the data of a tensor."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


# ------------------------------------------------------------------------------ nanoGPT


def nanogpt(box: Any) -> tuple[tuple[str, ...], Path]:
    """It saves to the same file every six seconds."""
    for name in ("train.py", "configurator.py"):
        shutil.copy(PROGRAMS / "nanogpt" / name, box.root)
    options = "--out_dir=out --max_iters=180 --eval_interval=60 --pause=0.1"
    return (sys.executable, "train.py", *options.split()), box.root / "out"


@pytest.mark.long
def test_nanogpt_goes_on(box: Any, killed: Callable[..., str]) -> None:
    words, out = nanogpt(box)
    run = killed(*words, folder=out, passed=1, name="nano")
    saved = torch.load(out / "ckpt.pt", weights_only=True)
    evaluated = dict(re.findall(r"step (\d+): train loss .*?, val loss (\S+)", output(box, run)))
    # The kill may come just after a save: the index follows within seconds.
    box.until(lambda: verified_steps(box, run) == [saved["iter_num"]], "the last save")
    (entry,) = entries(index_of(box, run))
    assert entry["path"] == str(out / "ckpt.pt")
    assert entry["step"] == saved["iter_num"]
    assert entry["metrics"]["eval_loss"] == pytest.approx(
        float(evaluated[str(saved["iter_num"])]), abs=1e-3
    )
    # A kill whose sender nobody knows allows one retry.
    plan = resume(box, run)
    assert (plan["retry"]["class"], plan["retry"]["retry"]) == ("process_killed", "once")
    assert plan["command"] == [*words, "--init_from=resume"]
    assert (plan["framework"], plan["how"]) == ("nanoGPT", "option")
    assert plan["step_lost"] == plan["last_step"] - saved["iter_num"]
    assert 0 <= plan["minutes_lost"] < 2
    plan = resume(box, run, "--exec")
    finished(box, plan)
    before, after = output(box, run), output(box, plan["started"]["run"])
    # nanoGPT's way: it saves before the update of a step, and begins with that step again.
    first, loss = re.findall(r"iter (\d+): loss (\S+),", after)[0]
    assert int(first) == saved["iter_num"]
    losses = [float(x) for x in re.findall(r"iter \d+: loss (\S+),", before)]
    assert float(loss) < losses[0] - 0.5
    assert "Resuming training from out" in after
    # It has this one checkpoint. Damaged, there is none to resume from.
    flip(out / "ckpt.pt")
    plan = resume(box, run, "--force", "--exec", status=1)
    assert plan["checkpoint"] is None
    assert [s["state"] for s in plan["skipped"]] == ["corrupt"]
    assert plan["started"] is None


# ------------------------------------------------------------------------------ transformers


def trainer(box: Any, steps: int) -> tuple[tuple[str, ...], Path]:
    out = box.root / "hf"
    options = f"--output_dir {out} --max_steps {steps} --save_steps 20 --eval_strategy steps"
    options += " --eval_steps 20 --logging_steps 5 --use_cpu true --report_to none"
    options += " --learning_rate 3e-3 --save_total_limit 4"
    return (sys.executable, str(PROGRAMS / "hf_trainer.py"), *options.split()), out


@pytest.mark.long
def test_the_trainer_of_transformers_goes_on(box: Any, killed: Callable[..., str]) -> None:
    need("transformers", "accelerate")
    words, out = trainer(box, 160)
    run = killed(*words, folder=out, passed=2, name="hf")
    lowest = (math.inf, "")
    index = index_of(box, run)
    for entry in entries(index):
        state = json.loads((Path(entry["path"]) / "trainer_state.json").read_text())
        assert entry["format"] == "hf"
        assert entry["step"] == state["global_step"]
        assert entry["epoch"] == pytest.approx(state["epoch"])
        told = {k: v for row in state["log_history"] for k, v in row.items()}
        assert entry["metrics"]["eval_loss"] == pytest.approx(told["eval_loss"])
        assert entry["metrics"]["train_loss"] == pytest.approx(told["loss"], rel=1e-3)
        lowest = min(lowest, (told["eval_loss"], entry["path"]))
    assert index["best"] == lowest[1]
    plan = resume(box, run, "--exec")
    newest = came_from(entries(index), plan)
    assert plan["command"] == [*words, "--resume_from_checkpoint", newest["path"]]
    finished(box, plan)
    state = json.loads((out / "checkpoint-160" / "trainer_state.json").read_text())
    rows = [r for r in state["log_history"] if "loss" in r]
    assert state["global_step"] == 160
    after = next(r for r in rows if r["step"] > newest["step"])
    level = next(r for r in reversed(rows) if r["step"] <= newest["step"])
    assert after["step"] == newest["step"] + 5
    assert after["loss"] < level["loss"] + 0.1 < rows[0]["loss"]
    seen = box.status(plan["started"]["run"])
    assert seen["now"]["step"] == 160


def test_a_damaged_newest_is_passed_over(box: Any, killed: Callable[..., str]) -> None:
    need("transformers", "accelerate")
    words, out = trainer(box, 160)
    run = killed(*words, folder=out, passed=2, name="hf")
    before, newest = newest_two(box, run)
    flip(Path(newest["path"]) / "optimizer.pt")
    plan = resume(box, run)
    assert plan["checkpoint"]["path"] == before["path"]
    (passed_over,) = (s for s in plan["skipped"] if s["path"] == newest["path"])
    assert passed_over["state"] == "corrupt"
    assert any(f"falls back to {before['path']}" in w for w in plan["warnings"])
    assert plan["command"] == [*words, "--resume_from_checkpoint", before["path"]]


# ------------------------------------------------------------------------------ Lightning


def lightning(box: Any) -> tuple[tuple[str, ...], Path]:
    root = box.root / "pl"
    script = str(PROGRAMS / "lightning_fit.py")
    return (sys.executable, script, "--root", str(root), "--max_epochs", "10"), root


def metrics_of(file: Path) -> list[dict[str, float]]:
    with file.open(newline="") as lines:
        return [{k: float(v) for k, v in row.items() if v} for row in csv.DictReader(lines)]


def test_lightning_goes_on(box: Any, killed: Callable[..., str]) -> None:
    need("lightning")
    words, root = lightning(box)
    run = killed(*words, folder=root / "checkpoints", passed=2, name="pl")
    lowest = (math.inf, "")
    index = index_of(box, run)
    for entry in entries(index):
        saved = torch.load(entry["path"], weights_only=False)
        (saver,) = (v for k, v in saved["callbacks"].items() if k.startswith("ModelCheckpoint"))
        score = float(saver["current_score"])
        assert entry["format"] == "lightning"
        assert entry["step"] == saved["global_step"]
        assert entry["epoch"] == saved["epoch"]
        assert entry["metrics"]["eval_loss"] == pytest.approx(score, abs=1e-4)
        lowest = min(lowest, (score, entry["path"]))
    assert index["best"] == lowest[1]
    plan = resume(box, run, "--exec")
    newest = came_from(entries(index), plan)
    assert plan["framework"] == "Lightning"
    assert plan["command"] == [*words, "--ckpt_path", newest["path"]]
    finished(box, plan)
    first = metrics_of(root / "lightning_logs" / "version_0" / "metrics.csv")
    second = metrics_of(root / "lightning_logs" / "version_1" / "metrics.csv")
    steps = [r for r in second if "train_loss" in r]
    # Its logger counts from 0: the first step after N steps has the number N.
    assert steps[0]["step"] == newest["step"]
    losses = [r["train_loss"] for r in first if "train_loss" in r]
    assert steps[0]["train_loss"] < 0.7 * losses[0]
    assert list((root / "checkpoints").glob("epoch=9-step=160-*.ckpt"))


# ------------------------------------------------------------------------------ LitGPT


@pytest.mark.long
def test_litgpt_goes_on(box: Any, killed: Callable[..., str]) -> None:
    need("litgpt", "lightning", "jsonargparse", "docstring_parser", "typeshed_client")
    for name in ("counting.py", "pretrain.yaml"):
        shutil.copy(PROGRAMS / "litgpt_tiny" / name, box.root)
    # Compiling the model for its 150 steps would take longer than they do.
    box.extra_env |= {"TORCHDYNAMO_DISABLE": "1", "PYTHONPATH": _with(box.root)}
    words = (sys.executable, "-m", "litgpt", "pretrain", "--config", "pretrain.yaml")
    out = box.root / "out"
    run = killed(*words, folder=out, passed=2, name="lit")
    # Written every 100 rows, and at the end: most of it is lost by kill -9.
    logged = {
        int(r["iter"]): r["loss"]
        for r in metrics_of(out / "logs/csv/version_0/metrics.csv")
        if "iter" in r
    }
    validated = dict(re.findall(r"iter (\d+): val loss (\S+),", output(box, run)))
    index = index_of(box, run)
    for entry in entries(index):
        saved = torch.load(Path(entry["path"], "lit_model.pth"), weights_only=True)
        assert entry["step"] == saved["step_count"]
        assert entry["metrics"]["eval_loss"] == pytest.approx(float(validated[str(entry["step"])]))
        if entry["step"] in logged:
            loss = logged[entry["step"]]
            assert entry["metrics"]["train_loss"] == pytest.approx(loss, abs=1e-3)
    plan = resume(box, run, "--exec")
    newest = came_from(entries(index), plan)
    state = f"{newest['path']}/lit_model.pth"
    assert plan["command"] == [*words, "--resume", state]
    finished(box, plan)
    after = output(box, plan["started"]["run"])
    assert f"Resuming training from {state}" in after
    before = [float(x) for x in re.findall(r"loss train: (\S+),", output(box, run))]
    step, loss = re.findall(r"step (\d+) \| loss train: (\S+),", after)[0]
    assert int(step) == newest["step"] + 1
    assert float(loss) < before[0] - 0.5
    assert (out / "final" / "lit_model.pth").exists()


def _with(folder: Path) -> str:
    """The folder in front of what Python is told to look through already."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
