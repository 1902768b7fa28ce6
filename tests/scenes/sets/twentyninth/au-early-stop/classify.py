"""Sentiment-like classification with the HF Trainer and early stopping."""
import os
import random
import time

import numpy as np
import torch
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments,
                          set_seed)

PACE = float(os.environ.get("PACE", 0.33))
torch.set_num_threads(1)
set_seed(17)
r = random.Random(17)


def row():
    y = r.randint(0, 1)
    ids = [1] + [r.randint(20 + 40 * y, 89 + 40 * y) if r.random() < 0.5 else r.randint(130, 399) for _ in range(22)]
    if r.random() < 0.15:
        y = 1 - y
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.ones(23, dtype=torch.long), "labels": y}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(PACE)

    def on_prediction_step(self, args, state, control, **kw):
        time.sleep(PACE / 2)


train, valid = [row() for _ in range(400)], [row() for _ in range(160)]
model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=400, dim=96, n_layers=2, n_heads=4, hidden_dim=192, max_position_embeddings=32,
                                                             dropout=0.1, num_labels=2))
args = TrainingArguments(
    output_dir="clf",
    per_device_train_batch_size=16,
    per_device_eval_batch_size=32,
    num_train_epochs=40,
    learning_rate=4e-4,
    warmup_steps=20,
    logging_steps=5,
    eval_strategy="epoch",
    save_strategy="epoch",
    save_total_limit=1,
    load_best_model_at_end=True,
    metric_for_best_model="eval_loss",
    use_cpu=True,
    report_to="none",
    disable_tqdm=True,
)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=valid,
                  compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())},
                  callbacks=[Pace(), EarlyStoppingCallback(early_stopping_patience=5)])
out = trainer.train()
print(f"stopped at step {trainer.state.global_step} of {trainer.state.max_steps}, best eval_loss {trainer.state.best_metric:.4f} at {trainer.state.best_model_checkpoint}", flush=True)
trainer.save_model("clf/best")
print({"train": out.metrics, "eval": trainer.evaluate()}, flush=True)
