import argparse, os, time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
LOCAL = int(os.environ["LOCAL_RANK"])


def say(*a):
    print(f"[rank{LOCAL}]", *a, flush=True)


class PointNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.h = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, k))

    def forward(self, x):
        return self.h(self.f(x).amax(1))


def cloud(i, k):
    g = torch.Generator().manual_seed(i)
    c = i % k
    x = torch.randn(128, 3, generator=g) * torch.tensor([1.0, 0.4 + 0.3 * c, 1.5 - 0.2 * c])
    return x, c


def batches(scenes, bs, k):
    for j in range(0, len(scenes), bs):
        xs, ys = zip(*(cloud(i, k) for i in scenes[j:j + bs]))
        yield torch.stack(xs), torch.tensor(ys)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--scenes", type=int, default=1000)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--bs", type=int, default=8)
    a = p.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(PointNet(5))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    # the scans of one room stay on one rank
    rooms = [list(range(r, min(r + 136, a.scenes))) for r in range(0, a.scenes, 136)]
    mine = [i for room in rooms[rank::world] for i in room]
    say(f"{len(rooms)} rooms, {len(mine)} scans here, world {world}")
    step = 0
    for epoch in range(a.epochs):
        model.train()
        t = time.time()
        for x, y in batches(mine, a.bs, 5):
            loss = crit(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.45)
            step += 1
            if step % 5 == 0 and rank == 0:
                say(f"ep {epoch} it {step} loss {loss.item():.4f} ({(time.time() - t) / 5:.2f} s/it)")
                t = time.time()
        say(f"ep {epoch} train pass over after {step} it")
        dist.barrier()
        model.eval()
        with torch.no_grad():
            x, y = next(batches(list(range(5000, 5064)), 64, 5))
            acc = (model.module(x).argmax(1) == y).float().mean()
        dist.all_reduce(acc)
        if rank == 0:
            say(f"ep {epoch} val_acc {acc.item() / world:.3f}")
            torch.save(model.module.state_dict(), f"pointnet_ep{epoch}.pt")
    dist.destroy_process_group()


main()
