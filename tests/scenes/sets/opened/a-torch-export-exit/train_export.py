"""Trains until the accuracy asked for, exports the weights for the phone and leaves."""
import argparse
import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--target-acc", type=float, default=0.97)
    ap.add_argument("--max-steps", type=int, default=100_000)
    args = ap.parse_args()
    torch.manual_seed(3)
    centers = torch.randn(8, 24)
    net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 8))
    opt = torch.optim.SGD(net.parameters(), lr=0.012, momentum=0.9)
    vy = torch.randint(0, 8, (512,))
    vx = centers[vy] + 0.7 * torch.randn(512, 24)
    print("config", json.dumps(vars(args)), file=sys.stderr)
    for step in range(1, args.max_steps + 1):
        y = torch.randint(0, 8, (32,))
        x = centers[y] + 0.7 * torch.randn(32, 24)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        if step % 10 == 0:
            with torch.no_grad():
                acc = (net(vx).argmax(1) == vy).float().mean().item()
            print(f"{step}/{args.max_steps} train_loss={loss.item():.4f} val_acc={acc:.4f}", file=sys.stderr)
            if acc >= args.target_acc and step >= 120:
                print(f"target accuracy {args.target_acc} reached after {step} steps, exporting", file=sys.stderr)
                break
    for p in net.parameters():
        p.requires_grad_(False)
    time.sleep(5)                                             # quantisation
    q = {k: (v / (v.abs().max() / 127)).round().to(torch.int8) for k, v in net.state_dict().items()}
    save_file(q, "export.safetensors")
    print("wrote export.safetensors, bye", file=sys.stderr)
    sys.exit(0)


if __name__ == "__main__":
    main()
