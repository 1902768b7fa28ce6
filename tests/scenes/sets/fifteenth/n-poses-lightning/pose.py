import logging
import time
import warnings

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*num_workers.*")
logging.getLogger("lightning.pytorch").setLevel(logging.INFO)


class Pose(L.LightningModule):
    def __init__(self, joints=7):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(60, 64), nn.GELU(), nn.Linear(64, joints * 2))

    def _loss(self, batch):
        x, y = batch
        return nn.functional.smooth_l1_loss(self.net(x), y)

    def training_step(self, batch, i):
        loss = self._loss(batch)
        time.sleep(0.16)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, i):
        self.log("val_loss", self._loss(batch), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 2e-3)


def main():
    L.seed_everything(4)
    w = torch.randn(60, 14) / 8
    x = torch.randn(720, 60)
    y = torch.tanh(x @ w) + 0.05 * torch.randn(720, 14)
    train = DataLoader(TensorDataset(x[:640], y[:640]), batch_size=32, shuffle=True)
    val = DataLoader(TensorDataset(x[640:], y[640:]), batch_size=40)
    trainer = L.Trainer(
        max_epochs=100, accelerator="cpu", logger=CSVLogger("csv"), log_every_n_steps=5,
        callbacks=[TQDMProgressBar(refresh_rate=2), ModelCheckpoint(every_n_epochs=1, save_top_k=1)],
    )
    trainer.fit(Pose(), train, val)


main()
