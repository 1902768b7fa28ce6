import time

import numpy as np
import torch
from loguru_like import logger
from transformers import (DistilBertConfig, DistilBertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

set_seed(5)
rng = np.random.default_rng(5)


class Comments(torch.utils.data.Dataset):
    def __init__(self, n, noise):
        self.x = rng.integers(10, 260, (n, 24))
        y = rng.integers(0, 2, n)
        self.x[:, 5] = np.where(y == 1, 3, 4)
        self.y = np.where(rng.random(n) < noise, 1 - y, y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i].tolist(), "labels": int(self.y[i])}


class Report(TrainerCallback):
    best = float("inf")

    def on_step_end(self, *a, **k):
        time.sleep(0.12)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            logger.info(f"step {state.global_step:>4}  train loss {logs['loss']:.4f}")

    def on_evaluate(self, args, state, control, metrics=None, **kw):
        loss = metrics["eval_loss"]
        if loss < self.best:
            self.best = loss
            logger.info(f"step {state.global_step:>4}  eval loss {loss:.4f} (new best)")
        else:
            logger.warning(f"step {state.global_step:>4}  eval loss {loss:.4f} did not improve on {self.best:.4f}")

    def on_train_end(self, args, state, control, **kw):
        logger.info(f"stopped at step {state.global_step} of {state.max_steps}, best model: {state.best_model_checkpoint}")


model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=260, dim=96, hidden_dim=192, n_layers=2, n_heads=4, max_position_embeddings=24, num_labels=2, dropout=0.0,
    attention_dropout=0.0, seq_classif_dropout=0.0))
args = TrainingArguments("out", num_train_epochs=60, per_device_train_batch_size=16, learning_rate=4e-4, eval_strategy="steps",
                         eval_steps=24, save_strategy="steps", save_steps=24, save_total_limit=2, load_best_model_at_end=True,
                         metric_for_best_model="eval_loss", greater_is_better=False, logging_steps=24, use_cpu=True,
                         report_to="none", disable_tqdm=True, dataloader_pin_memory=False)
trainer = Trainer(model, args, train_dataset=Comments(384, 0.2), eval_dataset=Comments(256, 0.2),
                  callbacks=[Report(), EarlyStoppingCallback(early_stopping_patience=4)])
trainer.callback_handler.callbacks = [c for c in trainer.callback_handler.callbacks if type(c).__name__ != "PrinterCallback"]
trainer.train()
logger.info(f"final eval loss {trainer.evaluate()['eval_loss']:.4f}")
trainer.save_model("out/best")
