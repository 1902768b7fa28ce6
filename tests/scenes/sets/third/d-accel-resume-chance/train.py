import argparse
import json
import os
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

CLASSES, DIM = 10, 48


def batch(centers, seed, n=128):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    x = centers[y] + torch.randn(n, DIM, generator=g)
    return x, y


def lr_at(step, base=5e-3):
    return base * 0.94 ** step


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--max-steps", type=int, default=120)
    ap.add_argument("--resume", default=None)
    ap.add_argument("--out", default="runs/cls")
    args = ap.parse_args()
    torch.set_num_threads(1)
    set_seed(17)
    accelerator = Accelerator(cpu=True)
    centers = torch.randn(CLASSES, DIM, generator=torch.Generator().manual_seed(5)) * 0.8
    model = torch.nn.Sequential(torch.nn.Linear(DIM, 64), torch.nn.ReLU(), torch.nn.Linear(64, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr_at(0))

    start = 0
    if args.resume:
        accelerator.load_state(args.resume)
        start = int(args.resume.rstrip("/").rsplit("_", 1)[1])
        accelerator.print(json.dumps({"event": "resumed", "from": args.resume, "step": start}))

    model, optimizer = accelerator.prepare(model, optimizer)

    def evaluate(step):
        model.eval()
        hit = n = 0
        with torch.no_grad():
            for k in range(8):
                x, y = batch(centers, 900_000 + k)
                hit += (model(x).argmax(1) == y).sum().item()
                n += len(y)
        model.train()
        accelerator.print(json.dumps({"event": "eval", "step": step, "accuracy": round(hit / n, 4)}))

    for step in range(start + 1, args.max_steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step)
        x, y = batch(centers, step)
        logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits, y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.16)
        if step % 4 == 0:
            acc = (logits.argmax(1) == y).float().mean().item()
            accelerator.print(json.dumps({"step": step, "loss": round(loss.item(), 4), "accuracy": round(acc, 3),
                                          "lr": float(f"{lr_at(step):.3g}")}))
        if step % 40 == 0:
            evaluate(step)
            where = os.path.join(args.out, f"step_{step}")
            accelerator.save_state(where)
            accelerator.print(json.dumps({"event": "saved", "path": where}))
    accelerator.print(json.dumps({"event": "end", "step": args.max_steps}))


if __name__ == "__main__":
    main()
