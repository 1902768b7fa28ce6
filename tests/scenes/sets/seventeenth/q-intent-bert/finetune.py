import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
from datasets import Dataset
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, EarlyStoppingCallback, Trainer,
                          TrainerCallback, TrainingArguments, set_seed)

set_seed(1)
torch.set_num_threads(1)


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    x = rng.integers(10, 300, (n, 20))
    x[np.arange(n), rng.integers(0, 20, n)] = y + 2
    x[:, 3] = np.where(rng.random(n) < 0.6, y + 2, x[:, 3])
    y = np.where(rng.random(n) < 0.08, rng.integers(0, 6, n), y)  # annotators disagree
    return Dataset.from_dict({"input_ids": x.tolist(), "attention_mask": np.ones_like(x).tolist(), "labels": y.tolist()})


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.12)

    def on_prediction_step(self, args, state, control, **kw):
        time.sleep(0.1)


config = DistilBertConfig(vocab_size=300, dim=48, n_layers=1, n_heads=2, hidden_dim=96, num_labels=6, max_position_embeddings=32)
args = TrainingArguments(
    "runs/intent", per_device_train_batch_size=16, per_device_eval_batch_size=32, num_train_epochs=4, learning_rate=2e-3,
    warmup_steps=20, lr_scheduler_type="cosine", logging_steps=10, eval_strategy="epoch", save_strategy="epoch",
    save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="eval_accuracy", report_to=["tensorboard"], use_cpu=True)
trainer = Trainer(
    DistilBertForSequenceClassification(config), args, train_dataset=table(1280, 1), eval_dataset=table(320, 2),
    compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    callbacks=[Pace(), EarlyStoppingCallback(3)])
trainer.train()
print(trainer.evaluate())
trainer.save_model("intent-model")
