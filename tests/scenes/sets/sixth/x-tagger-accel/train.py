"""Sequence tagger with accelerate; checkpoints are written by a background thread so that the loop need not wait."""
import json
import os
import queue
import threading
import time

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

MAX_STEPS = 400
SAVE_EVERY = 15
EVAL_EVERY = 20
OUT = "outputs/tagger"


class CheckpointWriter(threading.Thread):
    def __init__(self, root):
        super().__init__(name="ckpt-writer", daemon=True)
        self.root = root
        self.jobs = queue.Queue(maxsize=2)

    def submit(self, step, state, meta):
        state = {k: v.detach().clone() for k, v in state.items()}
        self.jobs.put((step, state, meta))

    def run(self):
        while True:
            step, state, meta = self.jobs.get()
            d = os.path.join(self.root, f"step_{step:05d}")
            os.makedirs(d, exist_ok=True)
            torch.save(state, os.path.join(d, "model.pt"))
            with open(os.path.join(d, "meta.json"), "w") as f:
                json.dump(meta, f)


class Tagger(nn.Module):
    def __init__(self, vocab=400, tags=9):
        super().__init__()
        self.emb = nn.Embedding(vocab, 48)
        self.rnn = nn.LSTM(48, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(128, tags)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 400, (n, 24), generator=g)
    y = (x + torch.roll(x, 1, dims=1)) % 9
    return TensorDataset(x, y)


def evaluate(model, loader):
    model.eval()
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(nn.functional.cross_entropy(model(x).transpose(1, 2), y).numpy())
    model.train()
    return np.mean(losses)


def main():
    set_seed(3)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    model = Tagger()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    train = DataLoader(make_data(4000, 1), batch_size=32, shuffle=True)
    valid = DataLoader(make_data(256, 2), batch_size=64)
    model, opt, train, valid = accelerator.prepare(model, opt, train, valid)
    writer = CheckpointWriter(OUT)
    writer.start()
    accelerator.print(f"device {accelerator.device}, {sum(p.numel() for p in model.parameters())} parameters")

    best, step = None, 0
    bar = tqdm(total=MAX_STEPS, desc="train", disable=not accelerator.is_local_main_process)
    while step < MAX_STEPS:
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            time.sleep(0.25)
            step += 1
            bar.update(1)
            bar.set_postfix(loss=f"{loss.item():.3f}", best="-" if best is None else f"{best:.3f}")
            if step % EVAL_EVERY == 0:
                val = evaluate(model, valid)
                best = val if best is None else min(best, val)
                bar.write(f"step {step}: val_loss {val:.4f} (best {best:.4f})")
            if step % SAVE_EVERY == 0:
                writer.submit(step, accelerator.unwrap_model(model).state_dict(),
                              {"step": step, "loss": loss.item(), "best": best})
            if step >= MAX_STEPS:
                break
    bar.close()
    while not writer.jobs.empty():
        time.sleep(0.5)
    accelerator.print("training finished")


if __name__ == "__main__":
    main()
