"""Classifier on packed records, HF Trainer with two loader workers."""
import random

import torch
import torch.nn as nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from decode import pack, unpack

N = 32


def make_records(n=1600, seed=3):
    rng = random.Random(seed)
    out = []
    for i in range(n):
        y = rng.randrange(4)
        v = [rng.gauss(0.7 if k % 4 == y else 0.0, 1.0) for k in range(N)]
        # record 1101 came from a disk with a bad block: the offset field is garbage
        out.append(pack(v, y, offset=0x7F00_0000_0000_00 if i == 1101 else 0))
    return out


class Records(Dataset):
    def __init__(self, raw):
        self.raw = raw

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        import time
        time.sleep(0.04)
        v, y = unpack(self.raw[i], N)
        return {"x": torch.tensor(v), "labels": y}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(N, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x, labels=None):
        logits = self.f(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


if __name__ == "__main__":
    set_seed(0)
    args = TrainingArguments(
        output_dir="runs/packed", num_train_epochs=3, per_device_train_batch_size=8, learning_rate=1e-3,
        dataloader_num_workers=2, train_sampling_strategy="sequential", logging_steps=10, save_steps=50,
        save_total_limit=2, report_to="none", use_cpu=True,
    )
    Trainer(model=Net(), args=args, train_dataset=Records(make_records())).train()
