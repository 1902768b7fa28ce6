import csv
import os
import time

import lightning as L
import numpy as np
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PACE = float(os.environ.get("PACE", "0.42"))
L.seed_everything(11)
torch.set_num_threads(1)


class Signs(L.LightningDataModule):
    def read(self, part):
        x = torch.from_numpy(np.load("data/signs.npy"))
        y = torch.tensor([int(r["class"]) for r in csv.DictReader(open("data/labels.csv"))])
        return TensorDataset(x[:400], y[:400]) if part == "train" else TensorDataset(x[400:], y[400:])

    def train_dataloader(self):
        return DataLoader(self.read("train"), batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.read("val"), batch_size=40)


class Net(L.LightningModule):
    def __init__(self, classes=10):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 12, 3, 2), nn.ReLU(), nn.Conv2d(12, 24, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 25, classes))

    def training_step(self, b, i):
        loss = F.cross_entropy(self.net(b[0]), b[1])
        self.log("train_loss", loss, prog_bar=True, on_step=True, on_epoch=True)
        time.sleep(PACE)
        return loss

    def validation_step(self, b, i):
        out = self.net(b[0])
        self.log("val_loss", F.cross_entropy(out, b[1]), prog_bar=True)
        self.log("val_acc", (out.argmax(1) == b[1]).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


L.Trainer(
    max_epochs=30, accelerator="cpu", log_every_n_steps=2, reload_dataloaders_every_n_epochs=1, enable_model_summary=True,
    logger=CSVLogger("logs", name="signs", flush_logs_every_n_steps=4),
    callbacks=[ModelCheckpoint("ckpt", monitor="val_acc", mode="max"), TQDMProgressBar(refresh_rate=2)],
).fit(Net(), datamodule=Signs())
