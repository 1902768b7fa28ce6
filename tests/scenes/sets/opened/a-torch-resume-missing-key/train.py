import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class NetV1(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.backbone(x))


class NetV2(NetV1):
    """Renamed the head, as in the other projects."""

    def __init__(self):
        super().__init__()
        self.classifier = self.head
        del self.head

    def forward(self, x):
        return self.classifier(self.backbone(x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model", default="v2", choices=["v1", "v2"])
    ap.add_argument("--until", type=int, default=2000)
    args = ap.parse_args()
    torch.manual_seed(1)
    net = NetV1() if args.model == "v1" else NetV2()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    step = 0
    if os.path.exists("last.pt"):
        ck = torch.load("last.pt", map_location="cpu")
        print(f"=> loading checkpoint last.pt (step {ck['step']})", flush=True)
        net.load_state_dict(ck["model"])
        opt.load_state_dict(ck["optimizer"])
        step = ck["step"]
    w = torch.randn(24, 4)
    while step < args.until:
        step += 1
        x = torch.randn(32, 24)
        loss = F.cross_entropy(net(x), (x @ w).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if step % 20 == 0:
            print(f"Step: {step:6d} | Loss: {loss.item():.4f}", flush=True)
        if step % 60 == 0 or step == args.until:
            tmp = {"model": net.state_dict(), "optimizer": opt.state_dict(), "step": step}
            torch.save(tmp, "last.pt.tmp")
            os.replace("last.pt.tmp", "last.pt")


if __name__ == "__main__":
    main()
