import argparse
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

ap = argparse.ArgumentParser()
ap.add_argument("--workers", type=int)
ap.add_argument("--epochs", type=int)
a = ap.parse_args()
set_seed(1)
WORDS = {"refund": "money back return paid wrong", "delivery": "late parcel courier where arrive",
         "login": "password reset account locked code", "other": "hello thanks question info hours"}
FILL = "please i the my a can you is it was to".split()
VOCAB = {w: i + 2 for i, w in enumerate(sorted({w for v in WORDS.values() for w in v.split()} | set(FILL)))}


class Tickets(Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        self.rows = []
        for _ in range(n):
            y = r.randrange(4)
            words = r.choices(FILL, k=9) + r.choices(list(WORDS.values())[y].split(), k=2)
            r.shuffle(words)
            self.rows.append((words, y if r.random() > 0.04 else r.randrange(4)))
        self.known = set()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        if os.getpid() not in self.known:
            self.known.add(os.getpid())
            with open("run/loader.pids", "a") as f:
                f.write(f"{os.getpid()}\n")
        words, y = self.rows[i]
        ids = [1] + [VOCAB[w] for w in words]
        time.sleep(0.002)
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.ones(len(ids), dtype=torch.long), "labels": y}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.18)


def metrics(p):
    return {"accuracy": float((np.argmax(p.predictions, 1) == p.label_ids).mean())}


model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=len(VOCAB) + 2, dim=48, hidden_dim=96, n_layers=2, n_heads=4, max_position_embeddings=32, num_labels=4))
trainer = Trainer(
    model=model, train_dataset=Tickets(640, 1), eval_dataset=Tickets(128, 2), compute_metrics=metrics, callbacks=[Pace()],
    args=TrainingArguments("out", num_train_epochs=a.epochs, per_device_train_batch_size=16, learning_rate=8e-4,
                           per_device_eval_batch_size=64, logging_steps=10, eval_strategy="epoch", save_strategy="epoch",
                           save_total_limit=1, dataloader_num_workers=a.workers, dataloader_persistent_workers=True,
                           disable_tqdm=True, use_cpu=True, report_to=[]))
trainer.train()
trainer.save_model("out/best")
