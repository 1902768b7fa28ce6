"""Which program wrote a log, told from lines that nothing else prints.

For people ("a Megatron-LM log") and for nothing else: no number is read differently for it.
"""

from __future__ import annotations

import re
from functools import cache

from .atoms import AtomIndex

MAX_TEXT = 300
"""Characters of a line that are looked at."""
_LINES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # the more exact first: many are built on one another
    ("NeMo", ("[nemo ", "nemo.", "train_step_timing"), r"\[NeMo [IWE] |\bnemo[._](?:collections|core|utils|lightning)\b|reduced_train_loss="),
    ("GPT-NeoX", ("approx flops per gpu",), r"\bsamples/sec: [\d.]+ \| iteration"),
    ("Megatron-DeepSpeed", ("tflops:", "actual seqlen"), r"elapsed time per iteration \(ms\).*\bactual seqlen\b"),
    ("Megatron-LM", ("elapsed time per iteration (ms)", "megatron"), r"consumed samples: +\d+ \| elapsed time per iteration \(ms\)|\bmegatron[./](?:core|training)\b"),
    ("LLaMA-Factory", ("llamafactory", "llama-factory", "llmtuner"), r"\b(?:llamafactory|llmtuner)\.(?:hparams|data|model|train|extras|launcher|cli)\b"),
    ("ms-swift", ("global_step/max_steps", "swift."), r"['\"]global_step/max_steps['\"]|\[INFO:swift\]"),
    ("Axolotl", ("axolotl",), r"\baxolotl[._]"),
    ("Unsloth", ("unsloth",), r"^==\(\(====\)\)==  Unsloth|^Unsloth: "),
    ("torchtune", ("torchtune", "tokens_per_second_per_gpu"), r"\btorchtune\.|\btokens_per_second_per_gpu:"),
    ("TorchTitan", ("torchtitan", "[titan]"), r"\btorchtitan\b|\[titan\]"),
    ("nanotron", ("dp=", "consumed_tokens"), r"\[(?:INFO|WARNING)\|DP=\d+\|PP=\d+\|TP=\d+"),
    ("OLMo-core", ("olmo_core",), r"\bolmo_core\."),
    ("OLMo", ("olmo.",), r"\bolmo\.(?:train|util|model|optim)\b"),
    ("Composer", ("train time/", "composer."), r"^\s*Train time/batch: |\bcomposer\.(?:trainer|utils)\b"),
    ("MaxText", ("tflop/s/device",), r"\bcompleted step: \d+, seconds: "),
    ("Levanter", ("progress on:",), r"^\s*Progress on:\w+ [\d.]+"),
    ("verl", ("verl.", "verl/", "actor/pg_loss"), r"\bverl[./](?:trainer|workers|utils)\b|\bactor/pg_loss:"),
    ("OpenRLHF", ("openrlhf",), r"\bopenrlhf[./]"),
    ("TRL", ("trl/", "trl."), r"\btrl[./]trainer\b|'rewards/chosen':"),
    ("LitGPT", ("litgpt", "iter time:"), r"\blitgpt\b|\biter \d+ step \d+ \| loss train:"),
    ("kohya sd-scripts", ("学習開始", "running training /", "avr_loss"), r"running training / 学習開始|\bavr_loss="),
    ("diffusers", ("step_loss", "diffusers"), r"^Steps: .*\bstep_loss=|\bdiffusers\.(?:models|pipelines|schedulers)\b"),
    ("fairseq2", ("fairseq2",), r"\bfairseq2\."),
    ("fairseq", ("fairseq", "train_inner", "num_updates"), r"\| (?:INFO|WARNING) \| (?:fairseq[._]|train(?:_inner)? \|)|\bfairseq_cli\b"),
    ("ESPnet", ("epoch:train:", "epoch results:", "espnet"), r"\b\d+epoch:train:\d+-\d+batch|\b\d+epoch results: \[train\]|\bespnet2?/"),
    ("WeNet", (" debug train batch", " debug cv batch"), r" DEBUG (?:TRAIN|CV) Batch \d+/\d+ "),
    ("icefall", ("tot_loss[",), r"\btot_loss\[loss="),
    ("Coqui TTS", ("global_step:",), r"--> STEP: \d+/\d+ -- GLOBAL_STEP: \d+"),
    ("Kaldi", ("nnet3-", "log ("), r"^LOG \([\w-]+\[5\.\d"),
    ("Marian", (" up. ",), r"\bEp\. \d+ : Up\. \d+ : Sen\."),
    ("OpenNMT", ("xent:",), r"\bStep\s+\d+/\s*\d+; acc: +[\d.]+; ppl: "),
    ("Detectron2", ("d2.", "detectron2"), r"\bd2\.(?:utils|engine|data)\b|\bdetectron2 INFO|\bdetectron2[./]"),
    ("MMEngine", ("mmengine",), r"\bmmengine - (?:INFO|WARNING)\b"),
    ("MMCV", ("mmdet - ", "mmseg - ", "mmcv - ", "mmpose - ", "mmocr - ", "mmaction - "), r" - mm(?:det3?d?|seg|cv|pose|ocr|action|cls|rotate) - (?:INFO|WARNING)\b"),
    ("YOLOX", ("yolox.",), r"\byolox\.core\."),
    ("Ultralytics YOLO", ("ultralytics", "yolov5", "gpu_mem"), r"^Ultralytics |\bYOLOv\d\w* 🚀|^\s*Epoch\s+GPU_mem\s+box"),
    ("PaddlePaddle", ("paddle", "ppdet", "ppocr", "ppcls"), r"\bpp(?:det|ocr|cls)[. ]|\bpaddle(?:nlp|\.distributed|seg)\b"),
    ("darknet", (" avg loss, ", " avg, "), r"^\s*\d+: [\d.]+, [\d.]+ avg(?: loss)?, [\d.]+ rate, "),
    ("Swin Transformer", ("(main.py ",), r"\(main\.py \d+\): INFO Train: \["),
    ("timm", (" lr: ",), r"^Train: \d+ \[ *\d+/\d+ \( *\d+%\)\]"),
    ("StyleGAN", ("sec/kimg",), r"\bsec/kimg\b"),
    ("CycleGAN and pix2pix", ("iters:",), r"^\(epoch: \d+, iters: \d+, time: "),
    ("YOLACT", ("|| b:",), r"^\[ *\d+\] +\d+ \|\| B: "),
    ("Stable-Baselines3", ("rollout/", "ep_rew_mean", "time/"), r"^\| (?:rollout|time|train)/ +\| +\|$"),
    ("RSL-RL", ("learning iteration",), r"^\s*Learning iteration \d+/\d+"),
    ("Tianshou", ("env_step=",), r"^Epoch #\d+: .*\benv_step="),
    ("OpenAI Baselines", ("eprewmean", "total_timesteps"), r"^\| EpRewMean |^\| serial_timesteps "),
    ("Ray", ("raytrainworker", "traintrainable"), r"\((?:RayTrainWorker|TrainTrainable) pid="),
    ("XGBoost", ("train-",), r"^\[\d+\]\s+train-\w+:"),
    ("LightGBM", ("[lightgbm]",), r"^\[LightGBM\] "),
    ("CatBoost", ("learn:",), r"^\d+:\s+learn: [\d.]+"),
    ("spaCy", ("loss tok2vec", "ents_f"), r"^E +# +LOSS "),
    ("Flair", (" - iter ",), r"epoch \d+ - iter \d+/\d+ - loss "),
    ("mlx-lm", ("it/sec", "learning rate"), r"^Iter \d+: Train loss [\d.]+, Learning Rate "),
    ("llm.c", ("mfu |", "tel:"), r"^step +\d+/\d+ \| (?:train )?loss .*\bMFU \||^s:\d+ t[re]l:"),
    ("nanoGPT", ("tokens per iteration will be", "mfu"), r"^tokens per iteration will be:|^iter \d+: loss [\d.]+, time [\d.]+ms, mfu "),
    ("modded-nanogpt", ("step_avg",), r"^step:\d+/\d+ .*\btrain_time:\d+ms step_avg:"),
    ("MLPerf", (":::mllog",), r"^:::MLLOG "),
    ("DLLogger", ("dll ",), r"\bDLL \d{4}-\d\d-\d\d"),
    ("AlgoPerf", ("submission_runner.py",), r"\bsubmission_runner\.py:\d+\]"),
    ("TensorFlow Object Detection", ("model_lib_v2",), r"\bmodel_lib_v2\.py:\d+\]"),
    ("TensorFlow Estimator", ("global_step/sec", "tensorflow:loss"), r"^INFO:tensorflow:(?:global_step/sec|loss = )"),
    ("Keras", ("/step - ",), r"^\s*\d+/\d+ (?:\[=*>?\.*\]|━+) - .*\d(?:ms|s)/step - "),
    ("PyTorch Lightning", ("gpu available:", "v_num=", "trainer.fit", "lightning"), r"^GPU available: (?:True|False)|\bv_num=|`Trainer\.fit` stopped|\b(?:pytorch_)?lightning\.pytorch\b"),
    ("DeepSpeed", ("deepspeed", "runningavgsamplespersec"), r"\[deepspeed|\bDeepSpeed info:|\bRunningAvgSamplesPerSec="),
    ("Hugging Face Trainer", ("running training", "train_runtime", "{'loss'", "learning_rate"), r"^(?:.{0,80}>> )?\*\*\*\*\* Running training \*\*\*\*\*|^\{'loss': .*'learning_rate': |^\{'train_runtime': "),
)  # fmt: skip
"""(name, atoms as in a signature, pattern), the first that matches counts."""
_INDEX = AtomIndex(
    {
        atom: [i for i, (_, atoms, _) in enumerate(_LINES) if atom in atoms]
        for atom in {atom for _, atoms, _ in _LINES for atom in atoms}
    }
)
LOOKS = 3000
"""Lines of new shapes after which nobody looks any more."""


@cache
def _pattern(index: int) -> re.Pattern[str]:
    return re.compile(_LINES[index][2])


class Recogniser:
    """Looks at the lines of one log until it is clear who writes it."""

    def __init__(self) -> None:
        self._best = len(_LINES)
        self._looks = LOOKS

    @property
    def name(self) -> str | None:
        """The most exact framework that a line has given away, if one has."""
        return _LINES[self._best][0] if self._best < len(_LINES) else None

    def look(self, text: str) -> None:
        """Look at the line."""
        if self._looks > 0:
            self._looks -= 1
            text = text[:MAX_TEXT]
            for index in sorted(_INDEX.find(text.encode("utf-8", "surrogateescape"))):
                if index < self._best and _pattern(index).search(text):
                    self._best = index


def recognise(text: str) -> str | None:
    """The framework that a line gives away, ``None`` for nearly all lines."""
    recogniser = Recogniser()
    recogniser.look(text)
    return recogniser.name
