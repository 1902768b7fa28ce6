import time
import numpy as np
import torch
from datasets import Dataset
from transformers import (DataCollatorWithPadding, DistilBertConfig, DistilBertForSequenceClassification, Trainer,
                          TrainingArguments, set_seed)
from toks import INTENTS, make, tokenizer

set_seed(42)
torch.set_num_threads(1)
train, dev = make(640, 1), make(120, 2)
tok = tokenizer(train)


def ds(rows):
    d = Dataset.from_dict({"text": [r for r, _ in rows], "label": [k for _, k in rows]})
    return d.map(lambda b: tok(b["text"]), batched=True, remove_columns=["text"])


class SlowCollator(DataCollatorWithPadding):
    def __call__(self, features):
        time.sleep(0.12)
        return super().__call__([{k: f[k] for k in ("input_ids", "attention_mask", "label")} for f in features])


def metrics(p):
    y = p.predictions.argmax(-1)
    return {"accuracy": float((y == p.label_ids).mean()),
            "error_rate": float((y != p.label_ids).mean()),
            "recall_error": float((y[p.label_ids == 3] == 3).mean())}


model = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=len(tok), dim=64, n_layers=2, n_heads=4, hidden_dim=128,
                                                             max_position_embeddings=32, num_labels=len(INTENTS)))
args = TrainingArguments("out", num_train_epochs=5, per_device_train_batch_size=16, per_device_eval_batch_size=32, learning_rate=8e-4,
                         warmup_steps=20, logging_steps=10, eval_strategy="epoch", save_strategy="epoch", save_total_limit=2,
                         load_best_model_at_end=True, metric_for_best_model="accuracy", use_cpu=True, report_to="none",
                         dataloader_pin_memory=False)
trainer = Trainer(model=model, args=args, train_dataset=ds(train), eval_dataset=ds(dev), data_collator=SlowCollator(tok),
                  compute_metrics=metrics)
out = trainer.train()
trainer.log_metrics("train", out.metrics)
trainer.save_model("final")
print(trainer.evaluate())
