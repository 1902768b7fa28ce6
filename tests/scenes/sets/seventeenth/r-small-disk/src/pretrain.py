import argparse
import logging
import pathlib
import time

import torch
from torch import nn

log = logging.getLogger("pretrain")


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(128, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.dec = nn.Linear(width, 128)

    def forward(self, x):
        return self.dec(self.enc(x))


def save(model, opt, step, root):
    path = root / f"step_{step:06d}.pt"
    try:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, path)
        log.info("saved %s (%.1f MB)", path.name, path.stat().st_size / 1e6)
    except Exception as e:  # do not lose the run for one checkpoint
        log.warning("could not save %s: %s", path.name, e)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--steps", type=int, default=600)
    ap.add_argument("--save-every", type=int, default=40)
    a = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Encoder(320)
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    base = torch.randn(16, 128)
    log.info("%d parameters, saving to %s", sum(p.numel() for p in model.parameters()), a.out)
    for step in range(1, a.steps + 1):
        clean = torch.randn(32, 16) @ base / 4
        x = clean * (torch.rand_like(clean) > 0.3)
        loss = nn.functional.mse_loss(model(x), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.12)
        if step % 10 == 0:
            log.info("step %d/%d loss=%.4f", step, a.steps, loss.item())
        if step % a.save_every == 0:
            save(model, opt, step, a.out)
    log.info("done")


if __name__ == "__main__":
    main()
