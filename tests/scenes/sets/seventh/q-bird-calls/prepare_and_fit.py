"""Bird call detector. Spectrograms are made at the first use and kept in scratch/spec (one file a clip)."""
import csv
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn as nn

CACHE = Path("scratch/spec")
CLIPS, BATCH, EPOCHS = 6000, 8, 6


def spectrogram(i):
    f = CACHE / f"{i // 500:03d}" / f"clip_{i:06d}.npy"
    if f.exists():
        return np.load(f)
    rng = np.random.default_rng(i)
    t = np.arange(2048) / 2048
    wave = np.sin(2 * np.pi * t * (80 + 60 * (i % 5))) + rng.standard_normal(2048)
    spec = np.abs(np.fft.rfft(wave.reshape(16, 128) * np.hanning(128), axis=1)).astype(np.float16)
    f.parent.mkdir(parents=True, exist_ok=True)
    np.save(f, spec)
    return spec


def main():
    torch.manual_seed(4)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16 * 65, 48), nn.ReLU(), nn.Linear(48, 5))
    opt = torch.optim.SGD(net.parameters(), lr=2e-4, momentum=0.9)
    out = open("history.csv", "w", newline="")
    rows = csv.writer(out)
    rows.writerow(["epoch", "iteration", "loss", "acc", "sec"])
    print("epoch,iteration,loss,acc,sec", flush=True)
    t0, it = time.time(), 0
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(CLIPS)
        for at in range(0, CLIPS, BATCH):
            ids = order[at:at + BATCH]
            x = torch.from_numpy(np.stack([spectrogram(int(i)) for i in ids]).astype(np.float32))
            y = torch.from_numpy(ids % 5)
            z = net(x)
            loss = nn.functional.cross_entropy(z, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            it += 1
            time.sleep(0.2)
            if it % 10 == 0:
                row = [epoch, it, f"{loss.item():.4f}", f"{(z.argmax(1) == y).float().mean().item():.3f}", f"{time.time() - t0:.1f}"]
                rows.writerow(row)
                out.flush()
                print(",".join(map(str, row)), flush=True)
        torch.save(net.state_dict(), "scratch/net.pt")


if __name__ == "__main__":
    main()
