"""A fixed time on the rented box, no fixed number of epochs. Rich bar, in a tmux session."""
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint, RichProgressBar
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 1))

    def training_step(self, batch, _):
        time.sleep(0.15)
        loss = F.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True, logger=False)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(9)
    x = torch.randn(960, 20)
    y = x[:, :4].prod(1, keepdim=True) + x.sum(1, keepdim=True)
    trainer = L.Trainer(
        max_epochs=-1, max_time={"seconds": 45}, accelerator="cpu", default_root_dir="lit",
        callbacks=[RichProgressBar(leave=True), ModelCheckpoint("lit/ckpt", every_n_train_steps=60, save_last=True)],
    )
    trainer.fit(Net(), DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
    print(f"stopped after {trainer.global_step} steps, last checkpoint lit/ckpt/last.ckpt")
