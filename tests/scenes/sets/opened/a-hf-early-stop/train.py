import time

import torch
import torch.nn as nn
from torch.utils.data import Dataset
from transformers import EarlyStoppingCallback, Trainer, TrainingArguments, set_seed


class Reviews(Dataset):
    def __init__(self, n, seed, pace):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, 400, (n, 20), generator=g)
        score = (self.x < 200).float().mean(1) + 0.35 * torch.randn(n, generator=g)
        self.y = (score > 0.5).long()
        self.pace = pace

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(self.pace)
        return {"input_ids": self.x[i], "labels": self.y[i]}


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(400, 64)
        self.out = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, input_ids, labels=None):
        logits = self.out(self.emb(input_ids).mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


if __name__ == "__main__":
    set_seed(5)
    args = TrainingArguments(
        output_dir="results", num_train_epochs=60, per_device_train_batch_size=16, per_device_eval_batch_size=64,
        learning_rate=1e-2, lr_scheduler_type="constant", logging_steps=10, eval_strategy="epoch",
        save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="loss",
        greater_is_better=False, report_to="none", use_cpu=True,
    )
    trainer = Trainer(
        model=Bag(), args=args, train_dataset=Reviews(320, 0, 0.012), eval_dataset=Reviews(320, 1, 0.002),
        callbacks=[EarlyStoppingCallback(early_stopping_patience=5)],
    )
    result = trainer.train()
    print(result.metrics)
    print(f"Early stopping: step {trainer.state.global_step} of {trainer.state.max_steps}, best eval_loss "
          f"{trainer.state.best_metric:.4f} ({trainer.state.best_model_checkpoint})")
    trainer.save_model("results/best")
