import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments
import time

torch.set_num_threads(1)


class Toy(Dataset):
    def __init__(self, n, seed):
        g = np.random.default_rng(seed)
        self.x = g.integers(5, 100, size=(n, 12))
        self.y = (self.x[:, 0] > 50).astype(int)
        flip = g.random(n) < 0.15
        self.y[flip] = 1 - self.y[flip]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": torch.tensor(self.x[i]), "attention_mask": torch.ones(12, dtype=torch.long), "labels": int(self.y[i])}


class Pace(TrainerCallback):
    def on_substep_end(self, *a, **k):
        time.sleep(0.05)

    def on_step_end(self, *a, **k):
        time.sleep(0.05)


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


model = BertForSequenceClassification(BertConfig(vocab_size=128, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64))
args = TrainingArguments(
    output_dir="out", num_train_epochs=40, per_device_train_batch_size=8, gradient_accumulation_steps=4, learning_rate=2e-3,
    warmup_steps=20, logging_steps=5, eval_strategy="steps", eval_steps=25, save_strategy="steps", save_steps=25, save_total_limit=2,
    load_best_model_at_end=True, metric_for_best_model="eval_loss", report_to=[], dataloader_num_workers=0, use_cpu=True, seed=3,
)
trainer = Trainer(model=model, args=args, train_dataset=Toy(640, 0), eval_dataset=Toy(160, 1), compute_metrics=metrics,
                  callbacks=[EarlyStoppingCallback(early_stopping_patience=3), Pace()])
out = trainer.train()
print(out.metrics)
trainer.save_model("out/best")
