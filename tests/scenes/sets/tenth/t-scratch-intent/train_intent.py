#!/usr/bin/env python
import os
os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
import argparse, random, time
import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

ap = argparse.ArgumentParser()
ap.add_argument("--output_dir", default="scratch/intent")
ap.add_argument("--save_steps", type=int, default=20)
ap.add_argument("--epochs", type=int, default=12)
cli = ap.parse_args()
torch.set_num_threads(1)
r = random.Random(5)


def example():
    y = r.randrange(6)
    ids = [r.randrange(10, 400) for _ in range(14)]
    for _ in range(3):
        ids[r.randrange(14)] = 400 + 15 * y + r.randrange(15)
    return {"input_ids": torch.tensor([1] + ids), "labels": torch.tensor(y)}


class Pace(TrainerCallback):
    def on_step_end(self, *a, **k):
        time.sleep(0.14)

    def on_save(self, args, state, control, **k):
        print(f"saved checkpoint-{state.global_step}", flush=True)


cfg = DistilBertConfig(vocab_size=500, dim=96, n_layers=2, n_heads=4, hidden_dim=256, max_position_embeddings=32, num_labels=6)
model = DistilBertForSequenceClassification(cfg)
args = TrainingArguments(output_dir=cli.output_dir, num_train_epochs=cli.epochs, per_device_train_batch_size=16, learning_rate=1e-3, logging_steps=10, save_strategy="steps",
                         save_steps=cli.save_steps, report_to=[], use_cpu=True, disable_tqdm=True)
print(f"{sum(p.numel() for p in model.parameters())} parameters -> {cli.output_dir}")
Trainer(model=model, args=args, train_dataset=[example() for _ in range(640)], callbacks=[Pace()]).train()
model.save_pretrained(cli.output_dir + "/final")
print("done")
