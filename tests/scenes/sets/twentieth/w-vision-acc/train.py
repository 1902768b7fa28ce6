"""Small CNN with accelerate. State goes to one compressed file, as the bucket is billed by size."""
import gzip
import os
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

STATE = "state/latest.pt.gz"


def net():
    return nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(48 * 36, 800),
                         nn.ReLU(), nn.Linear(800, 10))


def batches(n=16):
    g = torch.Generator().manual_seed(9)
    protos = torch.randn(10, 3, 12, 12, generator=g)
    while True:
        y = torch.randint(0, 10, (n,))
        yield protos[y] + torch.randn(n, 3, 12, 12), y


def main():
    torch.set_num_threads(1)
    set_seed(21)
    acc = Accelerator(cpu=True)
    model = net()
    model, opt = acc.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-4))
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    os.makedirs("state", exist_ok=True)
    step = 0
    if os.path.exists(STATE):
        acc.print(f"loading {STATE}", flush=True)
        with gzip.open(STATE, "rb") as f:
            saved = torch.load(f, map_location="cpu")
        acc.unwrap_model(model).load_state_dict(saved["model"])
        opt.load_state_dict(saved["opt"])
        step = saved["step"]
    acc.print(f"training from step {step} on {acc.device}", flush=True)
    avg = 0.0
    for x, y in batches():
        step += 1
        with acc.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
        avg = 0.9 * avg + 0.1 * loss.item() if step > 1 else loss.item()
        time.sleep(0.08)
        if step % 20 == 0:
            acc.print(f"[{time.strftime('%X')}] step={step} loss={avg:.4f}", flush=True)
        if step % 150 == 0:
            acc.print(f"[{time.strftime('%X')}] saving state at step {step}", flush=True)
            with gzip.open(STATE, "wb", compresslevel=9) as f:
                torch.save({"model": acc.unwrap_model(model).state_dict(), "opt": opt.state_dict(), "step": step}, f)
            acc.print(f"[{time.strftime('%X')}] saved ({os.path.getsize(STATE) / 1e6:.1f} MB)", flush=True)
        if step >= 1500:
            break
    acc.print("training finished", flush=True)


main()
