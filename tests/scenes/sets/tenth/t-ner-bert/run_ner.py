"""Token classification on generated clinical-like notes. Everything from scratch, nothing is fetched."""
import os
os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
import random, time
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForTokenClassification, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

set_seed(13)
torch.set_num_threads(1)
LABELS = ["O", "B-DRUG", "B-DOSE", "B-SYMPTOM"]
DRUG, DOSE, SYM = [range(a, a + 25) for a in (100, 130, 160)]


class Notes(Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        self.rows = []
        for _ in range(n):
            ids, lab = [], []
            for _ in range(r.randint(8, 20)):
                u = r.random()
                kind = 1 if u < 0.1 else 2 if u < 0.2 else 3 if u < 0.3 else 0
                ids.append(r.choice([range(5, 99), DRUG, DOSE, SYM][kind]))
                lab.append(kind if r.random() > 0.02 else 0)
            self.rows.append((ids, lab))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    m = max(len(i) for i, _ in rows)
    pad = lambda seq, v: torch.tensor([list(s) + [v] * (m - len(s)) for s in seq])
    ids, labels = pad([i for i, _ in rows], 0), pad([l for _, l in rows], -100)
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


def metrics(p):
    guess, gold = p.predictions.argmax(-1), p.label_ids
    keep = gold != -100
    tp = ((guess == gold) & keep & (gold > 0)).sum()
    prec, rec = tp / max(((guess > 0) & keep).sum(), 1), tp / max(((gold > 0) & keep).sum(), 1)
    return {"precision": prec, "recall": rec, "f1": 2 * prec * rec / max(prec + rec, 1e-9)}


class Throttle(TrainerCallback):
    def on_step_end(self, *args, **kw):
        time.sleep(0.09)


model = BertForTokenClassification(BertConfig(vocab_size=200, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=32, num_labels=4))
args = TrainingArguments(
    output_dir="ner-out", num_train_epochs=10, per_device_train_batch_size=16, per_device_eval_batch_size=32, learning_rate=2e-3,
    warmup_steps=20, logging_steps=10, eval_strategy="epoch", save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True,
    metric_for_best_model="f1", greater_is_better=True, report_to=[], use_cpu=True, seed=13)
trainer = Trainer(model=model, args=args, train_dataset=Notes(480, 1), eval_dataset=Notes(120, 2), data_collator=collate, compute_metrics=metrics,
                  callbacks=[Throttle(), EarlyStoppingCallback(early_stopping_patience=3)])
res = trainer.train()
trainer.save_model("ner-out/final")
trainer.log_metrics("train", res.metrics)
trainer.log_metrics("eval", trainer.evaluate())
