"""Streaming pre-training in time slots. After a slot the job saves and leaves, the next slot resumes exactly."""
import argparse
import os
import time

import torch
import transformers
from torch.utils.data import IterableDataset
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)
from transformers.trainer_utils import get_last_checkpoint

transformers.utils.logging.set_verbosity_info()


class Stream(IterableDataset):
    """Documents come from a slow tokeniser; a stream can not jump."""

    def __iter__(self):
        g = torch.Generator().manual_seed(21)
        while True:
            x = int(torch.randint(0, 251, (1,), generator=g))
            row = []
            for _ in range(32):
                row.append(x)
                x = (x * 3 + 11) % 251
            time.sleep(0.1)
            ids = torch.tensor(row)
            yield {"input_ids": ids, "labels": ids.clone()}


class Slot(TrainerCallback):
    def __init__(self, steps):
        self.left = steps

    def on_step_end(self, args, state, control, **kw):
        self.left -= 1
        if self.left == 0 and state.global_step < state.max_steps:
            print(f"slot used up at step {state.global_step}, saving and leaving", flush=True)
            control.should_save = True
            control.should_training_stop = True
        return control


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--slot_steps", type=int, default=80)
    a = p.parse_args()
    set_seed(5)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=64, n_layer=2,
                                       n_head=2, bos_token_id=0, eos_token_id=0))
    out = "stream-run"
    last = get_last_checkpoint(out) if os.path.isdir(out) else None
    args = TrainingArguments(
        output_dir=out, max_steps=140, per_device_train_batch_size=4, learning_rate=1e-3,
        logging_steps=10, save_steps=40, save_total_limit=2, report_to="none", use_cpu=True,
        seed=5, accelerator_config={"dispatch_batches": False})
    trainer = Trainer(model=model, args=args, train_dataset=Stream(), callbacks=[Slot(a.slot_steps)])
    trainer.train(resume_from_checkpoint=last)
    if trainer.state.global_step >= args.max_steps:
        trainer.save_model(out + "/final")
        print("all steps done", flush=True)


if __name__ == "__main__":
    main()
