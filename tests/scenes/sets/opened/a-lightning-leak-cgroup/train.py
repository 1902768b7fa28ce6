"""Feature distillation with Lightning."""
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import TQDMProgressBar
from torch.utils.data import DataLoader, Dataset

WIDTH = 49152


class Feats(Dataset):
    def __len__(self):
        return 16 * 400

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randn(64, generator=g)
        return x, (x[:8].sum() > 0).long()


class Student(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, WIDTH)
        self.head = nn.Linear(WIDTH, 2)
        self.epoch_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        hidden = torch.relu(self.up(x))
        logits = self.head(hidden)
        loss = F.cross_entropy(logits, y)
        time.sleep(0.15)
        self.log("train_loss", loss, prog_bar=True)
        # for the histogram at the end of the epoch
        self.epoch_outputs.append({"loss": loss, "hidden": hidden, "logits": logits})
        return loss

    def on_train_epoch_end(self):
        norms = torch.stack([o["hidden"].norm() for o in self.epoch_outputs])
        self.print("hidden norm", norms.mean().item())
        self.epoch_outputs.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(1)
    L.Trainer(
        max_epochs=5, accelerator="cpu", logger=False, enable_checkpointing=False, enable_model_summary=False,
        callbacks=[TQDMProgressBar(refresh_rate=5)],
    ).fit(Student(), DataLoader(Feats(), batch_size=16))
