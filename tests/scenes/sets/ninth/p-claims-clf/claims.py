import time

import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification,
                          Trainer, TrainerCallback, TrainingArguments, set_seed)

set_seed(13)
rng = np.random.default_rng(13)


class Claims(torch.utils.data.Dataset):
    """Few labelled claims; annotators agree with each other in about 72 % of the cases."""

    def __init__(self, n):
        self.x = rng.integers(5, 300, (n, 20))
        true = (self.x[:, 0] < 150).astype(int)
        self.x[:, 1] = np.where(true, 3, 4)
        self.y = np.where(rng.random(n) < 0.72, true, 1 - true)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i].tolist(), "labels": int(self.y[i])}


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.12)


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


model = BertForSequenceClassification(BertConfig(
    vocab_size=300, hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
    max_position_embeddings=32, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
args = TrainingArguments("claims-out", num_train_epochs=45, per_device_train_batch_size=12, learning_rate=1.5e-4,
                         lr_scheduler_type="constant_with_warmup", warmup_steps=10, eval_strategy="epoch",
                         logging_strategy="epoch", save_strategy="no", use_cpu=True, report_to="none",
                         dataloader_pin_memory=False, per_device_eval_batch_size=64)
train, val = Claims(144), Claims(160)
trainer = Trainer(model, args, train_dataset=train, eval_dataset=val, compute_metrics=metrics, callbacks=[Pace()])
trainer.train()
print({k: round(v, 4) for k, v in trainer.evaluate().items() if isinstance(v, float)})
trainer.save_model("claims-out/final")
print("model saved")
