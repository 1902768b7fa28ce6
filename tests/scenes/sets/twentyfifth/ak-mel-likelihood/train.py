"""Vocoder prior: Gaussian likelihood of mel frames, Lightning. The loss is a negative log density (nats per bin)."""
import math
import time

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

DIM, CTX = 20, 4
g = torch.Generator().manual_seed(0)
MIX = torch.randn(DIM * CTX, DIM, generator=g) / math.sqrt(DIM * CTX)


def frames(n, seed, clicks=0.0):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, DIM * CTX, generator=gen)
    y = x @ MIX * 0.5 + 0.03 * torch.randn(n, DIM, generator=gen)
    hit = torch.rand(n, generator=gen) < clicks           # clicks in old tapes
    y[hit] += 0.4
    return TensorDataset(x, y)


class Prior(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(DIM * CTX, DIM)
        self.spread = nn.Sequential(nn.Linear(DIM * CTX, 64), nn.SiLU(), nn.Linear(64, DIM))

    def nll(self, batch):
        x, y = batch
        mu, logs = self.mean(x), self.spread(x).clamp(min=-4.5)
        return (0.5 * ((y - mu) / logs.exp()) ** 2 + logs + 0.5 * math.log(2 * math.pi)).mean()

    def training_step(self, batch, i):
        loss = self.nll(batch)
        self.log("train_nll", loss)
        time.sleep(0.3)
        return loss

    def validation_step(self, batch, i):
        self.log("val_nll", self.nll(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Report(Callback):
    def on_train_batch_end(self, trainer, module, out, batch, i):
        if trainer.global_step % 8 == 0:
            print(f"step {trainer.global_step} train_nll {out['loss'].item():+.4f}", flush=True)

    def on_validation_epoch_end(self, trainer, module):
        print(f"epoch {trainer.current_epoch} val_nll {trainer.callback_metrics['val_nll'].item():+.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    trainer = L.Trainer(max_epochs=12, limit_train_batches=32, accelerator="cpu", enable_progress_bar=False,
                        num_sanity_val_steps=0, log_every_n_steps=8, logger=CSVLogger("logs"), gradient_clip_val=1.0,
                        callbacks=[Report(), ModelCheckpoint("ckpt", monitor="val_nll", save_top_k=2)])
    trainer.fit(Prior(), DataLoader(frames(6000, 1, clicks=0.004), batch_size=64, shuffle=True),
                DataLoader(frames(512, 2), batch_size=256))
    print("best", trainer.checkpoint_callback.best_model_score.item(), flush=True)


if __name__ == "__main__":
    main()
