"""Lines that announce the next phase, and lines that claim that a checkpoint was saved."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from middlewatch.sentinels.kit.observations import PhaseName


class Announcement(NamedTuple):
    """A pattern of lines that announce a phase."""

    phase: PhaseName
    pattern: str
    narrow: tuple[str, ...] = ()
    """As in a :class:`.Signature`."""


_TRIAL_NAME = r"#?[a-z]{0,8}[_-]?\d\w{0,12}"
PHASES: tuple[Announcement, ...] = (
    Announcement(
        "trial",
        rf"(?i:\btrial\W{{1,3}}{_TRIAL_NAME}(?=\W)[^:]{{0,60}}?\b(?:finished|pruned|failed|stopped|killed|ended|completed?|started|diverged|terminated)\b"
        rf"|\b(?:start(?:ed|ing)?|running|launch(?:ed|ing)?|begin(?:ning)?) trial\W{{1,3}}{_TRIAL_NAME})"
        rf"|(?i:^\W*(?:\S+ ){{0,3}}trial\W{{1,3}}{_TRIAL_NAME}\W{{1,3}}(?:\w+=|with\b|params?\b))"
        r"|^\W*(?:试验|试次|試行|トライアル) ?#?\d+\W{1,3}(?:参数|超参|已剪枝|被剪枝|剪枝|完成|开始|失败|枝刈り|開始|完了|\w+=)"
        r"|\bA new study created\b"
        r"|\bBest is trial \d",
    ),
    Announcement(
        "stage",
        r"(?i:^(?!.*\bloss)\W*(?:\S+ ){0,4}?(?:stage|phase|curriculum|lesson|task|fold|domain)\W{0,3}(?:no\.? ?)?#?\d+\b(?!%|\.\d))"
        r"|^(?!.*(?i:\b(?:loss|perte|verlust|p[ée]rdida|perda|perdita|потер\w*)\W{0,3}\d))\W*(?:(?i:palier|etapa|fase|stufe|abschnitt)|[ÉéEe]tape|[Ээ]тап)\W{0,3}\d+\b(?!%|\.\d)"
        r"|^(?!.*\bloss).{0,120}(?i:[\"'](?:event|type|kind|msg|message)[\"']: ?[\"'](?:stage|phase|curriculum|lesson|task|fold|domain)(?:[_ -]?(?:start|begin|change)\w*)?[\"'])"
        r"|^(?!.*(?:损失|loss)).{0,40}第 ?\d+ ?个?(?:阶段|折|任务)"
        r"|^(?!.*(?:损失|loss)\W{0,3}\d)\W*(?:阶段|ステージ|フェーズ|段階|단계) ?\d+(?!%|\.\d)"
        r"|(?:损失|loss)(?:会|将)(?:先|暂时|短暂)?(?:上升|升高|跳高|变大)"
        r"|\b(?i:loss (?:will|should|may|is expected to) (?:first |briefly |temporarily )?(?:rise|jump|go up|spike|increase))\b"
        r"|^(?!.*(?i:\b(?:loss|perte|verlust|p[ée]rdida|perda|perdita)\W{0,3}\d)).{0,60}?(?i:\b(?:weights?|lambda\w{0,12}|coef\w{0,12}|poids|gewicht\w{0,12}|pesos?)\b)"
        r".{0,60}?(?:-+>|→|=>|(?i:\b(?:raised|increased|lowered|reduced|changed|switched|ramped|gesetzt|aumentad[oa]|subid[oa])\b|\berhöht\b|\bportée?s?\b|\bpassée?s?\b)(?i: (?:to|from|auf|von|a|de|à))?)\W{0,3}\d",
    ),
    Announcement(
        "stop",
        r"(?i:\b(?:terminating|killing|stopping|cancell?ing|pruning|evicting|retiring|culling|shutting down)\b(?! (?:at|after|training|early|criteri))"
        r".{0,40}?\b(?:pid|process|worker|actor|job|trial|run|cfg|config|candidate|member|child|arm|individual|replica)(?:es|s)?[ :=#_-]{0,3}\d)",
    ),
    Announcement(
        "done",
        r"(?i:\b(?:training|fine-?tuning|pre-?training|optimi[sz]ation) (?:run |job |loop )?(?:is |was |has )?(?:been |now |all )?(?:successfully )?(?:completed?|finished|done|ended)\b(?! (?:epoch|step|batch|iter)))"
        r"|`Trainer\.fit` stopped: `max_(?:epochs|steps|time)=[^`]{1,30}` reached"
        r"|(?i:^\W*(?:\S+ ){0,4}(?:finished|done|completed|end of|finishing) (?:all )?(?:the )?(?:training|fine-?tuning|pre-?training)\b(?! (?:epoch|step|batch|iter|loop for|set|data)))"
        r"|\bmax_(?:steps|iters|epochs|iterations) .{0,20}reached"
        r"|\d+ epochs completed in [\d.]+ hours"
        r"|(?i:\btotal training time\b"
        r"|^\W*(?:\S+ - )?training time\b"
        r"|\btraining took \d"
        r"|\btotal time (?:taken )?for training\b)"
        r"|exiting program (?:at|after) iteration"
        r"|after training is done"
        r"|'train_runtime':"
        r"|\btrain_runtime\s+="
        r"|\"train_runtime\":"
        r"|(?i:\b(?:early stopping|early stop)\b(?! (?:patience|counter|enabled|callback|with|is (?:on|off|enabled|disabled)|[:=]))(?:.{0,40}\b(?:after|at|triggered|reached)\b)?)"
        r"|\bEarlyStopping: "
        r"|did not improve in the last \d+ records"
        r"|^\W*\*{3} Best metric: \S+ \(epoch \d+\)"
        r"|(?i:\breached max(?:imum)?[_ ](?:steps|epochs|iterations|number of)\b)"
        r"|\| done training in [\d.]+ seconds"
        r"|\"key\": \"run_stop\""
        r"|\bENDING TIMING RUN\b"
        r"|(?i:^\W*(?:\S+ ){0,6}?final (?:\w+[ _]){0,2}(?:score|loss|acc|accuracy|f1|auc|bleu|wer|mae|rmse|mse|perplexity|reward|metrics?|results?)\W{0,3}[:=])"
        r"|Total training time: "
        r"|Loss for final step"
        r"|(?i:\bfinal model saved\b)"
        r"|(?i:\bfinal validation (?:loss|accuracy)\b)"
        r"|训练(?:已经?)?(?:全部)?(?:完成|结束|完毕)"
        r"|(?:完成|结束)训练"
        r"|学習(?:が)?(?:完了|終了)|학습(?:이)? ?(?:완료|종료)"
        r"|(?i:\b(?:entrenamiento|treinamento|treino|addestramento) (?:ha )?(?:finalizado|completado|completato|terminado|terminato|conclu)"
        r"|\bentra(?:i|\u00ee)nement (?:est )?(?:termin|fini|achev)|\btraining (?:ist )?(?:abgeschlossen|beendet)\b|\bpelatihan selesai\b|\btreningu? zako)"
        r"|[Оо]бучение (?:модели )?(?:завершено|закончено|окончено)|[Ee]ğitim tamamland",
    ),
    Announcement(
        "evaluate",
        r"(?i:^\W*(?:\S+ ){0,2}(?:running|starting|start|begin(?:ning)?) (?:the )?(?:evaluation|validation|eval|validate)\b)"
        r"|\*\*\*\*\* Running (?:Evaluation|Prediction|evaluation|validation)"
        r"|(?i:(?:^\W*|[\]:>] |INFO\W{1,3})(?:evaluating|validating)\b)"
        r"|Sanity Checking"
        r"|begin validation on"
        r"|> EVALUATION"
        r"|开始(?:验证|评估|测试)",
    ),
    Announcement(
        "compile",
        r"(?i:\bcompiling (?:the )?(?:model|function|kernel|graph|module|with|transformerblock|each)\b)"
        r"|torch\.compile"
        r"|Building extension module"
        r"|ninja: "
        r"|Emitting ninja build file"
        r"|(?i:\bAUTOTUNE \w+\()"
        r"|Using .{1,200}torch_extensions.{0,80} as PyTorch extensions root"
        r"|Finished XLA compilation"
        r"|Compiling jit\("
        r"|Compiled cluster using XLA"
        r"|compiling dataset index builder"
        r"|compiling and loading fused kernels",
    ),
    Announcement(
        "transfer",
        r"(?i:\b(?:uploading|downloading|pushing|syncing|synchroni[sz]ing|transferring|mirroring) (?!(?:is|was|has|took)\b)"
        r"(?=.{0,120}(?:\b(?:checkpoints?|ckpts?|models?|weights|files?|folders?|artifacts?|outputs?|results?|data|datasets?|shards?|archives?|snapshots?|adapters?|hub|bucket|remote|storage)\b|\w+://)))"
        r"|正在(?:上传|下载|同步)",
        narrow=(
            "uploading",
            "downloading",
            "pushing",
            "syncing",
            "synchroni",
            "transferring",
            "mirroring",
        ),
    ),
    # How long is read by sentinels/kit/pace/announced_pause.py.
    Announcement(
        "pause",
        r"(?i:\b(?:pausing|sleeping|waiting|cooling down|cooldown|backing off|idling|holding|suspending) (?:(?:[\w,]+ ){0,6}?(?:for|of) (?:another |about |the next )?)?\d[\d.]*\s?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b)"
        r"|(?:暂停|等待|休眠|停顿)\s?\d[\d.]*\s?(?:秒|分钟|小时)",
        narrow=(
            "pausing",
            "sleeping",
            "waiting",
            "cooling",
            "cooldown",
            "backing",
            "idling",
            "holding",
            "suspending",
            "暂停",
            "等待",
            "休眠",
            "停顿",
        ),
    ),
    Announcement(
        "load",
        r"(?i:^\W*(?:\S+ ){0,4}(?:loading|resuming(?: training)?|restoring|restored|resumed|loaded)\b.{0,40}\b(?:checkpoint|ckpt|weights|model|state|from step|dataset|data|parameters))"
        r"|Loading checkpoint shards"
        r"|(?:加载|恢复)(?:检查点|模型|权重|数据)",
        narrow=("loading", "loaded", "resuming", "resumed", "restoring", "restored"),
    ),
    Announcement(
        "start",
        r"\*\*\*\*\* Running training"
        r"|(?i:^\W*(?:\S+ ){0,4}(?:start(?:ing|ed)?|begin(?:ning)?|launch(?:ing)?) (?:the )?(?:training|pretraining|pre-training|fine-?tuning)\b)"
        r"|before the start of training step"
        r"|Training starts at step"
        r"|> TRAINING"
        r"|training \.\.\.$"
        r"|开始训练"
        r"|学習開始",
    ),
)
"""The first match counts."""

MAX_CLAIM = 1000
"""Characters of a line that are searched for a claim."""
_EXTENSION = r"(?:pth?|ckpt|safetensors|bin|tar|npz|npy|msgpack|h\d|hdf\d|keras|t\d|zip|weights|pdparams|gguf|pkl|params|nemo|distcp|ot|jld2|bson|mat|onnx|model)"
_PATH = (
    r"[\"'`<(]?(?P<path>(?:\w+://)?(?:[\w.~$=+@{}-]*[/\\])[^\s\"'`,;>]*"
    rf"|[\w.=+@-]+\.{_EXTENSION}(?![\w/]))"
)
_VERB = r"(?i:\b(?:sav(?:ed?|ing)|wrote|writ(?:ing|ten|e)|dump(?:ing|ed)|stor(?:ing|ed)|export(?:ing|ed))\b)"
_THING = (
    r"(?i:\b(?:checkpoints?|ckpts?|model|models|weights|snapshot|(?:training |current |optimizer |train )?state|state_dict|policy"
    r"|adapter|parameters|params|network|optimizer|lora)\b)"
)
_AT = r"(?:\bto\b|\bin\b|\binto\b|\bat\b|\bas\b|:|=>|->|→|至|到)"
_NOT = re.compile(
    r"(?i:\b(?:every|interval|frequency|config(?:uration)?|tokenizer|vocab\w*|images?|figures?|plots?|logs?|predictions?|dataset|samples?"
    r"|not|n't|cannot|failed|failure|fail|error|unable|could not|will be|would be|about to|loading|loaded|restor\w+|resum\w+"
    r"|args|skip\w*|preparing|metrics|results?|history|summary|embedding cache|stats|statistics|deleting|removing|steps =)\b)"
    r"|将|失败|无法"
)
_VERBS = (
    *("saved", "saving", "save ", "wrote ", "writing ", "written ", "write "),
    *("dumping ", "dumped ", "storing ", "stored ", "exporting ", "exported "),
)


class Claim(NamedTuple):
    """A pattern of lines that claim that a checkpoint was saved."""

    pattern: str
    narrow: tuple[str, ...] = ()
    """As in a :class:`.Signature`."""


SAVED: tuple[Claim, ...] = (
    # "saving the checkpoint at step 500", and other words that are always a claim
    Claim(
        rf"{_VERB} (?:(?i:a|the|an|best|latest|last|final|full|new|model|training|current|async|sharded|state and|training state and|model and optimizer) ){{0,4}}(?i:checkpoints?|snapshot|ckpt)\b",
        _VERBS,
    ),
    Claim(rf"{_VERB} (?:[\w/-]{{1,30}} ){{0,8}}?{_THING}.{{0,80}}?{_AT}\s*:?\s*{_PATH}", _VERBS),
    Claim(
        rf"{_THING}(?: of [\w. ]{{1,20}})?(?: (?:successfully|was|were|is|has been|have been|weights|file|states?))*\s(?i:saved|written|exported)\b.{{0,40}}?{_AT}\s*:?\s*{_PATH}",
        ("saved", "written", "exported"),
    ),
    Claim(
        r"(?i:\bbest model saved at epoch \d+|\bsaving the (?:latest|best) model\b|\bsaving the model at the end of epoch|\bsaving (?:current )?(?:model|state) at (?:step|iteration|epoch|iter)\b)"
    ),
    Claim(
        r"(?i:^\W*(?:\S+ ){0,5}sav(?:ed|ing)) (?:[\w ]{0,30} )?(?:to )?[\"'`]?(?P<path>[^\s\"'`,;]*\.(?:pth?|ckpt|safetensors|t\d|msgpack|pdparams|npz))(?!\w)",
        ("saved", "saving"),
    ),
    Claim(r"> (?:CHECKPOINT|BEST MODEL) : (?P<path>\S+)"),
    Claim(r"(?i:\bsave_checkpoint(?: to|:)) [\"'`]?(?P<path>\S+)"),
    Claim(r"(?i:\bfinished (?:async_save|asynchronous save)\b).{0,40}? to (?P<path>\S+)"),
    Claim(
        r"(?i:\basync dist-ckpt save for) (?P<path>\S+) finished|Checkpoint global_step\d+ is ready now"
    ),
    Claim(
        rf"(?:保存|存储)(?:模型|检查点|权重|参数|断点).{{0,20}}?(?:至|到|:|：|于|在)?\s*:?\s*{_PATH}|(?:模型|检查点|权重|参数)(?:已经?|成功)*保存(?:至|到|于|在|:|：)\s*{_PATH.replace('?P<path>', '?P<path2>')}",
        ("保存", "存储"),
    ),
    Claim(rf"(?i:\bbest (?:checkpoint|model)\b.{{0,80}}? is saved to) {_PATH}"),
)
"""Claims that a checkpoint was saved; step and path are found separately if need be."""
_STEP_IN_PATH = re.compile(
    r"(?:^|[/\\_.-])(?:global_?step|step|iter|iteration|checkpoint|ckpt|G|D|model|model_step|batch)s?[=_-]?(?:\d+_)?0*(\d+)(?=$|[/\\_.-])"
    r"|[/_-]0*(\d+)_(?:steps|iters|adapters|iterations)\b"
)
_GAN_PATH = re.compile(r"(?:^|/)[GD]_\d+\.pth$")
"""VITS and its forks: the iteration in these lines is the epoch, the number in the path the
step."""
_OF_SHARD = re.compile(r"-\d{5}-of-\d{5}")
_STEP_SAID = re.compile(
    r"(?i:\b(?:at|for|after|from|of|to|@)\s{1,2}(?:the )?(?:last |global |training )?(?:step|iteration|iter|update)s?,?(?: step)?[ =:#]{1,6}(?P<a>\d+))"
    r"|(?i:@ (?P<b>\d+) updates|\b(?:at|after) (?P<c>\d+) (?:iterations|steps|updates|iters))"
    r"|(?i:\b(?:total_iters|iters|step|global_step|iteration|iter)[ =:_]{0,3}(?P<d>\d+)\b)|(?i:\bcheckpoints for (?P<e>\d+) into)"
)


_OVER = re.compile(
    r"(?i:\b(?:saved|wrote|written|dumped|stored|exported|finished|completed?|done|ready|succeeded|successful(?:ly)?)\b"
    r"|\b(?:took|in) \d+(?:\.\d+)? ?(?:s|sec|secs|seconds|ms|min)\b)"
    r"|已|成功|完成|完毕|完了|しました"
)
"""Words that say that something is over, where they stand outside of a path."""
_NAMES = re.compile(r"\S*[/\\]\S*|\S+\.\w+")


@cache
def _phase_pattern(index: int) -> re.Pattern[str]:
    return re.compile(PHASES[index].pattern)


@cache
def _saved_pattern(index: int) -> re.Pattern[str]:
    return re.compile(SAVED[index].pattern)


def phase_of(text: str, rows: tuple[int, ...]) -> PhaseName | None:
    """The phase that a line announces, if any. ``rows``: indices of the phases to try."""
    for index in rows:
        if _phase_pattern(index).search(text):
            return PHASES[index].phase
    return None


def saved(text: str) -> tuple[float | None, str | None] | None:
    """(step, path) of a line that claims a save, each ``None`` if not named; ``None``: no claim."""
    text = text[:MAX_CLAIM]
    for index in range(len(SAVED)):
        match = _saved_pattern(index).search(text)
        if match is None:
            continue
        path, begin = _path(match, text)
        # the words of a path do not count
        if _NOT.search(text, max(0, match.start() - 40), begin):
            return None
        return _step(text, path), path
    return None


def is_over(text: str) -> bool:
    """True for a claim in the past tense: nothing follows for which the run may be silent."""
    return _OVER.search(_NAMES.sub(" ", text[:MAX_CLAIM])) is not None


def _path(match: re.Match[str], text: str) -> tuple[str | None, int]:
    """(path in a claim, end of the text before it, in which words like "failed" count)."""
    for group in ("path", "path2"):
        if match.groupdict().get(group):
            return match[group].rstrip(".,:)!") or None, match.start(group)
    behind = _any_path().search(text, match.end())
    if behind is None:
        return None, match.end() + 30
    return behind["path"].rstrip(".,:)!") or None, behind.start("path")


def _step(text: str, path: str | None) -> float | None:
    named = _STEP_IN_PATH.findall(_OF_SHARD.sub("", path)) if path is not None else []
    in_path = next((g for g in named[-1] if g), None) if named else None
    said = _STEP_SAID.search(text)
    if said is not None and not (in_path and _GAN_PATH.search(path or "")):
        return float(next(g for g in said.groups() if g is not None))
    return None if in_path is None else float(in_path)


@cache
def _any_path() -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s\"'`(:=]){_PATH}")
