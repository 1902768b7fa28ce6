import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from model import WideDeep, clicks
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=5)
ap.add_argument("--batch", type=int, default=64)
args = ap.parse_args()


def emit(event, **kw):
    if dist.get_rank() == 0:
        line = json.dumps({"ts": round(time.time(), 3), "event": event, **kw})
        print(line, flush=True)
        with open("metrics.jsonl", "a") as f:
            f.write(line + "\n")


def validate(model, loader, lossf):
    model.eval()
    s = torch.zeros(3)
    for f, d, y in loader:
        with torch.no_grad():
            z = model(f, d)
        s += torch.tensor([lossf(z, y).item() * len(y), ((z > 0) == (y > 0.5)).sum().item(), len(y)])
        time.sleep(0.05)
    dist.all_reduce(s)
    model.train()
    return (s[0] / s[2]).item(), (s[1] / s[2]).item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    train, val = clicks(6400, 1), clicks(1280, 2)
    sampler = DistributedSampler(train)
    tl = DataLoader(train, args.batch, sampler=sampler, drop_last=True)
    vl = DataLoader(val, args.batch, sampler=DistributedSampler(val, shuffle=False))
    model = DistributedDataParallel(WideDeep())
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    lossf = nn.BCEWithLogitsLoss()
    emit("start", world_size=world, params=sum(p.numel() for p in model.parameters()), steps_per_epoch=len(tl))
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for f, d, y in tl:
            t = time.time()
            loss = lossf(model(f, d), y)
            opt.zero_grad()
            loss.backward()
            gn = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            step += 1
            time.sleep(0.12)
            if step % 10 == 0:
                emit("train", epoch=epoch, step=step, loss=round(loss.item(), 5), grad_norm=round(gn.item(), 4),
                     examples_per_s=round(world * args.batch / (time.time() - t), 1))
        vloss, vacc = validate(model, vl, lossf)
        emit("valid", epoch=epoch, step=step, val_loss=round(vloss, 5), val_acc=round(vacc, 4))
        if rank == 0:
            os.makedirs("ckpt", exist_ok=True)
            torch.save({"model": model.module.state_dict(), "opt": opt.state_dict()}, f"ckpt/epoch{epoch}.pt")
        dist.barrier()
    emit("end", step=step)
    dist.destroy_process_group()


main()
