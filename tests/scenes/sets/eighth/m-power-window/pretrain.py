"""Masked-value pretraining, DDP. The hall caps our power at the full load hours: the job sits still for the window."""
import argparse, ctypes, datetime, logging, os, time
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=240)
ap.add_argument("--pause-at", type=int, default=120)
ap.add_argument("--pause-s", type=int, default=80)
a = ap.parse_args()
ctypes.CDLL(None).prctl(1, 9)      # no rank outlives the launcher
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=20))
rank = dist.get_rank()
logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                    format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
log = logging.getLogger("pretrain")
torch.manual_seed(2)
torch.set_num_threads(1)
net = DDP(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)))
opt = torch.optim.AdamW(net.parameters(), 2e-3)
g = torch.Generator().manual_seed(50 + rank)
mix = torch.randn(8, 64, generator=torch.Generator().manual_seed(1))


def save(step):
    if rank == 0:
        torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "step": step}, f"pretrain_{step}.pt")
        log.info("checkpoint pretrain_%d.pt written", step)
    dist.barrier()


for step in range(1, a.steps + 1):
    x = torch.randn(64, 8, generator=g) @ mix
    keep = (torch.rand(x.shape, generator=g) > 0.3).float()
    loss = ((net(x * keep) - x) ** 2 * (1 - keep)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.17)
    if step % 10 == 0:
        log.info("step %d/%d masked_mse %.4f", step, a.steps, loss.item())
    if step == a.pause_at:
        save(step)
        until = datetime.datetime.now() + datetime.timedelta(seconds=a.pause_s)
        log.info("power window: pausing on purpose for %d s, training continues at %s with step %d",
                 a.pause_s, until.strftime("%H:%M:%S"), step + 1)
        time.sleep(a.pause_s)
        dist.barrier()
        log.info("power window over, continuing")
save(a.steps)
log.info("pretraining finished")
dist.destroy_process_group()
