"""The command that resumes a run from a checkpoint, by its framework and the options of its script.

No option is guessed. One is used when the script declares it (:mod:`.script`), or when it belongs
to a program that defines its options itself (LitGPT, Megatron-LM, LightningCLI).
Sources: the programs themselves: nanoGPT ``train.py`` and ``configurator.py``; transformers
``Trainer.train`` and ``get_last_checkpoint``; ``lightning.pytorch.cli``; LitGPT
``find_resume_path``; Megatron-LM ``arguments.py``; DeepSpeed ``load_checkpoint``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..system import places
from .script import Option, Script, find

How = Literal["option", "itself", "perhaps", "unknown"]
"""How the script finds its checkpoint. ``option``: it is given one. ``itself``: it looks for its
newest. ``perhaps``: its text looks as if it did. ``unknown``: its text does not show it."""

NAMES = (
    "resume_from_checkpoint",
    "resume_from",
    "resume_path",
    "resume_ckpt",
    "resume_checkpoint",
    "resume_step_path",
    "resume",
    "load_checkpoint",
    "load_ckpt",
    "restore_from",
    "restore",
    "load_dir",
    "load",
    "auto_resume",
)
"""Options that mean "resume from this" in any framework, the clearest first. Names like
``checkpoint`` are not among them: just as often they name a model to start a new training from."""

_LOADS = re.compile(
    r"\b(?:torch\.load|load_state|load_checkpoint|load_file|restore_checkpoint|fabric\.load)\s*\("
)
_LOOKS = re.compile(r"\.exists\(|\.is_file\(|\bisfile\(|\.glob\(|\bglob\(|listdir\(|latest")
_HF_ITSELF = re.compile(r"resume_from_checkpoint\s*=\s*True|\bget_last_checkpoint\(")
_LIGHTNING_ITSELF = re.compile(r"ckpt_path\s*=\s*[\"'](?:last|hpc|registry)")
_CKPT_PATH_USED = re.compile(r"\bckpt_path\b")
_OUT_DIR = re.compile(r"^out_dir\s*=\s*[\"']([^\"'\n]+)[\"']", re.MULTILINE)
_FRAMEWORKS: Mapping[str, re.Pattern[str]] = {
    "LitGPT": re.compile(r"^\s*(?:from|import)\s+litgpt\b", re.MULTILINE),
    "Megatron": re.compile(r"^\s*(?:from|import)\s+megatron\b", re.MULTILINE),
    "nanoGPT": re.compile(r"\binit_from\b(?=.*ckpt\.pt)", re.DOTALL),
    "transformers": re.compile(r"\b(?:TrainingArguments|Seq2SeqTrainer|SFTTrainer|SFTConfig)\b"),
    "Lightning": re.compile(
        r"^\s*(?:from|import)\s+(?:lightning\.pytorch|pytorch_lightning)\b"
        r"|\bLightningCLI\b|\bLightningModule\b",
        re.MULTILINE,
    ),
    "DeepSpeed": re.compile(r"^\s*(?:from|import)\s+deepspeed\b", re.MULTILINE),
}
FORMATS: Mapping[str, tuple[str, ...]] = {
    "transformers": ("hf",),
    "Lightning": ("lightning",),
    "DeepSpeed": ("deepspeed",),
}
"""Checkpoint formats that a framework can resume from; one that is not here takes any."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A command that resumes a run, and how sure that is."""

    framework: str
    how: How
    command: tuple[str, ...]
    words: str
    """For a person: what the script does with the checkpoint, or what has to be added by hand."""
    newest: bool = False
    """The script loads the newest checkpoint in its folder, even if that is damaged."""
    before: tuple[tuple[str, ...], ...] = field(default=())
    """Commands to give first; without them another checkpoint would be loaded."""


def framework_of(script: Script) -> str:
    """The framework, by the command line and the script's text; "" where it is not known."""
    if script.program == "litgpt" or "litgpt" in script.own[:1]:
        return "LitGPT"
    if "--tensor-model-parallel-size" in script.words:
        return "Megatron"
    return next((name for name, sign in _FRAMEWORKS.items() if sign.search(script.text)), "")


