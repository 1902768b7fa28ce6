import contextlib
import os
import time

import torch
import torch.distributed as dist
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
RANK = int(os.environ["RANK"])
console = Console(quiet=RANK != 0, log_path=False)
ACC, EPOCHS, STEPS = 4, 4, 20


def sample(g, n=32):
    x = torch.randn(n, 16, generator=g)
    return x, (x[:, :3].sum(1) > x[:, 3].abs()).long()


def validate(net):
    g = torch.Generator().manual_seed(999)
    right = 0
    with torch.no_grad():
        for _ in range(35):
            x, y = sample(g)
            right += (net(x).argmax(1) == y).sum().item()
            time.sleep(0.2)
    return right / (35 * 32)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)))
    opt = torch.optim.AdamW(net.parameters(), 4e-3)
    warm = torch.optim.lr_scheduler.LinearLR(opt, 0.01, 1.0, 20)
    g = torch.Generator().manual_seed(RANK)
    rows = []
    console.log(f"world size {dist.get_world_size()}, accumulation {ACC}, {EPOCHS} epochs of {STEPS} updates")
    for epoch in range(1, EPOCHS + 1):
        for update in range(1, STEPS + 1):
            for micro in range(ACC):
                x, y = sample(g)
                with net.no_sync() if micro < ACC - 1 else contextlib.nullcontext():
                    loss = nn.functional.cross_entropy(net(x), y) / ACC
                    loss.backward()
                time.sleep(0.08)
            opt.step()
            opt.zero_grad()
            warm.step()
            if update % 4 == 0:
                console.log(f"epoch {epoch} update {update}/{STEPS} loss {loss.item() * ACC:.4f} lr {warm.get_last_lr()[0]:.2e}")
        if RANK == 0:
            console.log("validating on rank 0")
            rows.append((epoch, loss.item() * ACC, validate(net.module)))
            torch.save(net.module.state_dict(), f"epoch{epoch}.pt")
            table = Table("epoch", "loss", "accuracy")
            for e, l, a in rows:
                table.add_row(str(e), f"{l:.4f}", f"{a:.3f}")
            console.print(table)
        dist.barrier()
    if RANK == 0:
        states = [torch.load(f"epoch{e}.pt") for e in (EPOCHS - 1, EPOCHS)]
        torch.save({k: sum(s[k] for s in states) / 2 for k in states[0]}, "average.pt")
        console.log("averaged the last two checkpoints into average.pt; all done")
    dist.destroy_process_group()


main()
