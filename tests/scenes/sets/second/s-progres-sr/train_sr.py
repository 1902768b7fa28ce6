import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import csv
import io
import sys
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
rows = csv.writer(sys.stdout)
rows.writerow(["iter", "stage", "l1", "sec_per_iter"])


def save(it):
    """to the network volume: writes slowly, then renames"""
    print(f"# writing net_{it}.pth to the volume", flush=True)
    t0 = time.time()
    buf = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "it": it}, buf)
    data = buf.getvalue()
    with open(f"net_{it}.pth.part", "wb") as f:
        for k in range(0, len(data), 32768):
            f.write(data[k:k + 32768])
            f.flush()
            time.sleep(0.9)
    os.rename(f"net_{it}.pth.part", f"net_{it}.pth")
    print(f"# net_{it}.pth, {len(data) / 2 ** 20:.1f} MiB in {time.time() - t0:.0f} s", flush=True)


stage, size = 1, 1.0
a = torch.randn(64, 64) / 8
for it in range(1, 461):
    t0 = time.time()
    if it == 180 or it == 360:
        stage, size = stage + 1, size * 6         # next resolution: other statistics, the loss is higher again
        a = torch.randn(64, 64) / 8
        print(f"# stage {stage}", flush=True)
    x = torch.randn(32, 64)
    loss = (net(x) - size * torch.relu(x @ a)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.12)
    if it % 10 == 0:
        rows.writerow([it, stage, f"{loss.item():.5f}", f"{time.time() - t0:.3f}"])
        sys.stdout.flush()
    if it % 240 == 0:
        save(it)
