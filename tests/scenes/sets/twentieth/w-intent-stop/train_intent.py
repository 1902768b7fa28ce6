import time

import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainingArguments, set_seed)

torch.set_num_threads(1)
set_seed(31)


def intents(n, seed):
    """Few, noisy examples: every sixth with a wrong label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    x = rng.integers(5, 100, (n, 16))
    for i, c in enumerate(y):
        x[i, rng.choice(16, 6, replace=False)] = 100 + c * 8 + rng.integers(0, 8, 6)
    wrong = rng.random(n) < 0.17
    y = np.where(wrong, rng.integers(0, 5, n), y)
    return [{"input_ids": torch.tensor(a), "labels": int(b)} for a, b in zip(x, y)]


class SlowTrainer(Trainer):
    def training_step(self, *args, **kwargs):
        time.sleep(0.25)
        return super().training_step(*args, **kwargs)


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


model = BertForSequenceClassification(BertConfig(vocab_size=150, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                                                 intermediate_size=128, num_labels=5, hidden_dropout_prob=0.0,
                                                 attention_probs_dropout_prob=0.0))
args = TrainingArguments(output_dir="intent", max_steps=2000, per_device_train_batch_size=8, per_device_eval_batch_size=32,
                         learning_rate=1.5e-3, logging_steps=8, eval_strategy="steps", eval_steps=16, save_strategy="steps",
                         save_steps=16, save_total_limit=2, load_best_model_at_end=True, metric_for_best_model="eval_loss",
                         greater_is_better=False, report_to=[], use_cpu=True, disable_tqdm=True,
                         dataloader_pin_memory=False)
trainer = SlowTrainer(model=model, args=args, train_dataset=intents(160, 1), eval_dataset=intents(96, 2),
                      compute_metrics=accuracy, callbacks=[EarlyStoppingCallback(early_stopping_patience=5)])
result = trainer.train()
print(f"stopped at step {trainer.state.global_step} of {trainer.state.max_steps}, best {trainer.state.best_metric:.4f} "
      f"({trainer.state.best_model_checkpoint})")
trainer.save_model("intent/best")
