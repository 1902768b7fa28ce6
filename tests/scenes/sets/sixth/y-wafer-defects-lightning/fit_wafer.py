"""Wafer defect autoencoder. Keeps every epoch: we pick the checkpoint afterwards by hand."""
import os
import time

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
CKPT_DIR = os.path.join(os.environ.get("SCRATCH", "scratch"), "wafer_ae", "checkpoints")


class Wafers(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        base = torch.randn(16, 400, generator=g)
        self.x = torch.randn(n, 16, generator=g) @ base / 4 + 0.1 * torch.randn(n, 400, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        time.sleep(0.004)
        return self.x[i]


class WaferAE(L.LightningModule):
    def __init__(self, lr=1e-3, width=256):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(400, width), nn.ReLU(), nn.Linear(width, 16),
                                 nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 400))

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self.net(batch), batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", nn.functional.mse_loss(self.net(batch), batch), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    L.seed_everything(3, workers=True)
    train = DataLoader(Wafers(640, 1), batch_size=32, shuffle=True)
    val = DataLoader(Wafers(96, 2), batch_size=32)
    keep = ModelCheckpoint(dirpath=CKPT_DIR, filename="wafer-{epoch:03d}-{val_loss:.4f}", save_top_k=-1, every_n_epochs=1)
    trainer = L.Trainer(
        accelerator="cpu", devices=1, max_epochs=40, log_every_n_steps=5,
        logger=CSVLogger("logs", name="wafer_ae"), callbacks=[keep, TQDMProgressBar(refresh_rate=5)],
    )
    trainer.fit(WaferAE(), train, val)
    print("best:", keep.best_model_path, flush=True)


if __name__ == "__main__":
    main()
