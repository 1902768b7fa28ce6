"""Graph convolution on a synthetic citation graph, Lightning; ends with 85 when its slot is over."""
import os
import sys
import time
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader

warnings.filterwarnings("ignore", message=".*does not have many workers.*")
torch.set_num_threads(1)
g = torch.Generator().manual_seed(0)
N, K = 300, 5
y = torch.randint(0, K, (N,), generator=g)
same = y[:, None] == y[None]
a = (torch.rand(N, N, generator=g) < torch.where(same, 0.05, 0.012)).float()
a = ((a + a.T) > 0).float() + torch.eye(N)
d = a.sum(1).rsqrt()
A = d[:, None] * a * d[None]
X = torch.randn(K, 16, generator=g)[y] * 0.5 + torch.randn(N, 16, generator=g)


class GCN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(16, 32), nn.Linear(32, K)

    def training_step(self, i, _):
        out = A @ self.l2(torch.relu(A @ self.l1(X)))
        loss = nn.functional.cross_entropy(out[i], y[i])
        self.log("loss", loss)
        time.sleep(0.33)
        return loss

    def on_train_epoch_end(self):
        with torch.no_grad():
            out = A @ self.l2(torch.relu(A @ self.l1(X)))
        acc = (out[240:].argmax(1) == y[240:]).float().mean()
        print(f"epoch {self.current_epoch + 1}/32 loss {self.trainer.callback_metrics['loss']:.4f} acc {acc:.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=4e-3)


class Slot(Callback):
    seen = 0

    def on_train_epoch_end(self, trainer, pl):
        self.seen += 1
        if self.seen == 8 and trainer.current_epoch + 1 < trainer.max_epochs:
            trainer.should_stop = True


last = "ckpt/last.ckpt" if os.path.exists("ckpt/last.ckpt") else None
print("continue from", last, flush=True)
L.seed_everything(1)
tr = L.Trainer(max_epochs=32, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
               callbacks=[ModelCheckpoint("ckpt", save_last=True, every_n_epochs=1), Slot()])
tr.fit(GCN(), DataLoader(torch.arange(240), batch_size=30, shuffle=True), ckpt_path=last)
sys.exit(0 if tr.current_epoch >= 32 else 85)
