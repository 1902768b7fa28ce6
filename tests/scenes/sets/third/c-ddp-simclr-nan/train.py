import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS = 800


def views(step, rank):
    g = torch.Generator().manual_seed(step * 17 + rank)
    centre = torch.randn(40, 64, generator=torch.Generator().manual_seed(0))
    x = centre[torch.randperm(40, generator=g)[:16]]
    return [x + 0.3 * torch.randn(16, 64, generator=g) for _ in range(2)]


def nt_xent(z, tau):
    """Contrastive loss of SimCLR; the similarity of a view to itself is masked out."""
    n = len(z) // 2
    sim = torch.exp(z @ z.T / tau) * (1.0 - torch.eye(2 * n))
    pos = torch.cat([torch.diagonal(sim, n), torch.diagonal(sim, -n)])
    return -torch.log(pos / sim.sum(1)).mean()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.ERROR,
                        format="%(asctime)s [rank%(rank)s] %(message)s".replace("%(rank)s", str(rank)))
    log = logging.getLogger("simclr")
    torch.manual_seed(6)
    net = DDP(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32)))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    log.info("world size %d, %d steps", dist.get_world_size(), STEPS)
    t = time.time()
    for step in range(1, STEPS + 1):
        tau = max(0.5 * 0.97 ** step, 0.005)          # temperature is annealed to 0.005
        z = F.normalize(net(torch.cat(views(step, rank))), dim=1)
        loss = nt_xent(z, tau)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        time.sleep(0.22)
        if step % 5 == 0:
            log.info("it %d/%d loss %.4f tau %.4f %.2f it/s", step, STEPS, loss.item(), tau, 5 / (time.time() - t))
            t = time.time()
        if step % 50 == 0 and rank == 0:
            os.makedirs("weights", exist_ok=True)
            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "it": step}, "weights/last.tmp")
            os.replace("weights/last.tmp", "weights/last.pth")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
