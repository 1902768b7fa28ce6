import json
import time

import torch
from torch import nn

torch.manual_seed(1)
Z, W = 16, 24
G = nn.Sequential(nn.Linear(Z, 256), nn.LeakyReLU(0.2), nn.Linear(256, 3 * W * W), nn.Tanh())
D = nn.Sequential(nn.Linear(3 * W * W, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
og = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), 2e-4, betas=(0.5, 0.99))
bce = nn.functional.binary_cross_entropy_with_logits


def sprites(n):
    x = -torch.ones(n, 3, W, W)
    for i in range(n):
        a, b = torch.randint(4, W - 8, (2,)).tolist()
        x[i, i % 3, a:a + 6, b:b + 6] = 1.0
    return x.flatten(1)


class Diversity:
    """Mean distance between this epoch's samples, begun once the generator has warmed up."""

    def __init__(self, first_epoch):
        self.first, self.kept = first_epoch, []

    def add(self, epoch, fake):
        if epoch >= self.first:
            self.kept.append(fake)

    def value(self):
        if len(self.kept) < 2:
            return None
        return round((self.kept[-1] - self.kept[-2]).abs().mean().item(), 4)


div = Diversity(first_epoch=3)
step = 0
for epoch in range(1, 13):
    print(json.dumps({"event": "epoch", "epoch": epoch, "of": 12}), flush=True)
    for _ in range(80):
        step += 1
        real = sprites(48)
        fake = G(torch.randn(48, Z))
        ld = bce(D(real), torch.full((48, 1), 0.9)) + bce(D(fake.detach()), torch.zeros(48, 1))
        od.zero_grad()
        ld.backward()
        od.step()
        lg = bce(D(fake), torch.ones(48, 1))
        og.zero_grad()
        lg.backward(retain_graph=True)
        og.step()
        div.add(epoch, fake)
        time.sleep(0.12)
        if step % 20 == 0:
            print(json.dumps({"event": "train", "step": step, "loss_d": round(ld.item(), 4),
                              "loss_g": round(lg.item(), 4), "div": div.value()}), flush=True)
    torch.save(G.state_dict(), "generator.pt")
