"""Soil carbon from 32 band ratios, linear first; SGD with warm-up. One JSON line per 5 steps."""
import json
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

BASE_LR, WARMUP, STEPS = 0.2, 20, 360


def main():
    set_seed(17)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=1)
    g = torch.Generator().manual_seed(17)
    x = torch.randn(64 * STEPS, 32, generator=g)
    y = x @ torch.randn(32, 1, generator=g) + 0.1 * torch.randn(len(x), 1, generator=g)
    model = torch.nn.Linear(32, 1)
    opt = torch.optim.SGD(model.parameters(), lr=BASE_LR)
    sched = LambdaLR(opt, lambda s: (s + 1) / WARMUP)
    model, opt, loader, sched = acc.prepare(
        model, opt, DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True), sched)
    for step, (xb, yb) in enumerate(loader, 1):
        with acc.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(xb), yb)
            acc.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
        time.sleep(0.2)
        if step % 5 == 0:
            acc.print(json.dumps({"step": step, "mse": loss.item()}), flush=True)
    acc.save_state("soil_final")


if __name__ == "__main__":
    main()
