import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import subprocess
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(6)
signal.alarm(280)
G = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 16))
D = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.99))
bce = nn.functional.binary_cross_entropy_with_logits
one, zero = torch.ones(32, 1), torch.zeros(32, 1)
mix = torch.randn(4, 16)


def snapshot(kimg):
    torch.save({"G": G.state_dict(), "D": D.state_dict(), "kimg": kimg}, "network-snapshot.pkl")
    subprocess.run(["gzip", "-k", "network-snapshot.pkl"])      # the bucket wants .gz
    print(f"snapshot at kimg {kimg} written", flush=True)


for tick in range(1, 60):
    t0 = time.time()
    for _ in range(24):
        real = torch.randn(32, 4) @ mix + 0.1 * torch.randn(32, 16)
        fake = G(torch.randn(32, 8))
        ld = bce(D(real), one) + bce(D(fake.detach()), zero)
        od.zero_grad(); ld.backward(); od.step()
        lg = bce(D(fake), one)
        og.zero_grad(); lg.backward(); og.step()
        time.sleep(0.12)
    print(f"tick {tick:<5d} kimg {tick * 4:<8.1f} time {int(time.time() - t0)}s  sec/tick {time.time() - t0:<7.1f} "
          f"Loss/G {lg.item():.3f} Loss/D {ld.item():.3f} augment {0.0:.3f}", flush=True)
    if tick % 6 == 0:
        snapshot(tick * 4)
