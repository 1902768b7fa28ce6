import json, os, time
import torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
CFG = dict(steps=220, batch=24, lr=1e-3, save_every=60, keep=2)


class Bind(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(192, 128), nn.GELU(), nn.Linear(128, 48))
        self.aud = nn.Sequential(nn.Linear(96, 128), nn.GELU(), nn.Linear(128, 48))
        self.scale = nn.Parameter(torch.tensor(2.5))

    def forward(self, i, a):
        z = self.scale.exp() * F.normalize(self.img(i), dim=-1) @ F.normalize(self.aud(a), dim=-1).T
        return F.cross_entropy(z, torch.arange(len(i)))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    mix_i, mix_a = torch.randn(16, 192), torch.randn(16, 96)
    model = DDP(Bind())
    opt = torch.optim.AdamW(model.parameters(), CFG["lr"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, CFG["steps"])
    g = torch.Generator().manual_seed(100 + rank)
    out = open("metrics.jsonl", "a") if rank == 0 else None
    saved = []
    for step in range(1, CFG["steps"] + 1):
        z = torch.randn(CFG["batch"], 16, generator=g)
        noise = 1.5
        loss = model(z @ mix_i + noise * torch.randn(CFG["batch"], 192, generator=g), z @ mix_a + noise * torch.randn(CFG["batch"], 96, generator=g))
        opt.zero_grad(); loss.backward(); opt.step(); sched.step()
        time.sleep(0.18)
        if rank == 0 and step % 10 == 0:
            row = dict(step=step, loss=round(loss.item(), 4), lr=round(sched.get_last_lr()[0], 7), scale=round(model.module.scale.exp().item(), 3), world=world)
            print(json.dumps(row), flush=True)
            out.write(json.dumps(row) + "\n"); out.flush()
        if rank == 0 and step % CFG["save_every"] == 0:
            name = f"bind_{step}.pt"
            torch.save(model.module.state_dict(), name + ".part")
            os.replace(name + ".part", name)
            saved.append(name)
            while len(saved) > CFG["keep"]:
                os.remove(saved.pop(0))
            print(json.dumps(dict(event="saved", file=name)), flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
