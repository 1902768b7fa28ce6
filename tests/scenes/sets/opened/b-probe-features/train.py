import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn

torch.manual_seed(2)


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(48, 4096)
        self.out = nn.Linear(4096, 12)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        return self.out(h), h


net = Probe()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
centers = torch.randn(12, 48)
features = []                                   # for the t-SNE picture after the epoch
print("start: 600 iterations an epoch, 3 epochs", flush=True)
for epoch in range(3):
    features.clear()
    for it in range(600):
        y = torch.randint(0, 12, (512,))
        logits, h = net(centers[y] + 0.5 * torch.randn(512, 48))
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        features.append((h, y))
        time.sleep(0.25)
        if it % 10 == 0:
            acc = (logits.argmax(1) == y).float().mean().item()
            print(f"epoch {epoch} it {it:3d} loss {loss.item():.4f} acc {acc:.3f}", flush=True)
    torch.save(net.state_dict(), f"probe_{epoch}.pt")
