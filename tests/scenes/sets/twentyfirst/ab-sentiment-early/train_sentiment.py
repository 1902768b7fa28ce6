"""Sentiment of short reviews, small BERT, HF Trainer with early stopping and the best model at the end."""
import random
import time

import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

POS = "great lovely superb fine warm clever good".split()
NEG = "awful dull broken cold rude bad slow".split()
REST = "the film food staff room story was and but a very quite ending service plot sauce".split()
V = {w: i + 1 for i, w in enumerate(POS + NEG + REST)}


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            y = rng.randrange(2)
            ws = [rng.choice(REST) for _ in range(12)]
            for _ in range(3):
                ws[rng.randrange(12)] = rng.choice((NEG, POS)[y] if rng.random() < 0.85 else (NEG, POS)[1 - y])
            self.rows.append({"input_ids": [V[w] for w in ws], "labels": y})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.3)


set_seed(1)
model = BertForSequenceClassification(BertConfig(vocab_size=len(V) + 1, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, num_labels=2))
args = TrainingArguments(output_dir="runs", use_cpu=True, per_device_train_batch_size=16, per_device_eval_batch_size=100, num_train_epochs=30, learning_rate=1e-3,
                         logging_steps=10, eval_strategy="epoch", save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True,
                         metric_for_best_model="accuracy", greater_is_better=True, report_to=[], dataloader_pin_memory=False)
trainer = Trainer(model=model, args=args, train_dataset=Reviews(640, 2), eval_dataset=Reviews(400, 3),
                  compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())},
                  callbacks=[Pace(), EarlyStoppingCallback(early_stopping_patience=2)])
trainer.train()
print("best checkpoint:", trainer.state.best_model_checkpoint, "accuracy", trainer.state.best_metric)
trainer.save_model("best")
