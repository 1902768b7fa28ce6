"""Causal language model with the HF Trainer; checkpoints go to the rented volume."""
import os
import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

from corpus import text

torch.set_num_threads(1)
set_seed(3)
PACE = float(os.environ.get("PACE", 0.33))


class Blocks(Dataset):
    def __init__(self, chars, seed, size=64):
        ids = torch.tensor(list(text(chars, seed).encode()))
        self.x = ids[: len(ids) // size * size].view(-1, size)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(PACE)


model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=8192, n_embd=128, n_layer=3, n_head=4))
args = TrainingArguments(
    output_dir="volume/gpt2-stories",
    per_device_train_batch_size=4,
    max_steps=900,
    learning_rate=1e-3,
    warmup_steps=30,
    lr_scheduler_type="cosine",
    logging_steps=2,
    save_strategy="steps",
    save_steps=int(os.environ.get("SAVE", 30)),
    use_cpu=True,
    report_to="none",
    dataloader_num_workers=0,
)
trainer = Trainer(model=model, args=args, train_dataset=Blocks(400_000, 1), callbacks=[Pace()])
print(f"parameters: {model.num_parameters():,}", flush=True)
trainer.train()
trainer.save_model()
