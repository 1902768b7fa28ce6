"""Hourly load forecast with a temporal convolution net, PyTorch Lightning."""
import os
import time
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*num_workers.*")
PAUSE = float(os.environ.get("PAUSE", "0.4"))
torch.set_num_threads(1)
L.seed_everything(7)


def series(n):
    t = torch.arange(n + 120, dtype=torch.float32)
    y = 1.2 * torch.sin(2 * torch.pi * t / 24) + 0.5 * torch.sin(2 * torch.pi * t / 168) + 0.25 * torch.randn(n + 120)
    w = y.unfold(0, 120, 5)
    return TensorDataset(w[:, :96].unsqueeze(1), w[:, 96:])


class TCN(L.LightningModule):
    def __init__(self, width=128):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, width, 5, padding=4), nn.GELU(), nn.Conv1d(width, width, 5, stride=4, padding=4), nn.GELU(),
            nn.Conv1d(width, width, 5, stride=4, padding=4), nn.GELU(), nn.Flatten(), nn.LazyLinear(24),
        )

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch, _):
        loss = F.smooth_l1_loss(self(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val_mae", (self(batch[0]) - batch[1]).abs().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 6e-4)


class Lines(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, i):
        time.sleep(PAUSE)
        print(f"[epoch {trainer.current_epoch:3d}] step {trainer.global_step:5d}  train_loss={outputs['loss'].item():.4f}", flush=True)

    def on_validation_epoch_end(self, trainer, module):
        if not trainer.sanity_checking:
            print(f"[epoch {trainer.current_epoch:3d}] val_mae={trainer.callback_metrics['val_mae'].item():.4f}", flush=True)


if __name__ == "__main__":
    model = TCN()
    model(torch.zeros(1, 1, 96))
    trainer = L.Trainer(
        max_epochs=60, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=1,
        logger=CSVLogger("runs", name="tcn"),
        callbacks=[Lines(), ModelCheckpoint("runs/checkpoints", filename="{epoch:03d}-{val_mae:.4f}", save_top_k=-1)],
    )
    trainer.fit(model, DataLoader(series(4000), 64, shuffle=True), DataLoader(series(900), 64))
