import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from .demos import demos

EPOCHS = int(os.environ.get("EPOCHS", 14))


def say(**fields):
    if dist.get_rank() == 0:
        print(json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%S"), **fields}), flush=True)


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = TensorDataset(*demos(960, 1))
    hold = demos(200, 2)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    policy = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6)))
    opt = torch.optim.AdamW(policy.parameters(), lr=2e-3)
    say(event="start", world=dist.get_world_size(), demos=len(data), epochs=EPOCHS)
    step = 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for state, action in loader:
            loss = nn.functional.mse_loss(policy(state), action)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.15)
            if step % 15 == 0:
                say(event="train", epoch=epoch, step=step, bc_loss=round(loss.item(), 5))
        with torch.no_grad():
            val = nn.functional.mse_loss(policy.module(hold[0]), hold[1]).item()
        say(event="val", epoch=epoch, bc_val=round(val, 5))
        if dist.get_rank() == 0:
            torch.save(policy.module.state_dict(), "policy.pt.new")
            os.replace("policy.pt.new", "policy.pt")
        dist.barrier()
    say(event="end", steps=step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
