"""Distil a byte-level GPT-2 teacher into a smaller student (KL at an annealed temperature + CE)."""
import argparse
import inspect
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

BLOCK = 48


class Bytes(Dataset):
    def __init__(self, data):
        self.data = torch.tensor(list(data), dtype=torch.long).clamp(max=127)

    def __len__(self):
        return (len(self.data) - 1) // BLOCK

    def __getitem__(self, i):
        x = self.data[i * BLOCK:(i + 1) * BLOCK]
        return {"input_ids": x, "labels": x}


def gpt(n_layer, n_embd):
    return GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=BLOCK, n_layer=n_layer, n_head=4, n_embd=n_embd,
                                      bos_token_id=0, eos_token_id=0))


def fit_teacher(data, steps=160):
    model = gpt(2, 96)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        idx = torch.randint(len(data), (16,))
        x = torch.stack([data[int(i)]["input_ids"] for i in idx])
        loss = model(input_ids=x, labels=x).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 40 == 0:
            print(f"[teacher] {step:4d} ce={loss.item():.3f}")
    return model.eval()


class DistilTrainer(Trainer):
    def __init__(self, *a, teacher, t0, t1, **kw):
        super().__init__(*a, **kw)
        self.teacher, self.t0, self.t1 = teacher, t0, t1

    @property
    def temperature(self):
        return self.t0 * (self.t1 / self.t0) ** (self.state.global_step / self.state.max_steps)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        with torch.no_grad():
            target = self.teacher(input_ids=inputs["input_ids"]).logits
        t = self.temperature
        p = torch.softmax(target / t, -1)
        q = torch.softmax(out.logits / t, -1)
        kd = (p * (p.log() - q.log())).sum(-1).mean() * t * t
        time.sleep(0.08)
        loss = 0.5 * out.loss + 0.5 * kd
        return (loss, out) if return_outputs else loss

    def log(self, logs, *args, **kw):
        if "loss" in logs:
            logs["temperature"] = self.temperature
        super().log(logs, *args, **kw)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--t0", type=float, default=2.0)
    ap.add_argument("--t1", type=float, default=0.5)
    a = ap.parse_args()
    set_seed(7)
    data = Bytes(Path(argparse.__file__).read_bytes() + Path(inspect.__file__).read_bytes())
    teacher = fit_teacher(data)
    args = TrainingArguments("out", max_steps=a.steps, per_device_train_batch_size=8, learning_rate=1e-3,
                             logging_steps=10, save_steps=140, save_total_limit=2, use_cpu=True, report_to="none",
                             warmup_steps=20, dataloader_pin_memory=False)
    tr = DistilTrainer(gpt(1, 64), args, train_dataset=data, teacher=teacher, t0=a.t0, t1=a.t1)
    res = tr.train()
    tr.save_model("out/student")
    print(f"done: {res.metrics['train_runtime']:.0f}s, student written to out/student")


main()
