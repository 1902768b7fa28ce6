import os
import random
import time

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, set_seed

set_seed(42)
torch.set_num_threads(1)
PACE = float(os.environ.get("PACE", "0.4"))
LABELS = ["billing", "delivery", "login", "returns", "other"]
WORDS = {
    "billing": "invoice charge card paid twice vat amount refund bank".split(),
    "delivery": "parcel late courier tracking address arrived missing box".split(),
    "login": "password reset account locked code email sign cannot".split(),
    "returns": "return label size wrong colour exchange broken refund".split(),
    "other": "question opening hours thanks job partner press hello".split(),
}
FILL = "i the a my to please have is for and was on with it this you not can".split()
vocab = {w: i + 2 for i, w in enumerate(sorted({w for v in WORDS.values() for w in v} | set(FILL)))}


class Tickets(Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        self.items = []
        for _ in range(n):
            y = r.randrange(5)
            kind = LABELS[y] if r.random() < 0.93 else r.choice(LABELS)
            words = [r.choice(WORDS[kind]) if r.random() < 0.25 else r.choice(FILL) for _ in range(24)]
            ids = [1] + [vocab[w] for w in words]
            self.items.append({"input_ids": torch.tensor(ids), "attention_mask": torch.ones(25, dtype=torch.long), "labels": y})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def metrics(p):
    pred = p.predictions.argmax(-1)
    f1 = []
    for c in range(5):
        tp = ((pred == c) & (p.label_ids == c)).sum()
        f1.append(2 * tp / max(1, (pred == c).sum() + (p.label_ids == c).sum()))
    return {"accuracy": float((pred == p.label_ids).mean()), "macro_f1": float(np.mean(f1))}


class Wait(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(PACE)


model = BertForSequenceClassification(BertConfig(
    vocab_size=len(vocab) + 2, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
    max_position_embeddings=32, num_labels=5, id2label=dict(enumerate(LABELS)), label2id={l: i for i, l in enumerate(LABELS)}))
args = TrainingArguments(
    output_dir="tickets-bert", per_device_train_batch_size=16, per_device_eval_batch_size=64, num_train_epochs=5,
    learning_rate=1e-3, warmup_steps=30, weight_decay=0.01, eval_strategy="epoch", save_strategy="epoch", logging_steps=5,
    save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="macro_f1", report_to=[], use_cpu=True, seed=42)
trainer = Trainer(model=model, args=args, train_dataset=Tickets(1120, 0), eval_dataset=Tickets(320, 1), compute_metrics=metrics, callbacks=[Wait()])
trainer.train()
print(trainer.evaluate())
trainer.save_model("tickets-bert/best")
