"""Intent classification, DistilBERT-like, HF Trainer on two processes (gloo)."""
import os
import random
import time

import torch
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

INTENTS = {"book": ["book a table for {n}", "reserve {n} seats please", "i need a room for {n}"],
           "cancel": ["cancel order {n}", "please drop booking {n}", "call off number {n}"],
           "status": ["where is parcel {n}", "status of order {n}", "has {n} shipped"],
           "refund": ["refund invoice {n}", "money back for {n}", "i want a refund on {n}"]}


class Intents(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            y, (k, t) = rng.choice(list(enumerate(INTENTS.items())))
            s = rng.choice(t).format(n=rng.randrange(10000))
            ids = [min(ord(c), 127) for c in s][:40]
            self.rows.append({"input_ids": ids + [0] * (40 - len(ids)), "attention_mask": [1] * len(ids) + [0] * (40 - len(ids)), "labels": y})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.35)


set_seed(7)
rank = int(os.environ.get("RANK", 0))
with open(f"rank{rank}.pid", "w") as f:
    f.write(str(os.getpid()))
model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=128, dim=48, n_heads=4, n_layers=2, hidden_dim=96, max_position_embeddings=64, num_labels=4))
args = TrainingArguments(output_dir="out", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=8, num_train_epochs=3, max_steps=350,
                         learning_rate=1e-3, logging_steps=5, save_steps=30, save_total_limit=2, report_to=[], dataloader_pin_memory=False)
trainer = Trainer(model=model, args=args, train_dataset=Intents(2400, 1), callbacks=[Pace()])
trainer.train()
if rank == 0:
    trainer.save_model("out/final")
    print("saved out/final")
