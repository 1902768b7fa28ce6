"""GAN for glyph bitmaps. Ctrl-C ends it when the samples look good: it saves and leaves."""
import argparse
import csv
import signal
import sys
import time

import torch
from torch import nn

signal.signal(signal.SIGINT, signal.default_int_handler)      # also under nohup and in the background
ap = argparse.ArgumentParser()
ap.add_argument("--iters", type=int, default=4000)
ap.add_argument("--csv", default="losses.csv")
a = ap.parse_args()
torch.manual_seed(13)
strokes = (torch.rand(10, 144) < 0.3).float()


def real(n):
    return (strokes[torch.randint(0, 10, (n,))] + 0.1 * torch.randn(n, 144)).clamp(0, 1)


G = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 144), nn.Sigmoid())
D = nn.Sequential(nn.Linear(144, 96), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(96, 1))
og = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
od = torch.optim.Adam(D.parameters(), lr=3e-4, betas=(0.5, 0.999))
bce = nn.functional.binary_cross_entropy_with_logits


def save(it):
    torch.save({"iter": it, "G": G.state_dict(), "D": D.state_dict(), "og": og.state_dict(), "od": od.state_dict()}, "glyphs.pt")


def train(out):
    for it in range(1, a.iters + 1):
        x, z = real(64), torch.randn(64, 24)
        fake = G(z)
        ld = bce(D(x), torch.full((64, 1), 0.9)) + bce(D(fake.detach()), torch.zeros(64, 1))
        od.zero_grad()
        ld.backward()
        od.step()
        lg = bce(D(G(z)), torch.ones(64, 1))
        og.zero_grad()
        lg.backward()
        og.step()
        state["it"] = it
        out.writerow([it, f"{ld.item():.4f}", f"{lg.item():.4f}"])
        f.flush()
        if it % 25 == 0:
            print(f"iter {it}/{a.iters}  D {ld.item():.3f}  G {lg.item():.3f}", flush=True)
        if it % 100 == 0:
            save(it)
        time.sleep(0.18)


state = {"it": 0}
with open(a.csv, "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["iter", "loss_d", "loss_g"])
    print("training; Ctrl-C saves and leaves", flush=True)
    try:
        train(w)
    except KeyboardInterrupt:
        print(f"\nInterrupted by user at iter {state['it']}, saving ...", flush=True)
        save(state["it"])
        time.sleep(1.5)
        print("saved glyphs.pt, bye", flush=True)
        sys.exit(130)
    save(a.iters)
