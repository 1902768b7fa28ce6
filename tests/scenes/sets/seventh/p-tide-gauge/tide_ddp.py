"""Tide forecasting, DDP (gloo). Works in time slices: saves, leaves and is sent into the queue again."""
import logging
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

SLICE_S = float(os.environ.get("SLICE_S", "25"))
TOTAL = 260


def main():
    t_end = time.time() + SLICE_S
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.ERROR, stream=sys.stderr,
                        format="%(asctime)s [tide] %(message)s")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.GRU(4, 24, batch_first=True)
    head = nn.Linear(24, 1)
    params = list(net.parameters()) + list(head.parameters())
    opt = torch.optim.Adam(params, 3e-3)
    done = 0
    if os.path.exists("tide.ckpt"):
        st = torch.load("tide.ckpt")
        net.load_state_dict(st["net"]), head.load_state_dict(st["head"]), opt.load_state_dict(st["opt"])
        done = st["step"]
        logging.info("resumed at iteration %d of %d", done, TOTAL)
    g = torch.Generator().manual_seed(100 * done + rank)
    for it in range(done + 1, TOTAL + 1):
        ph = torch.rand(16, 1, 4, generator=g) * 6
        t = torch.arange(25).view(1, 25, 1) * torch.tensor([0.5, 0.3, 1.0, 0.1])
        x = torch.sin(t + ph)
        out, _ = net(x[:, :-1])
        loss = ((head(out) - x[:, 1:].sum(-1, keepdim=True)) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        for p in params:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()
        time.sleep(0.2)
        if it % 10 == 0:
            logging.info("iteration %d/%d loss %.4f", it, TOTAL, loss.item())
            over = torch.tensor(float(time.time() > t_end))
            dist.all_reduce(over, op=dist.ReduceOp.MAX)
            if over.item() and it < TOTAL:
                if rank == 0:
                    torch.save({"step": it, "net": net.state_dict(), "head": head.state_dict(), "opt": opt.state_dict()}, "tide.ckpt.new")
                    os.replace("tide.ckpt.new", "tide.ckpt")
                    logging.info("time slice of %.0f s is used up, state saved at iteration %d, leaving for the requeue", SLICE_S, it)
                dist.barrier()
                dist.destroy_process_group()
                sys.exit(0)
    if rank == 0:
        torch.save(net.state_dict(), "tide_final.pt")
        logging.info("all %d iterations done, tide_final.pt written", TOTAL)
    dist.barrier()
    dist.destroy_process_group()


main()