def fitting(framework: str, entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The checkpoints of an index that this framework can resume from; all where none fits.

    A transformers Trainer, for instance, also saves its final model beside its checkpoints: weights
    without the state of the optimizer.
    """
    wanted = FORMATS.get(framework)
    if wanted:
        return [e for e in entries if e["format"] in wanted] or list(entries)
    if framework == "LitGPT":
        states = [e for e in entries if re.search(r"(?:^|/)step-\d+(?:/|$)", e["path"])]
        return states or list(entries)
    if framework == "nanoGPT":
        return [e for e in entries if e["path"].endswith("/ckpt.pt")] or list(entries)
    return list(entries)


def continuation(
    command: Sequence[str], cwd: str, checkpoint: str, *, format_: str = "unknown"
) -> Continuation:
    """How ``command`` is resumed from ``checkpoint``, an absolute path.

    Raises nothing: a script that cannot be read leaves ``how`` at ``unknown``.
    """
    script = find(command, cwd)
    framework = framework_of(script)
    made = _RULES.get(framework, _any)(script, cwd, checkpoint, format_)
    return made or _by_itself(script, framework, checkpoint)


Made = Continuation | None
_Rule = Callable[[Script, str, str, str], "Continuation | None"]


def _by_option(
    script: Script, framework: str, option: Option, value: str, more: str = ""
) -> Continuation:
    if option.takes == "flag":
        words = f"with {option.before} the script loads its newest checkpoint by itself"
        return Continuation(framework, "option", script.given(option, ""), words, newest=True)
    command = script.given(option, value)
    words = more or "the script loads the checkpoint that it is given"
    return Continuation(framework, "option", command, words)


def _by_itself(script: Script, framework: str, checkpoint: str) -> Continuation:
    """Without an option: the same command, with a sentence on what it will do."""
    if script.says_itself:
        words = "the script says that it loads its newest checkpoint by itself"
        return Continuation(framework, "itself", script.words, words, newest=True)
    if _LOADS.search(script.text) and _LOOKS.search(script.text):
        words = (
            "the script has no option to resume with; its text looks for a saved state and loads "
            "it, so the same command may resume by itself. Check the first lines of its log"
        )
        return Continuation(framework, "perhaps", script.words, words, newest=True)
    reason = "the script has no option to resume with"
    if script.gone:
        reason = f"{script.gone} does not exist"
    elif script.at is None:
        reason = "no script can be found in the command, so its options are not known"
    elif not script.passes_on:
        reason = f"{script.program} passes no options on to what it starts"
    elif not script.text:
        reason = f"the text of {script.program} cannot be read, so its options are not known"
    words = (
        f"{reason}. The checkpoint is {checkpoint}: add the script's own way to load it, "
        "or the command starts from step 0"
    )
    return Continuation(framework, "unknown", script.words, words)


def _any(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    option = script.option(*NAMES)
    if option is None:
        return None
    old = script.value(option.name)
    if option.takes == "value" and old is not None and old.lower() in ("auto", "latest", "true"):
        words = f"{option.name} is {old}: the script loads its newest checkpoint by itself"
        return Continuation("", "itself", script.words, words, newest=True)
    return _by_option(script, "", option, checkpoint)


def _nanogpt(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    option = script.option("init_from")
    if option is None:
        return None
    folder = script.value("out_dir")
    if folder is None:
        setting = _OUT_DIR.search(script.text)
        folder = setting[1] if setting else None
    words = "with init_from=resume it loads ckpt.pt of its out_dir"
    before: tuple[tuple[str, ...], ...] = ()
    if folder is not None:
        loaded = os.path.normpath(os.path.join(cwd, folder, "ckpt.pt"))  # noqa: PTH118
        if loaded != os.path.normpath(checkpoint):
            before = (("cp", "-a", checkpoint, loaded),)
    command = script.given(option, "resume")
    return Continuation("nanoGPT", "option", command, words, before=before)


def _transformers(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    itself = _HF_ITSELF.search(script.text)
    option = script.option("resume_from_checkpoint", "resume_from", "resume")
    if option is None and "HfArgumentParser" in script.text:
        # TrainingArguments has it, but it counts only if the script gives it to Trainer.train().
        used = re.search(r"args\.resume_from_checkpoint\b", script.text)
        option = Option("resume_from_checkpoint", "--resume_from_checkpoint") if used else None
    if option is not None and script.passes_on:
        return _by_option(script, "transformers", option, checkpoint)
    if itself is None:
        return None
    words = "the script loads the newest checkpoint of its output folder by itself"
    return Continuation("transformers", "itself", script.words, words, newest=True)


def _lightning(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    if "LightningCLI" in script.text and script.own[:1] == ("fit",):
        return _by_option(script, "Lightning", Option("ckpt_path", "--ckpt_path"), checkpoint)
    if _LIGHTNING_ITSELF.search(script.text):
        words = "the script loads the last checkpoint by itself (ckpt_path)"
        return Continuation("Lightning", "itself", script.words, words, newest=True)
    option = script.option("ckpt_path", *NAMES)
    if option is None:
        return None
    used = _CKPT_PATH_USED.search(script.text) or option.name != "ckpt_path"
    return _by_option(script, "Lightning", option, checkpoint) if used else None


def _litgpt(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    known = script.own[:1] in (("pretrain",), ("finetune_full",))
    option = Option("resume", "--resume") if known else script.option("resume")
    if option is None:
        return None
    state = Path(checkpoint, "lit_model.pth")
    return _by_option(script, "LitGPT", option, str(state) if state.exists() else checkpoint)


def _megatron(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    if not script.passes_on or script.at is None:
        return None
    folder, _, name = checkpoint.rstrip("/").rpartition("/")
    made = _by_option(
        script, "Megatron", Option("load", "--load"), folder,
        "it loads the iteration that latest_checkpointed_iteration.txt names",
    )  # fmt: skip
    number = re.search(r"\d+$", name)
    tracker = Path(folder, "latest_checkpointed_iteration.txt")
    if number is None or _first_word(tracker) == str(int(number[0])):
        return made
    first = ("sh", "-c", 'echo "$1" > "$2"', "sh", str(int(number[0])), str(tracker))
    return Continuation(made.framework, made.how, made.command, made.words, before=(first,))


def _deepspeed(script: Script, cwd: str, checkpoint: str, format_: str) -> Made:
    if format_ != "deepspeed":
        return _any(script, cwd, checkpoint, format_)
    option = script.option("load_dir", *NAMES)
    if option is None:
        return None
    folder, _, tag = checkpoint.rstrip("/").rpartition("/")
    words = f"it has to load the tag {tag} of {folder}; `latest` there names the tag it loads"
    made = _by_option(script, "DeepSpeed", option, folder, words)
    by_tag = script.option("load_tag", "ckpt_id", "tag")
    if by_tag is not None and by_tag.takes == "value":
        command = Script(made.command, script.at, script.text).given(by_tag, tag)
        return Continuation("DeepSpeed", "option", command, made.words)
    if _first_word(Path(folder, "latest")) == tag:
        return made
    first = ("sh", "-c", 'printf %s "$1" > "$2"', "sh", tag, f"{folder}/latest")
    return Continuation("DeepSpeed", "option", made.command, made.words, before=(first,))


def _first_word(path: Path) -> str:
    try:
        with open(places.open_file(str(path)), encoding="utf-8", errors="replace") as file:
            return file.read(200).strip()
    except OSError:
        return ""


_RULES: Mapping[str, _Rule] = {
    "nanoGPT": _nanogpt,
    "transformers": _transformers,
    "Lightning": _lightning,
    "LitGPT": _litgpt,
    "Megatron": _megatron,
    "DeepSpeed": _deepspeed,
}
