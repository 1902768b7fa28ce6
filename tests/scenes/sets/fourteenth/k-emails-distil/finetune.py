"""python finetune.py  -- spam/ham like in the course, week 5"""
import random, time
import numpy as np
from datasets import Dataset
from transformers import (DistilBertConfig, DistilBertForSequenceClassification,
                          Trainer, TrainerCallback, TrainingArguments, set_seed)
set_seed(7)


def make(n):
    rows = {"input_ids": [], "attention_mask": [], "label": []}
    for _ in range(n):
        y = random.random() < .4
        base = 30 if y else 80
        rows["input_ids"].append([1] + [base + int(random.expovariate(.07)) % 110 for _ in range(20)])
        rows["attention_mask"].append([1] * 21)
        rows["label"].append(int(y))
    return Dataset.from_dict(rows)


def metrics(p):
    pred = np.argmax(p.predictions, -1)
    return {"accuracy": float((pred == p.label_ids).mean())}


class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(.18)

    def on_prediction_step(self, args, state, control, **kw):
        time.sleep(.1)


model = DistilBertForSequenceClassification(DistilBertConfig(
    vocab_size=200, dim=48, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=32))
args = TrainingArguments("distil-spam", num_train_epochs=3, per_device_train_batch_size=16,
                         per_device_eval_batch_size=32, learning_rate=5e-4, eval_strategy="epoch",
                         save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True,
                         logging_steps=10, report_to="none", use_cpu=True)
tr = Trainer(model=model, args=args, train_dataset=make(1280), eval_dataset=make(320),
             compute_metrics=metrics, callbacks=[Slow()])
tr.train()
print(tr.evaluate())
tr.save_model("distil-spam/final")
