"""Which training framework wrote a log, by words that it alone writes. For the headline only."""

from __future__ import annotations

_WORDS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("NeMo", (b"[NeMo I ", b"[NeMo W ")),
    ("Megatron-LM", (b"elapsed time per iteration (ms)", b"megatron.core")),
    ("LLaMA-Factory", (b"llamafactory", b"LLaMA-Factory")),
    ("Axolotl", (b"axolotl.",)),
    ("torchtune", (b"torchtune.",)),
    ("TorchTitan", (b"torchtitan",)),
    ("OpenRLHF", (b"openrlhf",)),
    ("verl", (b"verl.trainer", b"verl/trainer")),
    ("TRL", (b"trl/trainer/", b"trl.trainer")),
    ("Ultralytics YOLO", (b"Ultralytics ", b"YOLOv5 ")),
    ("MMEngine", (b"mmengine - ", b"mmcv - ", b" - mmdet - ", b" - mmseg - ")),
    ("Detectron2", (b"d2.engine", b"detectron2 ", b"d2.utils")),
    ("fairseq", (b"| fairseq", b"fairseq_cli", b"fairseq.")),
    ("Stable-Baselines3", (b"| rollout/", b"|    ep_rew_mean")),
    ("kohya sd-scripts", ("学習開始".encode(), b"running training / ")),
    ("PyTorch Lightning", (b"GPU available: ", b"pytorch_lightning", b"lightning.pytorch")),
    ("DeepSpeed", (b"[deepspeed", b"DeepSpeed info:", b"[DeepSpeed")),
    ("LitGPT", (b"litgpt",)),
    (
        "Hugging Face Trainer",
        (
            b"***** Running training *****",
            b"{'loss': ",
            b"'train_runtime': ",
            b"transformers.trainer",
        ),
    ),
    ("nanoGPT", (b"tokens per iteration will be:",)),
    ("PaddlePaddle", (b"paddle.distributed", b"paddlenlp", b"PaddleNLP", b"ppdet.")),
    ("MindSpore", (b"mindspore",)),
    ("LightGBM", (b"[LightGBM]",)),
    ("XGBoost", (b"train-rmse:", b"train-logloss:", b"train-mlogloss:")),
    ("Keras", (b"ms/step", b"s/step - ", b"keras.")),
    ("Ray", (b"(RayTrainWorker pid=", b"(TrainTrainable pid=")),
    ("JAX", (b"jax._src", b"jaxlib")),
    ("TensorFlow", (b"tensorflow/core", b"tensorflow:")),
    ("PyTorch", (b"torch/nn/modules", b"torch.distributed", b"torchrun")),
)
"""Names with what gives them away, the more exact ones first."""


def framework(head: bytes) -> str | None:
    """The framework that the first bytes of a log speak of, if one does."""
    return next((name for name, words in _WORDS if any(word in head for word in words)), None)
