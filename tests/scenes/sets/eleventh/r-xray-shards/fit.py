import time

import torch
import torch.nn as nn
from pipeline import Shards
from rich.console import Console
from torch.utils.data import DataLoader

console = Console(width=110)
cfg = dict(batch=24, lr=2e-3, epochs=4, workers=2)
console.rule("[bold]chest x-ray triage")
console.log("config", cfg)

net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 2),
)
opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
loader = DataLoader(Shards("data/train"), batch_size=cfg["batch"], num_workers=cfg["workers"])
step = 0
for epoch in range(cfg["epochs"]):
    right = seen = 0
    t = time.time()
    for x, y in loader:
        z = net(x)
        loss = nn.functional.cross_entropy(z, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        time.sleep(0.5)
        step += 1
        right += (z.argmax(1) == y).sum().item()
        seen += len(y)
        if step % 8 == 0:
            console.log(f"epoch {epoch} step {step:>4}  loss [cyan]{loss.item():.4f}[/]  acc {right / seen:.3f}"
                        f"  {seen / (time.time() - t):.0f} img/s")
    torch.save(net.state_dict(), f"xray_{epoch}.pt")
    console.log(f"epoch {epoch} finished: acc {right / seen:.3f}")
console.log("training complete")
