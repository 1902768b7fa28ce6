"""Caption language model, streamed from shards, with Accelerate."""
import argparse
import glob
import time

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from tqdm import tqdm


class Shards(IterableDataset):
    """Goes over the shards again and again."""

    def __init__(self, pattern):
        self.files = sorted(glob.glob(pattern))
        self.pos, self.left = 0, iter(())

    def __iter__(self):
        return self

    def __next__(self):
        row = next(self.left, None)
        if row is None:
            self.left = iter(np.load(self.files[self.pos % len(self.files)]))
            self.pos += 1
            row = next(self.left)
        return torch.from_numpy(row)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(300, 64), nn.GRU(64, 96, batch_first=True), nn.Linear(96, 300)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids[:, :-1]))[0]).flatten(0, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--max-steps", type=int, default=1200)
    a = ap.parse_args()
    set_seed(1)
    acc = Accelerator()
    model = Captioner()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / a.max_steps))
    model, opt, loader, sched = acc.prepare(model, opt, DataLoader(Shards("shards/cap-*.npy"), batch_size=8), sched)
    acc.print(f"***** Running training *****\n  Total optimization steps = {a.max_steps}\n  Instantaneous batch size per device = 8")
    bar = tqdm(total=a.max_steps, desc="Steps", mininterval=1)
    for step, ids in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(ids), ids[:, 1:].flatten())
        acc.backward(loss)
        acc.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        time.sleep(0.2)
        bar.update(1)
        bar.set_postfix(loss=f"{loss.item():.3f}", lr=f"{sched.get_last_lr()[0]:.2e}")
        if step % 100 == 0:
            acc.save_state(f"out/step_{step}")
        if step >= a.max_steps:
            break
    bar.close()
    acc.wait_for_everyone()
    acc.save(acc.unwrap_model(model).state_dict(), "out/captioner.pt")
    acc.print("Model saved to out/captioner.pt")


main()
