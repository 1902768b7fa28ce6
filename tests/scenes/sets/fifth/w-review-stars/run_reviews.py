"""Star ratings from reviews: HF Trainer with early stopping on the dev loss."""
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer,
                          TrainingArguments, set_seed)
from transformers.utils import logging

logger = logging.get_logger("transformers.reviews")


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n, seed, cost):
        g = np.random.default_rng(seed)
        self.cost, self.x = cost, g.integers(10, 600, size=(n, 20))
        self.y = np.clip(self.x[:, 1:4].mean(1) // 120 + g.integers(-2, 3, size=n), 0, 4).astype(int)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(self.cost)
        x = torch.tensor(self.x[i])
        return {"input_ids": x, "attention_mask": torch.ones_like(x), "labels": int(self.y[i])}


def compute_metrics(p):
    pred = p.predictions.argmax(-1)
    counts = np.bincount(pred, minlength=5)
    for k in np.flatnonzero(counts == 0):
        logger.warning("class %d has no predicted samples, precision is ill-defined and set to 0.0", k)
    return {"accuracy": float((pred == p.label_ids).mean())}


def main():
    set_seed(21)
    torch.set_num_threads(1)
    logger.warning("Some weights of BertForSequenceClassification were not initialized from a checkpoint and are "
                   "newly initialized: ['classifier.bias', 'classifier.weight']")
    cfg = BertConfig(vocab_size=640, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=128, max_position_embeddings=32, num_labels=5, hidden_dropout_prob=0.0)
    args = TrainingArguments(
        output_dir="stars", num_train_epochs=40, per_device_train_batch_size=16, per_device_eval_batch_size=10,
        learning_rate=2e-3, lr_scheduler_type="constant", logging_steps=5, eval_strategy="epoch",
        save_strategy="epoch", save_total_limit=1, load_best_model_at_end=True, metric_for_best_model="eval_loss",
        greater_is_better=False, use_cpu=True, dataloader_pin_memory=False, disable_tqdm=True, report_to="none",
        seed=21)
    trainer = Trainer(model=BertForSequenceClassification(cfg), args=args, train_dataset=Reviews(320, 1, 0.01),
                      eval_dataset=Reviews(150, 2, 0.06), compute_metrics=compute_metrics,
                      callbacks=[EarlyStoppingCallback(early_stopping_patience=2)])
    out = trainer.train()
    logger.warning("stopped after epoch %.0f of 40, best eval_loss %.4f in %s", trainer.state.epoch,
                   trainer.state.best_metric, trainer.state.best_model_checkpoint)
    trainer.save_model("stars/best")
    print("train_runtime %.1f s, model in stars/best" % out.metrics["train_runtime"])


if __name__ == "__main__":
    main()
