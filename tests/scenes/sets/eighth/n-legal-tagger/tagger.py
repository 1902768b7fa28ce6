"""Tag clauses of contracts with a small BERT. Contracts differ much in length: a batch holds whole contracts."""
import math
import random
import time

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments, set_seed


class Contracts(Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        self.rows = []
        for _ in range(n):
            pages = min(900, int(math.exp(r.gauss(1.0, 1.9))) + 1)     # most have some pages, a few have hundreds
            ids = [r.randrange(5, 500) for _ in range(24)]
            self.rows.append({"input_ids": ids, "labels": [i % 5 for i in ids], "pages": pages})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    time.sleep(0.026 * sum(r["pages"] for r in rows))                # layout of the pages
    ids = torch.tensor([r["input_ids"] for r in rows])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.tensor([r["labels"] for r in rows])}


if __name__ == "__main__":
    set_seed(21)
    model = BertForTokenClassification(BertConfig(vocab_size=500, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                                  intermediate_size=96, max_position_embeddings=64, num_labels=5))
    args = TrainingArguments("tagger_out", num_train_epochs=1, per_device_train_batch_size=4, learning_rate=2e-3, logging_steps=5,
                             eval_strategy="epoch", per_device_eval_batch_size=8, save_strategy="epoch", save_total_limit=1,
                             use_cpu=True, report_to=[], remove_unused_columns=False, dataloader_num_workers=0, warmup_steps=10)
    tr = Trainer(model, args, train_dataset=Contracts(320, 1), eval_dataset=Contracts(48, 2), data_collator=collate)
    tr.train()
    tr.save_model("tagger_out/final")
