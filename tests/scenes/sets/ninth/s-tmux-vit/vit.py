import argparse
import time

import torch
from torch import nn


class ViT(nn.Module):
    def __init__(self, dim=32, depth=2, patch=4, side=16, classes=4):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, patch, patch)
        self.pos = nn.Parameter(torch.zeros(1, (side // patch) ** 2, dim))
        layer = nn.TransformerEncoderLayer(dim, 2, 64, batch_first=True, dropout=0.0)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.embed(x).flatten(2).transpose(1, 2) + self.pos
        return self.head(self.blocks(h).mean(1))


def images(n, gen):
    y = torch.randint(0, 4, (n,), generator=gen)
    x = torch.randn(n, 1, 16, 16, generator=gen)
    for k in range(4):
        r, c = divmod(k, 2)
        x[y == k, :, r * 8 : r * 8 + 8, c * 8 : c * 8 + 8] += 1.2
    return x, y


p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int)
p.add_argument("--depth", type=int)
a = p.parse_args()
gen = torch.Generator().manual_seed(0)
torch.manual_seed(0)
model = ViT(depth=a.depth)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.epochs)
vx, vy = images(256, gen)
print(f"params: {sum(q.numel() for q in model.parameters()):,}")
for epoch in range(1, a.epochs + 1):
    t0, total = time.time(), 0.0
    model.train()
    for it in range(1, 21):
        x, y = images(32, gen)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.22)
        if it % 5 == 0:
            print(f"epoch {epoch} [{it:2d}/20] loss {loss.item():.3f}")
    sched.step()
    model.eval()
    with torch.no_grad():
        acc = (model(vx).argmax(1) == vy).float().mean().item()
    print(f"* epoch {epoch} done: train {total / 20:.3f}, val acc {acc:.3f}, {time.time() - t0:.1f}s")
    torch.save(model.state_dict(), "vit_last.pt")
