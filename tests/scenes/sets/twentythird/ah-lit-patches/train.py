"""Patch classifier, Lightning, two persistent loader workers."""
import os
import time

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset

os.makedirs("run", exist_ok=True)
torch.set_num_threads(1)


class Patches(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        y = i % 4
        x = rng.normal(0, 0.6, (1, 16, 16)).astype(np.float32)
        x[0, (y // 2) * 8:(y // 2) * 8 + 8, (y % 2) * 8:(y % 2) * 8 + 8] += 0.5
        time.sleep(0.012)
        return torch.from_numpy(x), y


def init_worker(wid):
    # for py-spy
    with open(f"run/worker_{wid}.pid", "w") as f:
        f.write(str(os.getpid()))


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(128, 4))

    def training_step(self, b, i):
        x, y = b
        out = self.net(x)
        loss = nn.functional.cross_entropy(out, y)
        self.log("train_loss", loss)
        self.log("train_acc", (out.argmax(1) == y).float().mean())
        time.sleep(0.2)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Say(Callback):
    def on_train_batch_end(self, trainer, pl, out, batch, i):
        if trainer.global_step % 5 == 0:
            m = trainer.callback_metrics
            print(f"[epoch {trainer.current_epoch}] step {trainer.global_step} loss={m['train_loss']:.4f} "
                  f"acc={m['train_acc']:.3f}", flush=True)


L.seed_everything(5)
dl = DataLoader(Patches(), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True, worker_init_fn=init_worker)
tr = L.Trainer(max_epochs=16, accelerator="cpu", logger=CSVLogger("run", name="csv"), enable_progress_bar=False,
               enable_model_summary=False, log_every_n_steps=5,
               callbacks=[Say(), ModelCheckpoint("run/ckpt", every_n_train_steps=60, save_top_k=-1)])
tr.fit(Net(), dl)
print("fit finished", flush=True)
