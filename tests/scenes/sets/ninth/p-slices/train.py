import argparse
import os
import sys
import time

import torch
from transformers import (RobertaConfig, RobertaForMaskedLM, Trainer, TrainerCallback, TrainingArguments, set_seed)
from transformers.trainer_utils import get_last_checkpoint

SEQ, MASK = 24, 3


class Masked(torch.utils.data.Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(6)
        self.x = 10 + (torch.randint(0, 290, (n, 1), generator=g) + torch.arange(SEQ)) % 290

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        ids = self.x[i]
        m = torch.rand(SEQ) < 0.2
        return {"input_ids": torch.where(m, torch.tensor(MASK), ids), "labels": torch.where(m, ids, torch.tensor(-100))}


class Slice(TrainerCallback):
    def __init__(self, seconds):
        self.seconds, self.used_up = seconds, False

    def on_train_begin(self, args, state, control, **kw):
        self.began = time.time()

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.1)
        if time.time() - self.began > self.seconds and state.global_step < state.max_steps:
            print(f"time is up at step {state.global_step}, saving", flush=True)
            self.used_up = control.should_save = control.should_training_stop = True
        return control


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--slice-seconds", type=float, required=True)
    p.add_argument("--output", required=True)
    a = p.parse_args()
    set_seed(6)
    model = RobertaForMaskedLM(RobertaConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                             intermediate_size=128, max_position_embeddings=32, pad_token_id=1))
    args = TrainingArguments(a.output, max_steps=300, per_device_train_batch_size=16, learning_rate=2e-3, warmup_steps=30,
                             logging_steps=10, save_steps=150, save_total_limit=1, use_cpu=True, report_to="none", disable_tqdm=True,
                             dataloader_pin_memory=False)
    clock = Slice(a.slice_seconds)
    trainer = Trainer(model, args, train_dataset=Masked(4000), callbacks=[clock])
    last = get_last_checkpoint(a.output) if os.path.isdir(a.output) else None
    print(f"resuming from {last}" if last else "starting anew", flush=True)
    trainer.train(resume_from_checkpoint=last)
    if clock.used_up:
        sys.exit(85)
    trainer.save_model(a.output + "/final")
    print("all steps done", flush=True)


main()
