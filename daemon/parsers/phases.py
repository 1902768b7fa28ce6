"""Lines that tell what the program does next, and lines that claim a checkpoint was saved."""

from __future__ import annotations

import re
from functools import cache

from middlewatch.sentinels.kit.observations import PhaseName

PHASES: tuple[tuple[PhaseName, str, tuple[str, ...]], ...] = (
    (
        "done",
        (
            r"(?i:\btraining (?:is )?(?:now )?(?:completed?|finished|done|has finished|has completed)\b)|`Trainer\.fit` stopped: `max_(?:epochs|steps)=\d+` reached"
            r"|(?i:^\W*(?:finished|done|completed) training\b)|\bmax_(?:steps|iters|epochs) .{0,20}reached|\d+ epochs completed in [\d.]+ hours|(?i:\btotal training time\b|^\W*training time\b)|exiting program (?:at|after) iteration"
            r"|after training is done|'train_runtime':|\btrain_runtime\s+=|训练(?:已)?(?:完成|结束)"
        ),
        (
            "training",
            "trainer.fit",
            "reached",
            "epochs completed",
            "exiting program",
            "train_runtime",
            "训练",
        ),
    ),
    (
        "evaluate",
        r"(?i:^\W*(?:\S+ )?(?:running|starting|start|begin(?:ning)?) (?:evaluation|validation|eval)\b)|\*\*\*\*\* Running (?:Evaluation|Prediction|evaluation)|(?i:^\W*(?:evaluating|validating)\b)|Sanity Checking|begin validation on",
        (
            "evaluation",
            "validation",
            "evaluating",
            "validating",
            "sanity checking",
            "prediction",
            " eval",
        ),
    ),
    (
        "compile",
        r"(?i:\bcompiling (?:the )?(?:model|function|kernel|graph|module|with)\b)|torch\.compile|Building extension module|ninja: |Emitting ninja build file|(?i:\bAUTOTUNE \w+\()|Using .{1,200}torch_extensions.{0,80} as PyTorch extensions root",
        ("compiling", "torch.compile", "extension", "ninja", "autotune"),
    ),
    (
        "load",
        r"(?i:^\W*(?:\S+ ){0,3}(?:loading|resuming(?: training)?|restoring|restored|resumed)\b.{0,40}\b(?:checkpoint|weights|model|state|from step|dataset|data))|Loading checkpoint shards",
        ("loading", "resum", "restor"),
    ),
    (
        "start",
        r"\*\*\*\*\* Running training|(?i:^\W*(?:\S+ ){0,3}(?:start(?:ing)?|begin(?:ning)?|launch(?:ing)?) (?:the )?(?:training|pretraining|pre-training|fine-?tuning)\b)|before the start of training step|开始训练",
        ("training", "pretraining", "fine", "pre-training", "开始训练"),
    ),
)
"""(phase, pattern, atoms as in a signature), the first that matches counts."""

_PATH = r"[\"'`<]?(?P<path>(?:\w+://)?(?:[\w.~$-]*[/\\])[^\s\"'`,;>]*|[\w.-]+\.(?:pth?|ckpt|safetensors|bin|tar|npz|msgpack|h5|keras|t7))"
SAVED: tuple[str, ...] = (
    r"successfully saved checkpoint (?:at|from) iteration\s+(?P<step>\d+)(?:.{0,30}? to (?P<path>\S+))?",
    rf"(?i:\bsav(?:ed|ing) (?:a |the |model )?(?:checkpoint|snapshot)\b)(?!.{{0,40}}\b(?:every|interval)).{{0,30}}?(?i:(?:at|for|after|@) (?:step|iteration|iter|epoch) (?P<step>\d+))(?:.{{0,60}}?{_PATH})?",
    (
        rf"(?i:\bsav(?:ed|ing)\b)(?!.{{0,40}}\b(?:every|interval|frequency|steps =|config\b|tokenizer|vocab|image|figure|plot|log))"
        rf".{{0,80}}?(?i:\b(?:checkpoint|model|state|weights|snapshot|policy)s?\b).{{0,80}}?(?:\bto\b|\bin\b|\bat\b|\bas\b|:|=>|->|→)\s*:?\s*{_PATH}"
    ),
    rf"(?i:\b(?:checkpoint|model|weights|snapshot)s? (?:successfully )?(?:was |were |is |has been )?(?:saved|written)\b).{{0,40}}?(?:\bto\b|\bin\b|\bat\b|\bas\b|:)\s*:?\s*{_PATH}",
    rf"(?i:^\W*(?:\S+ )?writ(?:ing|ten|e) (?:model )?checkpoint) (?:to )?{_PATH}",
    r"(?i:^\W*(?:\S+ )?sav(?:ed|ing) )(?:[\w ]{0,20} )?(?:to )?[\"'`]?(?P<path>[^\s\"'`,;]*\.(?:pth?|ckpt|safetensors|t7))",
)
SAVED_ATOMS = ("saving", "saved", "writing", "written", "write")
_STEP_IN_PATH = re.compile(
    r"(?:^|[/\\_.-])(?:step|iter|iteration|checkpoint|ckpt|global_step|G|D|model)[=_-]?0*(\d+)"
)


@cache
def _phase_pattern(index: int) -> re.Pattern[str]:
    return re.compile(PHASES[index][1])


@cache
def _saved_pattern(index: int) -> re.Pattern[str]:
    return re.compile(SAVED[index])


def phase_candidates(text: str) -> tuple[int, ...]:
    """Indices of the phases that lines of this text's shape may announce."""
    low = text.lower()
    return tuple(i for i, (_, _, atoms) in enumerate(PHASES) if any(a in low for a in atoms))


def phase_of(text: str, rows: tuple[int, ...]) -> PhaseName | None:
    """The phase that a line announces."""
    for index in rows:
        if _phase_pattern(index).search(text):
            return PHASES[index][0]
    return None


def may_be_saved(text: str) -> bool:
    """Lines of this text's shape may claim a saved checkpoint."""
    low = text.lower()
    return any(a in low for a in SAVED_ATOMS)


def saved(text: str) -> tuple[float | None, str | None] | None:
    """(step, path) of a line that claims that a checkpoint was saved."""
    for index in range(len(SAVED)):
        match = _saved_pattern(index).search(text)
        if match is None:
            continue
        groups = match.groupdict()
        path = (groups.get("path") or "").rstrip(".,:)") or None
        step = groups.get("step")
        if step is None and path is not None:
            numbers = _STEP_IN_PATH.findall(path)
            step = numbers[-1] if numbers else None
        return (None if step is None else float(step)), path
    return None
