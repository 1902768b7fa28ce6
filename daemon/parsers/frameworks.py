"""Which framework wrote a log, recognised by lines that nothing else prints.

Only shown to people ("a Megatron-LM log"): no line is read differently because of it.
"""

from __future__ import annotations

import re
from functools import cache

from .prefilter import AtomIndex, atoms

MAX_TEXT = 300
"""Characters of a line that are searched."""
LINES: tuple[tuple[str, str], ...] = (
    # the more specific first: many frameworks are built on others
    ("NeMo", r"\[NeMo [IWE] |\bnemo[._](?:collections|core|utils|lightning)\b|reduced_train_loss="),
    ("GPT-NeoX", r"\bsamples/sec: [\d.]+ \| iteration"),
    ("Megatron-DeepSpeed", r"elapsed time per iteration \(ms\).*\bactual seqlen\b"),
    ("Megatron-LM", r"consumed samples: +\d+ \| elapsed time per iteration \(ms\)|\bmegatron[./](?:core|training)\b"),
    ("LLaMA-Factory", r"\b(?:llamafactory|llmtuner)\.(?:hparams|data|model|train|extras|launcher|cli)\b"),
    ("ms-swift", r"['\"]global_step/max_steps['\"]|\[INFO:swift\]"),
    ("Axolotl", r"\baxolotl[._]"),
    ("Unsloth", r"^==\(\(====\)\)==  Unsloth|^Unsloth: "),
    ("torchtune", r"\btorchtune\.|\btokens_per_second_per_gpu:"),
    ("TorchTitan", r"\btorchtitan\b|\[titan\]"),
    ("nanotron", r"\[(?:INFO|WARNING)\|DP=\d+\|PP=\d+\|TP=\d+"),
    ("OLMo-core", r"\bolmo_core\."),
    ("OLMo", r"\bolmo\.(?:train|util|model|optim)\b"),
    ("Composer", r"^\s*Train time/batch: |\bcomposer\.(?:trainer|utils)\b"),
    ("MaxText", r"\bcompleted step: \d+, seconds: "),
    ("Levanter", r"^\s*Progress on:\w+ [\d.]+"),
    ("verl", r"\bverl[./](?:trainer|workers|utils)\b|\bactor/pg_loss:"),
    ("OpenRLHF", r"\bopenrlhf[./]"),
    ("TRL", r"\btrl[./]trainer\b|'rewards/chosen':"),
    ("LitGPT", r"\blitgpt\b|\biter \d+ step \d+ \| loss train:"),
    ("kohya sd-scripts", r"running training / 学習開始|\bavr_loss="),
    ("diffusers", r"^Steps: .*\bstep_loss=|\bdiffusers\.(?:models|pipelines|schedulers)\b"),
    ("fairseq2", r"\bfairseq2\."),
    ("fairseq", r"\| (?:INFO|WARNING) \| (?:fairseq[._]|train(?:_inner)? \|)|\bfairseq_cli\b"),
    ("ESPnet", r"\b\d+epoch:train:\d+-\d+batch|\b\d+epoch results: \[train\]|\bespnet2?/"),
    ("WeNet", r" DEBUG (?:TRAIN|CV) Batch \d+/\d+ "),
    ("icefall", r"\btot_loss\[loss="),
    ("Coqui TTS", r"--> STEP: \d+/\d+ -- GLOBAL_STEP: \d+"),
    ("Kaldi", r"^LOG \([\w-]+\[5\.\d"),
    ("Marian", r"\bEp\. \d+ : Up\. \d+ : Sen\."),
    ("OpenNMT", r"\bStep\s+\d+/\s*\d+; acc: +[\d.]+; ppl: "),
    ("Detectron2", r"\bd2\.(?:utils|engine|data)\b|\bdetectron2 INFO|\bdetectron2[./]"),
    ("MMEngine", r"\bmmengine - (?:INFO|WARNING)\b"),
    ("MMCV", r" - mm(?:det3?d?|seg|cv|pose|ocr|action|cls|rotate) - (?:INFO|WARNING)\b"),
    ("YOLOX", r"\byolox\.core\."),
    ("Ultralytics YOLO", r"^Ultralytics |\bYOLOv\d\w* 🚀|^\s*Epoch\s+GPU_mem\s+box"),
    ("PaddlePaddle", r"\bpp(?:det|ocr|cls)[. ]|\bpaddle(?:nlp|\.distributed|seg)\b"),
    ("darknet", r"^\s*\d+: [\d.]+, [\d.]+ avg(?: loss)?, [\d.]+ rate, "),
    ("Swin Transformer", r"\(main\.py \d+\): INFO Train: \["),
    ("timm", r"^Train: \d+ \[ *\d+/\d+ \( *\d+%\)\]"),
    ("StyleGAN", r"\bsec/kimg\b"),
    ("CycleGAN and pix2pix", r"^\(epoch: \d+, iters: \d+, time: "),
    ("YOLACT", r"^\[ *\d+\] +\d+ \|\| B: "),
    ("Stable-Baselines3", r"^\| (?:rollout|time|train)/ +\| +\|$"),
    ("RSL-RL", r"^\s*Learning iteration \d+/\d+"),
    ("Tianshou", r"^Epoch #\d+: .*\benv_step="),
    ("OpenAI Baselines", r"^\| EpRewMean |^\| serial_timesteps "),
    ("Ray", r"\((?:RayTrainWorker|TrainTrainable) pid="),
    ("XGBoost", r"^\[\d+\]\s+train-\w+:"),
    ("LightGBM", r"^\[LightGBM\] "),
    ("CatBoost", r"^\d+:\s+learn: [\d.]+"),
    ("spaCy", r"^E +# +LOSS "),
    ("Flair", r"epoch \d+ - iter \d+/\d+ - loss "),
    ("mlx-lm", r"^Iter \d+: Train loss [\d.]+, Learning Rate "),
    ("llm.c", r"^step +\d+/\d+ \| (?:train )?loss .*\bMFU \||^s:\d+ t[re]l:"),
    ("nanoGPT", r"^tokens per iteration will be:|^iter \d+: loss [\d.]+, time [\d.]+ms, mfu "),
    ("modded-nanogpt", r"^step:\d+/\d+ .*\btrain_time:\d+ms step_avg:"),
    ("MLPerf", r"^:::MLLOG "),
    ("DLLogger", r"\bDLL \d{4}-\d\d-\d\d"),
    ("AlgoPerf", r"\bsubmission_runner\.py:\d+\]"),
    ("TensorFlow Object Detection", r"\bmodel_lib_v2\.py:\d+\]"),
    ("TensorFlow Estimator", r"^INFO:tensorflow:(?:global_step/sec|loss = )"),
    ("Keras", r"^\s*\d+/\d+ (?:\[=*>?\.*\]|━+) - .*\d(?:ms|s)/step - "),
    ("PyTorch Lightning", r"^GPU available: (?:True|False)|\bv_num=|`Trainer\.fit` stopped|\b(?:pytorch_)?lightning\.pytorch\b"),
    ("DeepSpeed", r"\[deepspeed|\bDeepSpeed info:|\bRunningAvgSamplesPerSec="),
    ("Hugging Face Trainer", r"^(?:.{0,80}>> )?\*\*\*\*\* Running training \*\*\*\*\*|^\{'loss': .*'learning_rate': |^\{'train_runtime': "),
)  # fmt: skip
"""(name, pattern); the first match counts."""


