import csv
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn

torch.manual_seed(6)
net = nn.Sequential(nn.Conv1d(1, 12, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(8), nn.Flatten(), nn.Linear(96, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
t = torch.linspace(0, 1, 64)
with open("metrics.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow(["epoch", "train_loss", "train_acc", "seconds"])
    f.flush()
    for epoch in range(1, 13):
        t0, losses, right = time.time(), [], 0
        for _ in range(20):
            y = torch.randint(0, 3, (32,))
            x = torch.sin(6.28 * (y[:, None] * 2 + 2) * (t + torch.rand(32, 1))) + 0.4 * torch.randn(32, 64)
            logits = net(x[:, None])
            loss = nn.functional.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            right += (logits.argmax(1) == y).sum().item()
            time.sleep(0.25)
        out.writerow([epoch, f"{sum(losses) / 20:.5f}", f"{right / 640:.4f}", f"{time.time() - t0:.1f}"])
        f.flush()
        if epoch % 4 == 0:
            torch.save(net.state_dict(), f"net_{epoch:02d}.pt")
print("training complete, 12 epochs", flush=True)
