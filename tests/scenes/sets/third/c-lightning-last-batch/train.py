import time
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")


class Patches(Dataset):
    """801 patches of the first scan, after the filter of the empty ones."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 5, (n,), generator=g)
        centre = torch.randn(5, 48, generator=torch.Generator().manual_seed(1))
        self.x = centre[self.y] + 0.8 * torch.randn(n, 48, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(0.035)
        return self.x[i], self.y[i]


class PatchNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(48, 64), nn.BatchNorm1d(64), nn.ReLU(),
                                      nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.head = nn.Linear(64, 5)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self.head(self.backbone(x)), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self.head(self.backbone(x))
        self.log("val_loss", F.cross_entropy(out, y), prog_bar=True)
        self.log("val_acc", (out.argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(42)
    train = DataLoader(Patches(801, 2), batch_size=8, shuffle=True)
    val = DataLoader(Patches(40, 3), batch_size=8)
    trainer = L.Trainer(
        max_epochs=20, accelerator="cpu", logger=False, default_root_dir="out",
        num_sanity_val_steps=1,
        callbacks=[TQDMProgressBar(refresh_rate=5),
                   ModelCheckpoint(dirpath="out/ckpt", monitor="val_loss", save_last=True)])
    trainer.fit(PatchNet(), train, val)
