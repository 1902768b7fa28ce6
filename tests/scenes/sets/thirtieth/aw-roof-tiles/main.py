"""Segmentation of roofs in aerial tiles (tiny U-Net), Lightning with early stopping."""
import os
import time
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import BinaryJaccardIndex

torch.set_num_threads(1)
L.seed_everything(3, workers=True)
PACE = float(os.environ.get("PACE", "0.4"))


class Tiles(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
        self.x, self.y = [], []
        for _ in range(n):
            img, m = torch.rand(3, 32, 32, generator=g) * 0.7, torch.zeros(32, 32)
            for _ in range(3):
                cx, cy, w, h = (torch.rand(4, generator=g) * torch.tensor([32, 32, 7, 7]) + torch.tensor([0, 0, 2, 2])).tolist()
                m[((xx - cx).abs() < w) & ((yy - cy).abs() < h)] = 1
            img += m * torch.tensor([0.28, 0.08, 0.04]).view(3, 1, 1)
            flip = torch.rand(32, 32, generator=g) < 0.03
            self.x.append(img)
            self.y.append(torch.where(flip, 1 - m, m))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def conv(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


class UNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = conv(3, 8), conv(8, 16), conv(16, 16)
        self.u1, self.out = conv(32, 8), nn.Conv2d(16, 1, 1)
        self.iou = BinaryJaccardIndex()

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = F.interpolate(self.mid(F.max_pool2d(b, 2)), scale_factor=2)
        u = F.interpolate(self.u1(torch.cat([b, c], 1)), scale_factor=2)
        return self.out(torch.cat([a, u], 1)).squeeze(1)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.binary_cross_entropy_with_logits(self(x), y)
        self.log("train/loss", loss, prog_bar=True)
        time.sleep(PACE)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        p = self(x)
        self.log("val/loss", F.binary_cross_entropy_with_logits(p, y), prog_bar=True)
        self.iou(p.sigmoid(), y.int())
        self.log("val/iou", self.iou, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), 8e-3)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2), "monitor": "val/loss"}}


tr, va = DataLoader(Tiles(240, 0), 8, shuffle=True), DataLoader(Tiles(64, 1), 32)
trainer = L.Trainer(
    max_epochs=60, accelerator="cpu", log_every_n_steps=2, logger=CSVLogger("csv", name="roofs", flush_logs_every_n_steps=6),
    callbacks=[EarlyStopping("val/loss", patience=4, min_delta=0.002, verbose=True), ModelCheckpoint("ckpt", monitor="val/iou", mode="max", save_last=True), LearningRateMonitor()])
trainer.fit(UNet(), tr, va)
print("best", trainer.checkpoint_callback.best_model_path, "val/iou", float(trainer.checkpoint_callback.best_model_score))
