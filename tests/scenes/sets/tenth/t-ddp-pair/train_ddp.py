"""Masked autoencoder on spectra, DDP over gloo. torchrun --standalone --nproc_per_node=2 train_ddp.py"""
import os, time, datetime as dt
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo", timeout=dt.timedelta(minutes=10))
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(5)


def say(msg):
    if rank == 0:
        print(f"{dt.datetime.now():%H:%M:%S} | {msg}", flush=True)


t = torch.linspace(0, 1, 64)
f, ph = torch.rand(512, 1) * 12 + 1, torch.rand(512, 1) * 6.28
spec = torch.sin(6.28 * f * t + ph) + 0.05 * torch.randn(512, 64)
ds = TensorDataset(spec)
sampler = DistributedSampler(ds, world, rank, shuffle=True, drop_last=True)
dl = DataLoader(ds, batch_size=16, sampler=sampler)
net = DDP(nn.Sequential(nn.Linear(128, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 64)))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
say(f"world={world} batches/rank={len(dl)} params={sum(p.numel() for p in net.parameters())}")
step = 0
for ep in range(12):
    sampler.set_epoch(ep)
    for (x,) in dl:
        keep = (torch.rand_like(x) > 0.4).float()
        rec = net(torch.cat([x * keep, keep], 1))
        loss = ((rec - x) ** 2).mean()
        opt.zero_grad(); loss.backward()
        gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        time.sleep(0.16)
        step += 1
        if step % 8 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            say(f"ep {ep:2d} | it {step:4d} | mse {mean.item() / world:.5f} | gnorm {gn.item():.3f}")
    if ep % 4 == 3:
        if rank == 0:
            torch.save({"model": net.module.state_dict(), "opt": opt.state_dict(), "step": step}, f"mae_{step}.pt")
        dist.barrier()
        say(f"saved mae_{step}.pt")
say("finished")
dist.destroy_process_group()
