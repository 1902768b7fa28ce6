"""Classify support tickets into 8 queues. HF Trainer, streaming input."""
import random
import time

import torch
import torch.nn as nn
from torch.utils.data import IterableDataset
from transformers import Trainer, TrainingArguments, set_seed

VOCAB, LENGTH, QUEUES = 2000, 48, 8
torch.set_num_threads(1)


class TicketStream(IterableDataset):
    """Yields tickets in the order of the export. Some people open a ticket and leave the body empty."""

    def __init__(self, n, seed, empty=()):
        self.n, self.seed, self.empty = n, seed, set(empty)

    def __iter__(self):
        rng = random.Random(self.seed)
        for i in range(self.n):
            label = rng.randrange(QUEUES)
            words = [rng.randrange(2, VOCAB) for _ in range(rng.randint(8, LENGTH))]
            for k in range(0, len(words), 3):
                words[k] = 10 + label * 20 + rng.randrange(20)
            if i in self.empty:
                words = []
            pad = LENGTH - len(words)
            time.sleep(0.02)            # the tokenizer
            yield {
                "input_ids": words + [0] * pad,
                "attention_mask": [1] * len(words) + [0] * pad,
                "labels": label,
            }


class Triage(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.score = nn.Linear(dim, 1)
        self.mix = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        self.head = nn.Linear(dim, QUEUES)

    def forward(self, input_ids, attention_mask, labels=None):
        x = self.mix(self.emb(input_ids))
        w = self.score(x).squeeze(-1)
        w = w.masked_fill(attention_mask == 0, float("-inf")).softmax(-1)
        logits = self.head((w.unsqueeze(-1) * x).sum(1))
        out = {"logits": logits}
        if labels is not None:
            out["loss"] = nn.functional.cross_entropy(logits, labels)
        return out


def main():
    set_seed(11)
    args = TrainingArguments(
        output_dir="out/triage-v3",
        max_steps=260,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        lr_scheduler_type="linear",
        warmup_steps=10,
        logging_steps=10,
        save_steps=40,
        save_total_limit=2,
        dataloader_num_workers=0,
        use_cpu=True,
        report_to="none",
        seed=11,
    )
    train = TicketStream(16 * 400, seed=5, empty=(16 * 76 + 3, 16 * 131 + 9, 16 * 205 + 1))
    trainer = Trainer(model=Triage(), args=args, train_dataset=train)
    result = trainer.train()
    trainer.save_model("out/triage-v3/final")
    print(result.metrics, flush=True)


if __name__ == "__main__":
    main()
