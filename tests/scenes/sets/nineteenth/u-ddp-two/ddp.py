import os, time, datetime
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
r = dist.get_rank(); torch.manual_seed(r)
def say(*a): print(f"[rank{r}]", *a, flush=True)
say("ready, pid", os.getpid())
net = DDP(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))); o = torch.optim.Adam(net.parameters(), 3e-3)
f = lambda x: (x[:, :1] - x[:, 1:2]).abs()
for s in range(1, 181):
    x = torch.randn(32, 12); l = ((net(x) - f(x)) ** 2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(.1)
    if s % 10 == 0:
        t = l.detach().clone(); dist.all_reduce(t)
        if r == 0: say(f"step {s}/180 loss {t.item() / 2:.4f}")
    if s % 60 == 0:
        if r == 0:
            say("evaluating ...")
            with torch.no_grad():
                v = 0
                for _ in range(30): x = torch.randn(64, 12); v += ((net.module(x) - f(x)) ** 2).mean().item() / 30; time.sleep(.2)
            torch.save(net.module.state_dict(), f"ddp_{s}.pt"); say(f"eval mse {v:.4f}, saved ddp_{s}.pt")
        dist.barrier()
dist.destroy_process_group(); say("bye")
