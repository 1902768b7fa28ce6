"""Small diffusion model on 8x8 glyphs with Lightning; previews of every step for the web page of the group."""
import time
from pathlib import Path

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

OUT = Path("scratch")
T = 100


def glyphs(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = -torch.ones(n, 8, 8)
    for i in range(n):
        r, c = torch.randint(1, 6, (2,), generator=g).tolist()
        x[i, r : r + 2, :] = 1.0
        x[i, :, c] = 1.0
    return x.reshape(n, 64)


class Denoiser(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(65, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 64))
        self.register_buffer("abar", torch.cumprod(1 - torch.linspace(1e-4, 0.06, T), 0))
        self.last = None

    def training_step(self, batch, _):
        (x,) = batch
        t = torch.randint(0, T, (len(x),))
        a = self.abar[t][:, None]
        eps = torch.randn_like(x)
        noisy = a.sqrt() * x + (1 - a).sqrt() * eps
        out = self.net(torch.cat([noisy, t[:, None] / T], 1))
        self.last = ((noisy - (1 - a).sqrt() * out) / a.sqrt()).detach()[:3]
        loss = nn.functional.mse_loss(out, eps)
        self.log("loss", loss, prog_bar=True)
        time.sleep(0.35)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Previews(Callback):
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def on_train_batch_end(self, trainer, module, *_):
        for i, x in enumerate(module.last):
            img = ((x.reshape(8, 8).clamp(-1, 1) + 1) * 127).numpy().astype(np.uint8)
            Image.fromarray(img).resize((64, 64)).save(self.folder / f"{trainer.global_step:06d}_{i}.png")


def main():
    L.seed_everything(1)
    torch.set_num_threads(1)
    data = DataLoader(TensorDataset(glyphs(1600)), batch_size=32, shuffle=True)
    trainer = L.Trainer(
        accelerator="cpu", max_steps=600, logger=CSVLogger(OUT / "csv", flush_logs_every_n_steps=10), log_every_n_steps=5,
        callbacks=[Previews(OUT / "previews"), ModelCheckpoint(OUT / "ckpt", every_n_train_steps=40, save_top_k=-1)],
    )
    trainer.fit(Denoiser(), data)


if __name__ == "__main__":
    main()
