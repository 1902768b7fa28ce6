"""Trains until the slice of time is used up, saves, and ends with 85 so that the queue puts it back."""
import os
import sys
import time

import torch
from transformers import (T5Config, T5ForConditionalGeneration, Trainer, TrainerCallback, TrainingArguments, set_seed)
from transformers.trainer_utils import get_last_checkpoint

REQUEUE = 85
SLICE_S = float(os.environ.get("SLICE_S", "25"))
OUT = "runs/t5-reverse"
torch.set_num_threads(1)
set_seed(2)


class Reverse(torch.utils.data.Dataset):
    def __init__(self, n=3000):
        self.ids = torch.randint(3, 60, (n, 10), generator=torch.Generator().manual_seed(6))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i].flip(0)}


class Slice(TrainerCallback):
    def __init__(self):
        self.used_up = False

    def on_train_begin(self, args, state, control, **kw):
        self.began = time.monotonic()
        print(f"[slice] begin at step {state.global_step} of {state.max_steps}", flush=True)

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.18)
        if time.monotonic() - self.began > SLICE_S and state.global_step < state.max_steps:
            self.used_up = control.should_save = control.should_training_stop = True


def main():
    os.makedirs(OUT, exist_ok=True)
    model = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=48, d_kv=16, d_ff=96, num_layers=1, num_heads=3,
                                                decoder_start_token_id=0))
    last = get_last_checkpoint(OUT)
    print(f"[slice] checkpoint: {last}", flush=True)
    args = TrainingArguments(output_dir=OUT, max_steps=160, per_device_train_batch_size=16, learning_rate=3e-3,
                             logging_steps=10, save_steps=1000, save_total_limit=2, report_to=[], use_cpu=True,
                             disable_tqdm=True, dataloader_pin_memory=False)
    clock = Slice()
    trainer = Trainer(model=model, args=args, train_dataset=Reverse(), callbacks=[clock])
    trainer.train(resume_from_checkpoint=last)
    if clock.used_up:
        print(f"[slice] time used up at step {trainer.state.global_step}, saved, back to the queue", flush=True)
        sys.exit(REQUEUE)
    trainer.save_model(f"{OUT}/final")
    print("[slice] training complete", flush=True)


main()
