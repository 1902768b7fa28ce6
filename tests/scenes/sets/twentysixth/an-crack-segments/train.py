"""Crack segmentation with Lightning, little U-Net."""
import sys
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Cracks(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        m = torch.zeros(64, 64)
        y, x = 32.0, 0.0
        while 0 <= y < 63 and x < 63:
            m[int(y):int(y) + 2, int(x):int(x) + 2] = 1
            y += (torch.rand(1, generator=g).item() - 0.5) * 3
            x += 1
        img = 0.6 - 0.3 * m + 0.12 * torch.randn(64, 64, generator=g)
        return img[None], m[None]


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class CrackNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = block(1, 8), block(8, 16)
        self.u1 = block(24, 8)
        self.head = nn.Conv2d(8, 1, 1)
        self.outputs = []          # for the curve over the epoch

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        return self.head(self.u1(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))

    def training_step(self, batch, _):
        x, m = batch
        logit = self(x)
        loss = F.binary_cross_entropy_with_logits(logit, m)
        self.outputs.append({"loss": loss, "logit": logit, "mask": m})
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.25)
        return loss

    def on_train_epoch_end(self):
        mean = torch.stack([o["loss"] for o in self.outputs]).mean()
        self.log("epoch_loss", mean.detach())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 2e-3)


class Say(Callback):
    def on_train_batch_end(self, trainer, module, out, batch, i):
        if trainer.global_step % 5 == 0:
            print(f"step {trainer.global_step} epoch {trainer.current_epoch} "
                  f"train_loss={trainer.callback_metrics['train_loss'].item():.4f}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    L.seed_everything(1)
    trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=CSVLogger("logs", flush_logs_every_n_steps=10),
                        log_every_n_steps=5, enable_progress_bar=False,
                        callbacks=[Say(), ModelCheckpoint("ckpt", every_n_train_steps=40, save_last=True)])
    trainer.fit(CrackNet(), DataLoader(Cracks(480, 0), batch_size=8, shuffle=True))
