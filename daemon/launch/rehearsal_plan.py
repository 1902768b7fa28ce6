"""What ``smoke`` runs in place of a training command: its framework, its switches, its environment.

The launcher is left out (one process on the CPU needs none), and the words that make the run short
are added where the framework reads them from its command line. All else is done inside the program
by :mod:`.rehearsal_hook`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STEPS = 2
_LAUNCHERS = ("torchrun", "accelerate", "accelerate-launch", "deepspeed", "horovodrun")
_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
_LARGEST_SCRIPT = 1 << 20
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_NANOGPT_SWITCHES = {
    "max_iters": str(STEPS),
    "eval_iters": "1",
    "eval_interval": str(STEPS),
    "log_interval": "1",
    "gradient_accumulation_steps": "1",
    "wandb_log": "False",
    "device": "cpu",
    "compile": "False",
    "dtype": "float32",
    "init_from": "scratch",
}
"""Settings of nanoGPT for a short run. It refuses a setting that the script does not have."""
_LITGPT_SWITCHES = {
    "--train.micro_batch_size": "1",
    "--train.global_batch_size": "1",
    "--train.log_interval": "1",
    "--eval.max_iters": "1",
    "--eval.initial_validation": "false",
    "--logger_name": "csv",
    "--devices": "1",
}

HIDDEN = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "ROCR_VISIBLE_DEVICES": "",
    "ZE_AFFINITY_MASK": "",
    "JAX_PLATFORMS": "cpu",
    "ACCELERATE_USE_CPU": "true",
    "ACCELERATE_MIXED_PRECISION": "no",
    "DS_ACCELERATOR": "cpu",
    "TORCHDYNAMO_DISABLE": "1",  # compiling takes longer than the two steps
    "TORCH_COMPILE_DISABLE": "1",
}
"""No GPU is seen, and nothing is compiled."""
TRACKERS_OFF = {
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
    "COMET_MODE": "disabled",
    "COMET_AUTO_LOG_DISABLE": "1",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "TRACKIO_MODE": "disabled",
    "SWANLAB_MODE": "disabled",
    "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",
    "DVCLIVE_TEST": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
"""Nothing is sent to a tracker: each by the variable that its documentation names."""
ONE_PROCESS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A rehearsal: what is typed in place of the command, and what was changed."""

    command: tuple[str, ...]
    framework: str
    """``transformers``, ``accelerate``, ``lightning``, ``nanogpt``, ``litgpt`` or ``plain``."""
    changes: tuple[str, ...]
    """What is different from the real command, one sentence each."""
    distributed: bool = False
    """A launcher was left out: the program expects the variables of a rank."""


def plan(
    command: Sequence[str], cwd: Path, out: Path, framework: str = "", extra: Sequence[str] = ()
) -> Plan:
    """The rehearsal of a command. ``out``: a folder for what it writes.

    ``framework``: whose switches are used (default: told by the script). ``extra``: words of a
    person, which are added last.
    """
    words, left_out = _without_launcher(list(command))
    script = _script(words, cwd)
    text = _text(script)
    kind = framework or _framework(words, text)
    added = [*_switches(kind, words, text, out), *extra]
    changes = []
    if left_out:
        changes.append(f"without its launcher ({left_out}): one process")
    if added:
        changes.append(f"with {' '.join(added)}")
    return Plan((*words, *added), kind, tuple(changes), bool(left_out))


def environment(
    base: Mapping[str, str], hook: Path, out: Path, report: Path, port: int, planned: Plan
) -> dict[str, str]:
    """The environment of the rehearsal: no GPU, no trackers, our hook first on the path."""
    path = os.pathsep.join(filter(None, (str(hook), base.get("PYTHONPATH"))))
    made = {
        **base,
        **HIDDEN,
        **TRACKERS_OFF,
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "1",
        "TMPDIR": str(out),
        "WANDB_DIR": str(out),
        "MLFLOW_TRACKING_URI": (out / "mlruns").as_uri(),
        "MIDDLEWATCH_SMOKE_REPORT": str(report),
        "MIDDLEWATCH_SMOKE_OUT": str(out),
        "MIDDLEWATCH_SMOKE_STEPS": str(STEPS),
    }
    if planned.distributed:
        made |= {**ONE_PROCESS, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return made


def _without_launcher(words: list[str]) -> tuple[list[str], str]:
    """The command that a launcher would start in each of its processes, and the launcher's name."""
    name = Path(words[0]).name
    rest, launcher = words[1:], ""
    python = words[0] if _PYTHON.fullmatch(name) else ""
    if name in _LAUNCHERS:
        launcher = name
    elif python and rest[:1] == ["-m"] and rest[1:2] and rest[1] in _MODULES:
        launcher, rest = rest[1], rest[2:]
    if not launcher:
        return words, ""
    if rest[:1] == ["launch"]:
        rest = rest[1:]
    python = python or _beside(words[0])
    for place, word in enumerate(rest):
        if word in ("-m", "--module") and place + 1 < len(rest):
            return [python, "-m", *rest[place + 1 :]], launcher
        if word.endswith(".py") and not word.startswith("-"):
            return [python, *rest[place:]], launcher
    return words, ""  # what it starts cannot be told: run it as it is


def _beside(launcher: str) -> str:
    """The Python of a launcher's environment: the one that lies beside it."""
    found = shutil.which(launcher)
    near = [str(Path(found).with_name(name)) for name in ("python", "python3")] if found else []
    here = (path for path in (*near, shutil.which("python3"), sys.executable) if path)
    return next((path for path in here if os.access(path, os.X_OK)), "python3")


def _script(words: Sequence[str], cwd: Path) -> Path | None:
    """The Python file that a command runs; ``None`` for none."""
    for word in words[:8]:
        if word.endswith(".py"):
            return cwd / word
    return None


def _text(script: Path | None) -> str:
    if script is None:
        return ""
    try:
        with script.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_SCRIPT)
    except OSError:
        return ""


def _framework(words: Sequence[str], text: str) -> str:
    """Whose switches a command takes, by the program's name or by what its script imports."""
    names = [Path(word).name for word in words[:4]]
    if "litgpt" in names:
        return "litgpt"
    if "configurator.py" in text and re.search(r"^max_iters\b", text, re.MULTILINE):
        return "nanogpt"
    if re.search(r"^\s*(?:import|from)\s+(?:pytorch_)?lightning\b", text, re.MULTILINE):
        return "lightning"
    if re.search(r"\b(?:HfArgumentParser|TrainingArguments|SFTConfig|SFTTrainer)\b", text):
        return "transformers"
    if re.search(r"^\s*(?:import|from)\s+accelerate\b", text, re.MULTILINE):
        return "accelerate"
    return "plain"


def _switches(kind: str, words: Sequence[str], text: str, out: Path) -> Iterator[str]:
    """The words that make the run short where the framework reads its command line."""
    if kind == "nanogpt":
        known = {**_NANOGPT_SWITCHES, "out_dir": str(out / "out_dir")}
        for name, value in known.items():
            if re.search(rf"^{name}\s*=", text, re.MULTILINE):
                yield f"--{name}={value}"
    elif kind == "litgpt":
        yield from (f"{name}={value}" for name, value in _LITGPT_SWITCHES.items())
        yield f"--out_dir={out / 'out_dir'}"
        if any(word.startswith("finetune") for word in words):
            yield f"--train.max_steps={STEPS}"
    elif (
        kind == "transformers"
        and "HfArgumentParser" in text
        and not any(word.startswith("--output_dir") for word in words)
    ):  # it insists on a folder; the hook then replaces whatever is said
        yield f"--output_dir={out / 'output_dir'}"
