import json
import sys
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import logging

logging.basicConfig(format="%(asctime)s | %(levelname)s | %(message)s", level=logging.INFO, datefmt="%d/%m %H:%M:%S")
logger = get_logger(__name__)


class VAE(nn.Module):
    def __init__(self, z):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 96), nn.SiLU(), nn.Linear(96, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 96), nn.SiLU(), nn.Linear(96, 64))

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(-1).mean()
        return self.dec(z), kl


def main(conf):
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    out = Path(conf["out"])
    out.mkdir(parents=True, exist_ok=True)
    basis = torch.randn(conf["latent"], 64)
    data = torch.tanh(torch.randn(1280, conf["latent"]) @ basis)
    dl = DataLoader(TensorDataset(data), batch_size=conf["batch"], shuffle=True)
    model = VAE(conf["latent"])
    opt = torch.optim.AdamW(model.parameters(), lr=conf["lr"])
    model, opt, dl = acc.prepare(model, opt, dl)
    logger.info("VAE with %d latents, %d samples, output %s", conf["latent"], len(data), out)
    for epoch in range(1, conf["epochs"] + 1):
        tot_r = tot_k = 0.0
        for (x,) in dl:
            rec, kl = model(x)
            rl = nn.functional.mse_loss(rec, x, reduction="none").sum(-1).mean()
            loss = rl + 0.1 * kl
            opt.zero_grad()
            acc.backward(loss)
            opt.step()
            tot_r += rl.item()
            tot_k += kl.item()
            time.sleep(0.07)
        logger.info("epoch %02d recon %.3f kl %.3f", epoch, tot_r / len(dl), tot_k / len(dl))
        if epoch % conf["save_every_epochs"] == 0:
            acc.save(acc.unwrap_model(model).state_dict(), out / f"vae_{epoch:02d}.pt")
            logger.info("saved %s", out / f"vae_{epoch:02d}.pt")


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
