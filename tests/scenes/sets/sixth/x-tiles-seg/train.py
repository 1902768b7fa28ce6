"""Segmentation of map tiles with Lightning; two loader workers cut and augment the tiles."""
import os
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100003 + i)
        base = torch.randn(1, 1, 6, 6, generator=g)
        mask = (nn.functional.interpolate(base, size=(24, 24), mode="bilinear", align_corners=False)[0] > 0).float()
        image = torch.cat([mask, 1 - mask, mask * 0.5]) + 0.8 * torch.randn(3, 24, 24, generator=g)
        time.sleep(0.02)  # cut the tile out of the big raster
        return image, mask


def register_worker(worker_id):
    torch.set_num_threads(1)
    with open(f"run/loader_{worker_id}.pid", "w") as f:
        f.write(str(os.getpid()))


class Segmenter(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
            nn.Conv2d(12, 1, 1),
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.1)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", nn.functional.binary_cross_entropy_with_logits(out, y), prog_bar=True)
        self.log("val_acc", ((out > 0) == (y > 0.5)).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)}


def main():
    L.seed_everything(8)
    torch.set_num_threads(1)
    os.makedirs("run", exist_ok=True)
    train = DataLoader(Tiles(480, 1), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True,
                       worker_init_fn=register_worker)
    val = DataLoader(Tiles(64, 2), batch_size=16, num_workers=0)
    trainer = L.Trainer(
        accelerator="cpu", devices=1, max_epochs=20, num_sanity_val_steps=1, log_every_n_steps=5,
        logger=CSVLogger("lightning_logs", name="tiles"),
        callbacks=[LearningRateMonitor("epoch"), ModelCheckpoint(monitor="val_loss", save_last=True)],
    )
    trainer.fit(Segmenter(), train, val)
    print("best checkpoint:", trainer.checkpoint_callback.best_model_path)


if __name__ == "__main__":
    main()
