"""Fine-tunes the ticket router (4 queues)."""
import os
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

set_seed(5)
torch.set_num_threads(1)


class Tickets(Dataset):
    def __init__(self, n, queues, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, queues, (n,), generator=g)
        self.x = torch.randint(10, 200, (n, 16), generator=g)
        self.x[:, 1] = self.y + 2
        self.x[:, 7] = self.y + 2

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.15)


def compute_metrics(pred):
    guess = np.argmax(pred.predictions, -1)
    return {"accuracy": accuracy_score(pred.label_ids, guess), "f1": f1_score(pred.label_ids, guess)}


config = BertConfig(vocab_size=200, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=64, num_labels=4, max_position_embeddings=32)
args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=16, num_train_epochs=3, learning_rate=3e-3,
    logging_steps=10, eval_strategy="steps", eval_steps=150, save_steps=150, report_to=[],
    use_cpu=True, dataloader_num_workers=0, metric_for_best_model="f1", load_best_model_at_end=True,
)
trainer = Trainer(BertForSequenceClassification(config), args, train_dataset=Tickets(2400, 4, 1),
                  eval_dataset=Tickets(200, 4, 2), compute_metrics=compute_metrics, callbacks=[Pace()])
trainer.train()
trainer.save_model("router")
