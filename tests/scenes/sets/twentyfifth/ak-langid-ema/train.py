"""Spoken language identification on frame energies, Lightning, evaluated with averaged weights (EMA)."""
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

LANGS, DIM = 8, 24
torch.manual_seed(0)
PROTO = torch.randn(LANGS, DIM)


def utterances(n, gain, gen):
    y = torch.randint(0, LANGS, (n,), generator=gen)
    x = 60.0 * gain * (PROTO[y] + 1.3 * torch.randn(n, DIM, generator=gen))
    return x, y


class Recordings(IterableDataset):
    """Read speech first, then the radio archive (recorded hotter)."""

    def __init__(self):
        self.n = 0

    def __iter__(self):
        gen = torch.Generator().manual_seed(7 + self.n)
        while True:
            self.n += 1
            yield utterances(32, 1.0 if self.n <= 130 else 22.0, gen)


class EMA(Callback):
    """Half precision copy of all weights and buffers, swapped in for validation."""

    def __init__(self, decay=0.95):
        self.decay, self.avg, self.kept = decay, None, None

    def on_train_batch_end(self, trainer, module, *a):
        sd = module.state_dict()
        if self.avg is None:
            self.avg = {k: v.detach().clone().half() if v.is_floating_point() else v.clone() for k, v in sd.items()}
            return
        for k, v in sd.items():
            if v.is_floating_point():
                self.avg[k] += (1 - self.decay) * (v.half() - self.avg[k])
            else:
                self.avg[k].copy_(v)

    def on_validation_epoch_start(self, trainer, module):
        if self.avg is not None:
            self.kept = {k: v.clone() for k, v in module.state_dict().items()}
            module.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in self.avg.items()})

    def on_validation_epoch_end(self, trainer, module):
        if self.kept is not None:
            module.load_state_dict(self.kept)
            self.kept = None


class LangId(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.BatchNorm1d(DIM), nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, LANGS))

    def training_step(self, batch, i):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        time.sleep(0.33)
        if i % 6 == 5:
            print(f"epoch {self.current_epoch} step {self.global_step} train_loss {loss.item():.4f}", flush=True)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch} val_loss {m['val_loss'].item():.4f} val_acc {m['val_acc'].item():.3f}",
                  flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    torch.set_num_threads(1)
    x, y = utterances(512, 1.0, torch.Generator().manual_seed(99))
    val = DataLoader(TensorDataset(x, y), batch_size=128)
    trainer = L.Trainer(max_epochs=13, limit_train_batches=30, accelerator="cpu", num_sanity_val_steps=0,
                        enable_progress_bar=False, log_every_n_steps=6, logger=CSVLogger("logs"),
                        callbacks=[EMA(), ModelCheckpoint("ckpt", save_top_k=-1, every_n_epochs=1)])
    trainer.fit(LangId(), DataLoader(Recordings(), batch_size=None), val)


if __name__ == "__main__":
    main()
