import copy
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
import yaml
from torch import nn


class Eps(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.t = nn.Linear(16, c)
        self.a = nn.Conv2d(1, c, 3, padding=1)
        self.b = nn.Conv2d(c, c, 3, padding=1)
        self.c = nn.Conv2d(c, c, 3, padding=1)
        self.d = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        f = torch.exp(-math.log(1000) * torch.arange(8) / 8)
        e = t[:, None].float() * f
        e = self.t(torch.cat([e.sin(), e.cos()], 1))[:, :, None, None]
        h = F.silu(self.a(x) + e)
        h = h + F.silu(self.b(h))
        h = h + F.silu(self.c(h))
        return self.d(h)


def images(n, s):
    x = torch.zeros(n, 1, s, s) - 1
    for i in range(n):
        r, c = torch.randint(1, s - 6, (2,)).tolist()
        x[i, 0, r:r + 5, c:c + 5] = 1
    return x


def main():
    cfg = yaml.safe_load(open(sys.argv[1]))
    torch.manual_seed(11)
    betas = torch.linspace(1e-4, 0.02 * 1000 / cfg["timesteps"], cfg["timesteps"])
    abar = torch.cumprod(1 - betas, 0)
    net = Eps()
    ema = copy.deepcopy(net)
    step = 0
    with open("out/metrics.jsonl", "a") as metrics:
        for stage in cfg["stages"]:
            opt = torch.optim.Adam(net.parameters(), lr=stage["lr"])
            print(json.dumps({"event": "stage", "name": stage["name"], "lr": stage["lr"], "steps": stage["steps"]}))
            for _ in range(stage["steps"]):
                x0 = images(cfg["batch_size"], cfg["image_size"])
                t = torch.randint(0, cfg["timesteps"], (len(x0),))
                noise = torch.randn_like(x0)
                a = abar[t][:, None, None, None]
                loss = F.mse_loss(net(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
                opt.zero_grad()
                loss.backward()
                gn = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
                opt.step()
                for pe, p in zip(ema.parameters(), net.parameters()):
                    pe.data.lerp_(p.data, 1 - cfg["ema"])
                step += 1
                time.sleep(0.22)
                line = json.dumps({"step": step, "loss": round(loss.item(), 5), "grad_norm": round(gn.item(), 4), "lr": stage["lr"]})
                metrics.write(line + "\n")
                if step % 3 == 0:
                    print(line)
            torch.save(ema.state_dict(), f"out/{stage['name']}_ema.pt")
    print(json.dumps({"event": "end", "step": step}))


main()
