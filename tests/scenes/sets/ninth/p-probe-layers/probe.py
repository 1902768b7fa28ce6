"""Fine-tune an encoder and keep its hidden states for the layer study afterwards."""
import time

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments

SEQ = 64


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 3, n)
        self.x = rng.integers(10, 800, (n, SEQ))
        for i, y in enumerate(self.y):
            self.x[i, rng.choice(SEQ, 6, replace=False)] = 2 + y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": torch.from_numpy(self.x[i]), "labels": int(self.y[i])}


class ProbeTrainer(Trainer):
    """Keeps what the layers saw, so that the study can be run when the training is over."""

    layers_seen: list = []

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs, output_hidden_states=True)
        self.layers_seen.append((inputs["labels"], [h.detach() for h in out.hidden_states]))
        time.sleep(0.2)
        return (out.loss, out) if return_outputs else out.loss

    def log(self, logs, *a, **k):
        if "loss" in logs:
            print(f"step {self.state.global_step:5d}/{self.state.max_steps}  loss {logs['loss']:.4f}  "
                  f"lr {logs['learning_rate']:.2e}  grad {logs['grad_norm']:.2f}")


cfg = DistilBertConfig(vocab_size=800, dim=128, hidden_dim=256, n_layers=3, n_heads=4, max_position_embeddings=SEQ, num_labels=3)
args = TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=4, learning_rate=5e-4, logging_steps=10,
                         save_strategy="no", use_cpu=True, report_to=[], disable_tqdm=True, dataloader_pin_memory=False)
trainer = ProbeTrainer(DistilBertForSequenceClassification(cfg), args, train_dataset=Reviews(9600, 1))
print(f"training {trainer.model.num_parameters():,} parameters on {len(trainer.train_dataset)} reviews")
trainer.train()
print("layer study:")
for k in range(cfg.n_layers + 1):
    states = torch.stack([h[k].mean((0, 1)) for _, h in trainer.layers_seen])
    print(f"  layer {k}: mean norm {states.norm(dim=-1).mean():.3f}")
trainer.save_model("out/final")
