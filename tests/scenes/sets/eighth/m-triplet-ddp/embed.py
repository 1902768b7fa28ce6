"""Triplet embedding, DDP. Rank 0 hands a panel of the batch to the preview helper now and then."""
import argparse, ctypes, datetime, json, os, subprocess, sys, time
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=600)
ap.add_argument("--panel-every", type=int, default=2)
a = ap.parse_args()
ctypes.CDLL(None).prctl(1, 9)      # no rank outlives the launcher


class Previews:
    def __init__(self):
        self.p = subprocess.Popen([sys.executable, "thumbs.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def add(self, name, px):
        self.p.stdin.write(json.dumps({"id": name, "px": px}) + "\n")
        self.p.stdin.flush()

    def close(self):
        self.p.stdin.close()
        self.p.stdout.read()
        self.p.wait()


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=30))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    torch.set_num_threads(1)
    net = DDP(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 32)))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    crit = nn.TripletMarginLoss(margin=1.0)
    g = torch.Generator().manual_seed(100 + rank)
    centers = torch.randn(40, 256, generator=torch.Generator().manual_seed(1))
    prev = Previews() if rank == 0 else None
    if rank == 0:
        print(f"[rank0] world={world} params={sum(p.numel() for p in net.parameters())} panel_every={a.panel_every}")
    t0 = time.time()
    for step in range(1, a.steps + 1):
        c = torch.randint(0, 40, (32,), generator=g)
        other = (c + torch.randint(1, 40, (32,), generator=g)) % 40
        noise = lambda: torch.randn(32, 256, generator=g) * 2.0
        x = torch.cat([centers[c] + noise(), centers[c] + noise(), centers[other] + noise()])
        ea, ep, en = net(x).chunk(3)
        loss = crit(ea, ep, en)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.18)
        if rank == 0:
            if step % a.panel_every == 0:
                prev.add(f"s{step:05d}", [round(v, 5) for v in x[0, :256].tolist()] * 2)
            if step % 5 == 0:
                print(f"[rank0] step {step}/{a.steps} triplet_loss {loss.item():.4f} {step * 96 * world / (time.time() - t0):.0f} ex/s")
            if step % 50 == 0:
                os.makedirs("ckpt", exist_ok=True)
                torch.save(net.module.state_dict(), f"ckpt/embed_{step:05d}.pt")
                print(f"[rank0] saved ckpt/embed_{step:05d}.pt")
    if prev:
        prev.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
