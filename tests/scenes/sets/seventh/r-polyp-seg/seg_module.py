"""Small U-shaped segmentation net for colonoscopy frames (synthetic stand-in data)."""
import time

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    """Frames come as 16 bit sensor values with a per-frame exposure gain in the header."""

    def __init__(self, n, seed, gains=None):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.rand(n, 3, 32, 32, generator=g)
        self.y = (self.x.mean(1, keepdim=True) > 0.5).float()
        self.exposure = torch.full((n,), 1.0)
        if gains:
            for i, v in gains.items():
                self.exposure[i] = v

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] / self.exposure[i], self.y[i], i


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class PolypSeg(L.LightningModule):
    def __init__(self, lr=3e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(block(3, 8), block(8, 16), block(16, 8), nn.Conv2d(8, 1, 1))
        self.t0 = time.time()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, idx):
        x, y, _ = batch
        time.sleep(0.18)
        loss = F.binary_cross_entropy_with_logits(self(x), y)
        if not torch.isfinite(loss):
            return None  # do not let a broken frame into the weights
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, idx):
        x, y, _ = batch
        time.sleep(0.08)
        z = self(x)
        p = torch.sigmoid(z)
        dice = 2 * (p * y).sum() / (p.sum() + y.sum())
        self.log_dict({"val_loss": F.binary_cross_entropy_with_logits(z, y), "val_dice": dice}, on_epoch=True)

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"Epoch {self.current_epoch:02d} | step {self.global_step} | train_loss {m['train_loss']:.4f} | "
              f"val_loss {m['val_loss']:.4f} | val_dice {m['val_dice']:.4f} | {time.time() - self.t0:.0f}s", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


class Curriculum(L.LightningDataModule):
    """Clean site A first; from epoch 4 on also the frames of site B."""

    def setup(self, stage=None):
        self.a = Frames(160, 1)
        self.b = Frames(32, 2, gains={11: 0.0})
        self.val = Frames(48, 3)

    def train_dataloader(self):
        e = self.trainer.current_epoch
        ds = self.a if e < 4 else torch.utils.data.ConcatDataset([self.a, self.b])
        return DataLoader(ds, batch_size=8, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=8)


if __name__ == "__main__":
    L.seed_everything(7)
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    trainer = L.Trainer(
        max_epochs=24, accelerator="cpu", devices=1, logger=CSVLogger("runs", name="polyp"),
        reload_dataloaders_every_n_epochs=1, enable_progress_bar=False, log_every_n_steps=5,
        num_sanity_val_steps=0,
        callbacks=[ModelCheckpoint(dirpath="runs/ckpt", monitor="val_dice", mode="max", save_last=True)],
    )
    trainer.fit(PolypSeg(), datamodule=Curriculum())
