"""Byte-level LM on Python sources, in three stages, hand-written loop. Config: stages.json"""
import json
import math
import os
import pathlib
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PACE = float(os.environ.get("PACE", "0.38"))
torch.manual_seed(21)
torch.set_num_threads(1)
cfg = json.load(open("stages.json"))
root = pathlib.Path(os.__file__).parent
text = b"\n".join(p.read_bytes() for p in sorted(root.glob("[a-h]*.py")))
data = torch.frombuffer(bytearray(text), dtype=torch.uint8)
val = data[-60000:]
data = data[:-60000]
T, D = 64, 96


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.o = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.ff = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x):
        b = x.shape[0]
        q, k, v = self.qkv(self.n1(x)).view(b, T, 3, 4, D // 4).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, T, D))
        return x + self.ff(self.n2(x))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.p = nn.Embedding(256, D), nn.Parameter(torch.randn(T, D) * 0.02)
        self.b = nn.Sequential(Block(), Block(), nn.LayerNorm(D))
        self.h = nn.Linear(D, 256)

    def forward(self, x):
        return self.h(self.b(self.e(x) + self.p))


def batch(src, n=8):
    i = torch.randint(len(src) - T - 1, (n,))
    s = torch.stack([src[j:j + T + 1] for j in i]).long()
    return s[:, :-1], s[:, 1:]


net = LM()
opt = torch.optim.AdamW(net.parameters(), betas=(0.9, 0.95))
step, seen, t0 = 0, 0, time.time()
for n, stage in enumerate(cfg["stages"], 1):
    print(f"--- stage {n} ({stage['name']}): {stage['steps']} steps, peak lr {stage['lr']:g}", flush=True)
    for k in range(stage["steps"]):
        lr = stage["lr"] * min(1, (k + 1) / stage["warmup"]) * (0.55 + 0.45 * math.cos(math.pi * k / stage["steps"]))
        for g in opt.param_groups:
            g["lr"] = lr
        x, y = batch(data)
        loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        seen += x.numel()
        time.sleep(PACE)
        if step % 2 == 0:
            print(f"step={step} tokens={seen} loss={loss.item():.4f} lr={lr:.2e} tok/s={seen / (time.time() - t0):.0f}", flush=True)
        if step % 80 == 0:
            with torch.no_grad():
                v = sum(F.cross_entropy(net(a).flatten(0, 1), b.flatten()).item() for a, b in [batch(val) for _ in range(8)]) / 8
            print(f"step={step} val_loss={v:.4f} bpb={v / math.log(2):.3f}", flush=True)
            torch.save({"model": net.state_dict(), "step": step}, "last.pt")
