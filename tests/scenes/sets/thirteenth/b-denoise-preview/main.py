import logging
import os
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

import images

logging.basicConfig(format="%(levelname)s:%(name)s:%(message)s", level=logging.INFO)
log = logging.getLogger("denoise")
EPOCHS, PREVIEW_EVERY = 10, 3


class Scans(Dataset):
    def __init__(self, n=160):
        rng = np.random.default_rng(0)
        self.raw = [images.encode(np.kron(rng.random((8, 8)), np.ones((6, 6)))) for _ in range(n)]

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        clean = torch.from_numpy(images.decode(self.raw[i]))[None]
        return clean + 0.2 * torch.randn_like(clean), clean


def preview(epoch, grid):
    """Contact sheet for the web page, in the background so that training goes on."""
    png = images.encode(grid, level=9)
    os.makedirs("previews", exist_ok=True)
    with open(f"previews/{epoch:03d}.png", "wb") as f:
        f.write(png)
    log.info("preview of epoch %d written, %d bytes", epoch, len(png))


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    loader = DataLoader(Scans(), batch_size=8, shuffle=True, num_workers=2)
    for epoch in range(1, EPOCHS + 1):
        log.info("epoch %d of %d begins", epoch, EPOCHS)
        total = 0.0
        for k, (noisy, clean) in enumerate(loader, 1):
            out = net(noisy)
            loss = F.mse_loss(out, clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            time.sleep(0.35)
            if k % 5 == 0:
                log.info("epoch %d batch %d/%d mse %.5f", epoch, k, len(loader), total / k)
        torch.save(net.state_dict(), "denoise.pt")
        log.info("epoch %d finished, psnr %.2f dB", epoch, -10 * np.log10(total / k))
        if epoch % PREVIEW_EVERY == 0:
            sheet = np.tile(out[0, 0].detach().numpy(), (48, 48)) + np.random.rand(2304, 2304) * 0.02
            threading.Thread(target=preview, args=(epoch, sheet), daemon=True).start()
            time.sleep(0.05)
    log.info("all epochs finished")


if __name__ == "__main__":
    main()
