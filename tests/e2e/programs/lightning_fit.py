"""A linear layer that learns to repeat its input, by the Trainer of Lightning.

    lightning_fit.py --root DIR [--max_epochs N] [--ckpt_path FILE]

It saves after the validation of every epoch; the name tells epoch, step and loss.
"""

import argparse
import time
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

parser = argparse.ArgumentParser()
parser.add_argument("--root", type=Path, required=True)
parser.add_argument("--max_epochs", type=int, default=8)
parser.add_argument("--ckpt_path", type=str, default=None, help="go on from here")
asked = parser.parse_args()


class Repeat(pl.LightningModule):
    """Mean squared error between input and output."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(16, 16)

    def loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        (x,) = batch
        loss: torch.Tensor = ((self.layer(x) - x) ** 2).mean()
        return loss

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        time.sleep(0.1)
        loss = self.loss(batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor], number: int) -> None:
        self.log("val_loss", self.loss(batch), prog_bar=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 1e-2)


torch.set_num_threads(1)
pl.seed_everything(7)
data = torch.utils.data.TensorDataset(torch.randn(256, 16))
saver = ModelCheckpoint(
    dirpath=asked.root / "checkpoints",
    filename="{epoch}-{step}-{val_loss:.4f}",
    monitor="val_loss",
    save_top_k=-1,
)
trainer = pl.Trainer(
    max_epochs=asked.max_epochs,
    log_every_n_steps=1,
    default_root_dir=asked.root,
    accelerator="cpu",
    logger=CSVLogger(asked.root),
    callbacks=[saver],
)
loader = torch.utils.data.DataLoader(data, batch_size=16)
trainer.fit(Repeat(), loader, loader, ckpt_path=asked.ckpt_path)
