"""A tiny GPT-2 that learns to count, by the Trainer of transformers.

Takes every option of TrainingArguments.
"""

import time
from typing import Any

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    HfArgumentParser,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

VOCABULARY, LENGTH = 64, 16


class Counting(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Numbers that follow each other, from anywhere."""

    def __len__(self) -> int:
        return 128

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        numbers = (torch.arange(LENGTH) + at) % VOCABULARY
        return {"input_ids": numbers, "labels": numbers.clone()}


class Slow(TrainerCallback):
    """A step that takes as long as one can watch."""

    def on_step_end(self, *args: Any, **more: Any) -> None:
        time.sleep(0.1)


torch.set_num_threads(1)
kinds: Any = TrainingArguments
(args,) = HfArgumentParser(kinds).parse_args_into_dataclasses()
torch.manual_seed(args.seed)
config = GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2)
trainer = Trainer(
    model=GPT2LMHeadModel(config),
    args=args,
    train_dataset=Counting(),
    eval_dataset=Counting(),
    callbacks=[Slow()],
)
trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
