import time
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer,
                          TrainingArguments, set_seed)


class Reviews(Dataset):
    """few labels, and the annotators disagree a lot"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(1, 300, (n, 20), generator=g)
        y = (self.ids < 60).sum(1) > 3
        flip = torch.rand(n, generator=g) < 0.35
        self.y = (y ^ flip).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(0.02)
        return {"input_ids": self.ids[i], "attention_mask": torch.ones(20, dtype=torch.long), "labels": self.y[i]}


def accuracy(p):
    return {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())}


def main():
    set_seed(13)
    torch.set_num_threads(1)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=32, num_labels=2))
    args = TrainingArguments(
        output_dir="out", num_train_epochs=20, per_device_train_batch_size=16, per_device_eval_batch_size=16,
        learning_rate=1e-3, eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, logging_steps=5,
        load_best_model_at_end=True, metric_for_best_model="eval_loss", greater_is_better=False,
        report_to=[], use_cpu=True)
    trainer = Trainer(model=model, args=args, train_dataset=Reviews(160, 1), eval_dataset=Reviews(64, 2),
                      compute_metrics=accuracy, callbacks=[EarlyStoppingCallback(early_stopping_patience=4)])
    trainer.train()
    print("stopped at epoch", trainer.state.epoch, "- best", trainer.state.best_metric,
          "from", trainer.state.best_model_checkpoint, flush=True)
    trainer.save_model("out/best")


if __name__ == "__main__":
    main()
