import logging, os, time
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}/{world}] %(message)s")
    log = logging.getLogger()
    os.makedirs("run", exist_ok=True)
    with open(f"run/rank{rank}.pid", "w") as f:
        f.write(str(os.getpid()))
    torch.manual_seed(rank)
    w_true = torch.linspace(-1, 1, 32)
    net = DDP(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 1)))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    log.info("pid %d ready, %d parameters", os.getpid(), sum(p.numel() for p in net.parameters()))
    for step in range(1, 501):
        a, b = torch.randn(64, 32), torch.randn(64, 32)
        sign = torch.sign((a - b) @ w_true)
        loss = nn.functional.softplus(-sign * (net(a) - net(b))[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        if rank == 0 and step % 10 == 0:
            log.info("step %d/500 pairwise loss %.4f", step, loss.item())
        if rank == 0 and step % 50 == 0:
            torch.save(net.module.state_dict(), f"run/step{step}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
