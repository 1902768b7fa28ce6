import time

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments, set_seed


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(10, 200, (n, 16), generator=g)
        good = (self.ids < 40).sum(1)
        bad = (self.ids > 170).sum(1)
        noise = torch.randint(-1, 2, (n,), generator=g)
        self.y = (good - bad + noise > 0).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.y[i]}


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.06)


def metrics(p):
    return {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())}


def main():
    set_seed(7)
    torch.set_num_threads(1)
    model = BertForSequenceClassification(
        BertConfig(vocab_size=200, hidden_size=48, num_hidden_layers=1, num_attention_heads=2, intermediate_size=96, max_position_embeddings=16)
    )
    args = TrainingArguments(
        output_dir="out", num_train_epochs=12, per_device_train_batch_size=16, per_device_eval_batch_size=64, learning_rate=2e-3,
        eval_strategy="steps", eval_steps=60, save_steps=60, save_total_limit=2, logging_steps=20, load_best_model_at_end=True,
        metric_for_best_model="accuracy", report_to="none", use_cpu=True, dataloader_pin_memory=False,
    )
    trainer = Trainer(
        model=model, args=args, train_dataset=Reviews(1600, 0), eval_dataset=Reviews(400, 1), compute_metrics=metrics,
        callbacks=[Pace(), EarlyStoppingCallback(early_stopping_patience=3)],
    )
    trainer.train()
    print("final:", trainer.evaluate(), flush=True)
    trainer.save_model("out/best")


if __name__ == "__main__":
    main()
