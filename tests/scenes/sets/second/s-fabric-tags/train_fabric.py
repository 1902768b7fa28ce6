import csv
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import time
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
signal.alarm(300)


def main():
    fabric = L.Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(4)
    with open(f"rank{fabric.global_rank}.pid", "w") as f:
        f.write(str(os.getpid()))
    x = torch.randn(4096, 50)
    y = (x[:, :5].sum(1, keepdim=True) > 0).float().repeat(1, 6)
    model = nn.Sequential(nn.Linear(50, 64), nn.ReLU(), nn.Linear(64, 6))
    model, opt = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
    out = open("metrics.csv", "w", newline="") if fabric.global_rank == 0 else None
    rows = csv.writer(out) if out else None
    step = 0
    for epoch in range(20):
        fabric.print(f"== epoch {epoch} ==", flush=True)
        for xb, yb in loader:
            step += 1
            loss = nn.functional.binary_cross_entropy_with_logits(model(xb), yb)
            opt.zero_grad()
            fabric.backward(loss)
            opt.step()
            time.sleep(0.16)
            if rows and step % 5 == 0:
                rows.writerow([step, round(loss.item(), 5)])
                out.flush()
            if step % 20 == 0:
                fabric.print(f"step {step} | loss {loss.item():.4f}", flush=True)
        fabric.save("fabric.ckpt", {"model": model, "epoch": epoch})


main()
