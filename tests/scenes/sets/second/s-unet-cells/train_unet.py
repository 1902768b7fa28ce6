import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import sys
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(2)
signal.alarm(280)


def panel(lines):
    w = max(map(len, lines)) + 2
    print("\u256d" + "\u2500" * w + "\u256e")
    for s in lines:
        print("\u2502 " + s.ljust(w - 1) + "\u2502")
    print("\u2570" + "\u2500" * w + "\u256f", flush=True)


net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
panel(["U-Net cells", f"parameters {sum(p.numel() for p in net.parameters()):,}", "epochs 30   batches/epoch 40"])
for epoch in range(1, 31):
    t0, tot = time.time(), 0.0
    for i in range(40):
        x = torch.randn(4, 1, 24, 24)
        y = (nn.functional.avg_pool2d(x, 3, 1, 1) > 0).float()
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        if i % 8 == 7:
            done = int(30 * (i + 1) / 40)
            sys.stdout.write(f"\r  epoch {epoch:2d} {'━' * done}{'╌' * (30 - done)} {i + 1:3d}/40  loss {tot / (i + 1):.4f}")
            sys.stdout.flush()
        time.sleep(0.14)
    print(f"\r  epoch {epoch:2d} finished in {time.time() - t0:.1f}s  mean loss {tot / 40:.4f}" + " " * 30, flush=True)
    if epoch % 5 == 0:
        torch.save(net.state_dict(), "unet_last.pt")
