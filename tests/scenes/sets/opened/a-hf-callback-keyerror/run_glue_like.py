"""Sentence pairs, HF Trainer, with a callback that keeps a table of the evaluations."""
import csv
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed


class Pairs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.a = torch.randint(0, 300, (n, 12), generator=g)
        self.y = torch.randint(0, 2, (n,), generator=g)
        self.b = torch.where(self.y[:, None] > 0, self.a, torch.randint(0, 300, (n, 12), generator=g))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(0.015)
        return {"a": self.a[i], "b": self.b[i], "labels": self.y[i]}


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(300, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, a, b, labels=None):
        logits = self.out(self.emb(a).mean(1) * self.emb(b).mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class EvalTable(TrainerCallback):
    def __init__(self, path):
        self.path = path

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        with open(self.path, "a", newline="") as f:
            csv.writer(f).writerow([state.global_step, metrics["eval_loss"], metrics["eval_accuracy"]])


def compute_metrics(pred):
    return {"acc": float((np.argmax(pred.predictions, -1) == pred.label_ids).mean())}


if __name__ == "__main__":
    set_seed(0)
    args = TrainingArguments(
        output_dir="mrpc", num_train_epochs=5, per_device_train_batch_size=16, per_device_eval_batch_size=32,
        learning_rate=3e-3, logging_steps=10, eval_strategy="steps", eval_steps=110, save_strategy="steps",
        save_steps=110, report_to="none", use_cpu=True,
    )
    trainer = Trainer(model=Matcher(), args=args, train_dataset=Pairs(1600, 0), eval_dataset=Pairs(256, 1),
                      compute_metrics=compute_metrics, callbacks=[EvalTable("evals.csv")])
    trainer.train()
