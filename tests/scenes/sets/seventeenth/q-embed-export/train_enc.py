import time

import torch
from torch import nn

from enc import encoder

torch.set_num_threads(1)
torch.manual_seed(0)
net = encoder()
opt = torch.optim.AdamW(net.parameters(), 2e-4)
world = torch.randn(64, 256)
for step in range(1, 181):
    code = torch.randn(32, 64)
    base = code @ world
    a, b = (net((base + 10 * torch.randn_like(base)) / 12) for _ in range(2))
    logits = nn.functional.normalize(a) @ nn.functional.normalize(b).T / 0.07
    loss = nn.functional.cross_entropy(logits, torch.arange(32))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.1)
    if step % 15 == 0:
        print(f"   Schritt {step:4d}/180  Verlust {loss.item():.4f}")
torch.save(net.state_dict(), "enc.pt")
