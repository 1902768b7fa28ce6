import argparse
import time

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from torch import nn
from torch.utils.data import DataLoader

from .data import Chest


class Pneumonia(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 2))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.7)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, y), prog_bar=True)
        self.log("val_acc", (out.argmax(1) == y).float().mean(), prog_bar=True)
        time.sleep(0.4)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root")
    p.add_argument("--epochs", type=int)
    a = p.parse_args()
    L.seed_everything(3)
    train = DataLoader(Chest(a.root, "train"), batch_size=4, shuffle=True, num_workers=1)
    val = DataLoader(Chest(a.root, "val"), batch_size=4, num_workers=1)
    trainer = L.Trainer(
        max_epochs=a.epochs, accelerator="cpu", logger=False, log_every_n_steps=1,
        callbacks=[ModelCheckpoint(dirpath="ckpt", monitor="val_loss"), TQDMProgressBar(refresh_rate=1)])
    trainer.fit(Pneumonia(), train, val)


if __name__ == "__main__":
    main()
