"""Lightning with a time budget (max_time): the run ends when the paid time is over and goes on tomorrow from last.ckpt."""
import os
import time

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class VQA(L.LightningModule):
    """Question and picture vector in, answer out."""

    def __init__(self):
        super().__init__()
        self.q = nn.EmbeddingBag(300, 48)
        self.v = nn.Linear(64, 48)
        self.out = nn.Linear(48, 12)

    def training_step(self, batch, i):
        q, v, y = batch
        loss = nn.functional.cross_entropy(self.out(torch.relu(self.q(q) * self.v(v))), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.25)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    L.seed_everything(0)
    torch.set_num_threads(1)
    n = 1600
    y = torch.randint(0, 12, (n,))
    q = torch.randint(0, 25, (n, 6)) + (y * 25).unsqueeze(1)
    v = torch.randn(n, 64) + nn.functional.one_hot(y, 64) * 2.0
    dl = DataLoader(TensorDataset(q, v, y), batch_size=16, shuffle=True, num_workers=0)
    save = ModelCheckpoint("ckpt", save_last=True, every_n_train_steps=50, save_top_k=1, monitor=None)
    tr = L.Trainer(max_epochs=1000, max_time="00:00:01:25", accelerator="cpu", logger=CSVLogger("logs"),
                   callbacks=[save, TQDMProgressBar(refresh_rate=10)], log_every_n_steps=10)
    last = "ckpt/last.ckpt" if os.path.exists("ckpt/last.ckpt") else None
    tr.fit(VQA(), dl, ckpt_path=last)
    tr.save_checkpoint("ckpt/last.ckpt")
    print(f"\nbudget used up at step {tr.global_step}, last.ckpt written; the next session goes on from there")
