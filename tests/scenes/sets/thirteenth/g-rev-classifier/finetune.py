import json
import sys
import time

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments

torch.set_num_threads(1)


class Reviews(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(5, 60, (n, 16), generator=g)
        good = (self.x[:, 0] > 32).long()
        flip = torch.rand(n, generator=g) < 0.15
        self.y = torch.where(flip, 1 - good, good)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


class Lines(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        print(json.dumps({"step": state.global_step, **{k: v for k, v in logs.items() if k != "total_flos"}}), flush=True)

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        print(json.dumps({"event": "evaluated", "step": state.global_step, "best": state.best_metric}), flush=True)

    def on_train_end(self, args, state, control, **kwargs):
        print(json.dumps({"event": "train_end", "step": state.global_step, "max_steps": state.max_steps, "best": state.best_model_checkpoint}), flush=True)


class Paced(Trainer):
    def training_step(self, *a, **k):
        time.sleep(0.14)
        return super().training_step(*a, **k)


def accuracy(p):
    return {"accuracy": float((np.argmax(p.predictions, 1) == p.label_ids).mean())}


args = TrainingArguments(
    "out", num_train_epochs=60, per_device_train_batch_size=16, learning_rate=2e-3, eval_strategy="steps", eval_steps=20, save_strategy="steps",
    save_steps=20, save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="eval_loss", greater_is_better=False,
    logging_steps=5, report_to="none", use_cpu=True, disable_tqdm=True, seed=3)
config = BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, max_position_embeddings=16, hidden_dropout_prob=0.0)
trainer = Paced(BertForSequenceClassification(config), args, train_dataset=Reviews(480, 0), eval_dataset=Reviews(128, 1),
                compute_metrics=accuracy, callbacks=[EarlyStoppingCallback(early_stopping_patience=5), Lines()])
trainer.train()
print(json.dumps({"event": "final", **trainer.evaluate()}), flush=True)
trainer.save_model("out/best")
sys.exit(0)