@cache
def _index() -> AtomIndex:
    ids: dict[str, list[int]] = {}
    for i, (_, pattern) in enumerate(LINES):
        for atom in atoms(pattern):
            ids.setdefault(atom, []).append(i)
    return AtomIndex(ids)


LOOKS = 3000
"""Number of lines of new shapes that are searched; after them the search ends."""


@cache
def _pattern(index: int) -> re.Pattern[str]:
    return re.compile(LINES[index][1])


class Recogniser:
    """Searches the first :data:`LOOKS` lines of one log for its framework."""

    def __init__(self) -> None:
        self._best = len(LINES)
        self._looks = LOOKS

    @property
    def name(self) -> str | None:
        """The most specific framework that a line has shown; ``None`` while none has."""
        return LINES[self._best][0] if self._best < len(LINES) else None

    def examine_line(self, text: str) -> None:
        """Search one line, given without its rank prefix."""
        if self._looks > 0:
            self._looks -= 1
            text = text[:MAX_TEXT]
            for index in sorted(_index().find(text.encode("utf-8", "surrogateescape"))):
                if index < self._best and _pattern(index).search(text):
                    self._best = index


def recognise(text: str) -> str | None:
    """The framework that this line shows; ``None`` for nearly all lines."""
    recogniser = Recogniser()
    recogniser.examine_line(text)
    return recogniser.name
