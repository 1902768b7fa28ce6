"""Topic classifier for headlines: HF Trainer, early stopping on the validation loss, best model restored at the end."""
import json
import time

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainingArguments,
                          set_seed)

TOPICS = ["politics", "sports", "science", "money"]


class Headlines(Dataset):
    def __init__(self, n, seed, noise):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 4, size=n)
        self.x = rng.integers(50, 400, size=(n, 20))
        for k in range(2):  # two topic words somewhere in the headline
            self.x[np.arange(n), rng.integers(1, 20, size=n)] = 5 + self.y * 8 + rng.integers(0, 8, size=n)
        self.x[:, 0] = 2
        flip = rng.random(n) < noise  # annotators disagree a lot
        self.y[flip] = rng.integers(0, 4, size=int(flip.sum()))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": torch.tensor(self.x[i]), "attention_mask": torch.ones(20, dtype=torch.long),
                "labels": int(self.y[i])}


class PacedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        time.sleep(0.12)  # about what the big one takes
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


def accuracy(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


def main():
    set_seed(21)
    torch.set_num_threads(1)
    config = BertConfig(vocab_size=400, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
                        max_position_embeddings=32, num_labels=4)
    args = TrainingArguments(
        output_dir="out-topics", use_cpu=True, num_train_epochs=20, learning_rate=1e-3,
        per_device_train_batch_size=16, per_device_eval_batch_size=32,
        eval_strategy="epoch", save_strategy="epoch", logging_steps=6, save_total_limit=2,
        load_best_model_at_end=True, metric_for_best_model="eval_loss", greater_is_better=False,
        report_to="none", disable_tqdm=True, seed=21,
    )
    trainer = PacedTrainer(
        model=BertForSequenceClassification(config), args=args, compute_metrics=accuracy,
        train_dataset=Headlines(288, 1, noise=0.3), eval_dataset=Headlines(160, 2, noise=0.3),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=3)],
    )
    trainer.train()
    print(f"stopped after epoch {trainer.state.epoch:.0f}, best eval_loss {trainer.state.best_metric:.4f} "
          f"({trainer.state.best_model_checkpoint})")
    print("predicting the archive, about half a minute")
    archive = Headlines(32 * 200, 3, noise=0.0)
    pred = trainer.predict(archive)
    counts = np.bincount(pred.predictions.argmax(-1), minlength=4)
    with open("archive.json", "w") as f:
        json.dump(dict(zip(TOPICS, counts.tolist())), f)
    print("archive.json written", dict(zip(TOPICS, counts.tolist())), {k: round(v, 3) for k, v in pred.metrics.items()})


if __name__ == "__main__":
    main()
