"""Next-frame prediction on short synthetic clips; two loader workers render the clips."""
import csv
import logging
import os
import time

import numpy as np
import torch
import torch.nn as nn
from rich.console import Console
from rich.logging import RichHandler
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level="INFO", format="%(message)s", datefmt="[%X]",
                    handlers=[RichHandler(console=Console(width=110), show_path=False)])
log = logging.getLogger("video")
SIDE, T = 20, 5


class Clips(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, i):
        r = np.random.default_rng(i)
        yy, xx = np.mgrid[:SIDE, :SIDE]
        p, v = r.uniform(5, 15, 2), r.uniform(-1.5, 1.5, 2)
        fr = [np.exp(-((yy - p[0] - k * v[0]) ** 2 + (xx - p[1] - k * v[1]) ** 2) / 8) for k in range(T)]
        time.sleep(0.015)  # decoding
        return torch.from_numpy(np.stack(fr).astype(np.float32))


def main():
    torch.manual_seed(0)
    open("pid", "w").write(str(os.getpid()))
    net = nn.Sequential(nn.Conv2d(T - 1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
                        nn.Conv2d(16, 1, 5, padding=2))
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    dl = DataLoader(Clips(), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    out = csv.writer(open("history.csv", "w", buffering=1))
    out.writerow(["epoch", "step", "mse", "psnr"])
    step = 0
    for epoch in range(1, 17):
        for clip in dl:
            loss = (net(clip[:, :-1]) - clip[:, -1:]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.24)
            if step % 10 == 0:
                psnr = -10 * np.log10(loss.item())
                out.writerow([epoch, step, f"{loss.item():.6f}", f"{psnr:.2f}"])
                log.info("epoch %d step %d mse %.5f psnr %.2f dB", epoch, step, loss.item(), psnr)
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")
        log.info("epoch %d saved to last.pt", epoch)
    log.info("finished")


if __name__ == "__main__":
    main()
