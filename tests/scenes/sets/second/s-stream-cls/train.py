import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)
EPOCHS = 40


def lines(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.linspace(-1, 1, 20)
    for _ in range(n):
        x = torch.randn(20, generator=g)
        yield x, (x @ w > 0).float()


class Stream(IterableDataset):
    def __init__(self, source):
        self.source = source

    def __iter__(self):
        yield from self.source


def main():
    torch.manual_seed(1)
    acc = Accelerator(cpu=True)
    model = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(Stream(lines(16 * 180, 1)), batch_size=16)
    valid = list(lines(400, 2))
    model, opt, train = acc.prepare(model, opt, train)
    vx, vy = torch.stack([a for a, _ in valid]), torch.stack([b for _, b in valid])
    acc.print(f"{EPOCHS} epochs, about 27 s each", flush=True)
    for epoch in range(1, EPOCHS + 1):
        t0, total, n = time.time(), 0.0, 0
        model.train()
        for x, y in train:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            total += loss.item()
            n += 1
            time.sleep(0.15)
        model.eval()
        with torch.no_grad():
            time.sleep(0.8)
            acc_v = ((model(vx).squeeze(-1) > 0) == (vy > 0.5)).float().mean().item()
        acc.print(f"epoch {epoch:3d}/{EPOCHS}  train loss {total / max(1, n):.4f}  val acc {acc_v:.4f}  "
                  f"({time.time() - t0:.1f} s)", flush=True)
        if epoch % 10 == 0:
            acc.save(acc.unwrap_model(model).state_dict(), f"epoch_{epoch}.pt")
    acc.print("Training finished.", flush=True)


main()
