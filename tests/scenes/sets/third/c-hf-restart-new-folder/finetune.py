"""Small causal LM fine-tuning, resumes from the newest checkpoint of --output_dir."""
import argparse
import os
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)
from transformers.trainer_utils import get_last_checkpoint


class Sequences(Dataset):
    def __init__(self, n=4000, length=32):
        g = torch.Generator().manual_seed(11)
        x = torch.randint(0, 251, (n, 1), generator=g)
        rows = [x]
        for _ in range(length - 1):
            rows.append((rows[-1] * 3 + 7) % 251)
        self.data = torch.cat(rows, dim=1)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        time.sleep(0.04)          # read and tokenise
        return {"input_ids": self.data[i], "labels": self.data[i].clone()}


class SaveLog(TrainerCallback):
    def on_save(self, args, state, control, **kw):
        print(f"saved {args.output_dir}/checkpoint-{state.global_step}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--output_dir", required=True)
    p.add_argument("--max_steps", type=int, default=600)
    a = p.parse_args()
    Path("finetune.pid").write_text(str(os.getpid()))
    set_seed(7)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=64, n_layer=2,
                                       n_head=2, bos_token_id=0, eos_token_id=0))
    last = get_last_checkpoint(a.output_dir) if os.path.isdir(a.output_dir) else None
    print(f"output_dir={a.output_dir} last checkpoint: {last}", flush=True)
    targs = TrainingArguments(
        output_dir=a.output_dir, max_steps=a.max_steps, per_device_train_batch_size=8,
        learning_rate=1e-3, logging_steps=5, save_steps=20, save_total_limit=2,
        report_to="none", use_cpu=True, seed=7)
    trainer = Trainer(model=model, args=targs, train_dataset=Sequences(), callbacks=[SaveLog()])
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model(os.path.join(a.output_dir, "final"))
    print("fine-tuning done", flush=True)


if __name__ == "__main__":
    main()
