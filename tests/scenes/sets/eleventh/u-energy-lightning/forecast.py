import csv
import math
import sys
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

HOURS, AHEAD = 48, 24


def series(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(n, dtype=torch.float32)
    load = 1.0 + 0.4 * torch.sin(2 * math.pi * t / 24) + 0.15 * torch.sin(2 * math.pi * t / 168)
    return load + 0.08 * torch.randn(n, generator=g)


class LoadData(L.LightningDataModule):
    def setup(self, stage=None):
        s = series(3000, 5)
        w = s.unfold(0, HOURS + AHEAD, 2)
        n = len(w)
        cut = [w[: int(n * 0.7)], w[int(n * 0.7): int(n * 0.85)], w[int(n * 0.85):]]
        self.parts = [TensorDataset(c[:, :HOURS, None].clone(), c[:, HOURS:].clone()) for c in cut]

    def train_dataloader(self):
        return DataLoader(self.parts[0], batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.parts[1], batch_size=64)

    def test_dataloader(self):
        return DataLoader(self.parts[2], batch_size=64)


class Forecaster(L.LightningModule):
    def __init__(self, hidden=32, lr=4e-3):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, AHEAD)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])

    def _loss(self, batch, name):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log(f"{name}_loss", loss, prog_bar=True, on_epoch=True, on_step=name == "train")
        if name != "train":
            self.log(f"{name}_mape", ((self(x) - y).abs() / y.abs().clamp_min(0.1)).mean(), prog_bar=True)
        time.sleep(0.08)
        return loss

    def training_step(self, batch, i):
        return self._loss(batch, "train")

    def validation_step(self, batch, i):
        self._loss(batch, "val")

    def test_step(self, batch, i):
        self._loss(batch, "test")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, 0.85)}


if __name__ == "__main__" and sys.argv[1:] == ["fit"]:
    L.seed_everything(11)
    best = ModelCheckpoint(monitor="val_loss", save_top_k=1, save_last=True)
    trainer = L.Trainer(
        max_epochs=60, accelerator="cpu", logger=CSVLogger("logs", name="load24"), log_every_n_steps=10,
        gradient_clip_val=1.0, enable_model_summary=True,
        callbacks=[best, EarlyStopping("val_loss", patience=2, min_delta=1e-3, verbose=True),
                   LearningRateMonitor(), TQDMProgressBar(refresh_rate=5)])
    data = LoadData()
    model = Forecaster()
    trainer.fit(model, data)
    print(f"best checkpoint: {best.best_model_path} ({best.best_model_score:.5f})")
    trainer.test(datamodule=data, ckpt_path="best", weights_only=False)
    with torch.no_grad():
        day = model(series(3000, 5)[-HOURS:].reshape(1, -1, 1))[0].tolist()
    with open("forecast_24h.csv", "w", newline="") as f:
        csv.writer(f).writerows([["hour", "load"], *[[h, round(v, 4)] for h, v in enumerate(day)]])
    print("forecast_24h.csv written")
