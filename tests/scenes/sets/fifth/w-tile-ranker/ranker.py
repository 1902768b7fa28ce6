"""2 ranks; rank 0 alone scores the full benchmark in the middle and at the end, the other one waits at the barrier."""
import json
import os
import time
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

RANK = int(os.environ["RANK"])


def emit(**kw):
    if RANK == 0:
        print(json.dumps({"t": round(time.time(), 1), **kw}), flush=True)


@torch.no_grad()
def benchmark(net):
    """All pairs of the benchmark tiles, one at a time (the official script does it so)."""
    net.eval()
    hits = 0
    for i in range(1400):
        a, b = torch.randn(2, 24)
        hits += int(net(a) > net(b)) == int(a.sum() > b.sum())
        time.sleep(0.025)
    net.train()
    return hits / 1400


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(RANK)
    net = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    model = DDP(net, find_unused_parameters=True)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    warnings.warn("find_unused_parameters=True was specified, but did not find any unused parameters in the forward pass")
    for step in range(1, 121):
        a, b = torch.randn(2, 32, 24)
        margin = (model(torch.cat([a, b])).view(2, -1) * torch.tensor([[1.0], [-1.0]])).sum(0)
        loss = torch.nn.functional.softplus(-margin * (a - b).sum(1).sign()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        if step % 5 == 0:
            emit(step=step, loss=round(loss.item(), 4))
        if step % 60 == 0:
            if RANK == 0:
                emit(event="benchmark", pairs=1400)
                acc = benchmark(net)
                torch.save(net.state_dict(), f"ranker_{step}.pt")
                emit(event="benchmark done", accuracy=round(acc, 3))
            dist.barrier()
    emit(event="end", step=step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
