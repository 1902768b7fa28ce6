import argparse
import os
import time
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint

warnings.filterwarnings("ignore", ".*does not have many workers.*")
p = argparse.ArgumentParser()
p.add_argument("--fold", type=int)
p.add_argument("--patience", type=int, default=12)
a = p.parse_args()
PACE = float(os.environ.get("PACE", 0.085))
torch.set_num_threads(1)
L.seed_everything(a.fold, workers=True)
r = np.random.default_rng(30)
n = 900
x = r.normal(size=(n, 1, 64)).astype("float32")
y = (np.arange(n) % 3).astype("int64")
for k in range(3):
    i = y == k
    s = r.integers(4, 44, i.sum())
    shape = [np.hanning(16), np.sign(np.sin(np.arange(16))), np.linspace(-1, 1, 16)][k] * 2.0
    for row, at in zip(np.flatnonzero(i), s):
        x[row, 0, at:at + 16] += shape
val = np.arange(n) % 5 == a.fold
ds = [torch.utils.data.TensorDataset(torch.tensor(x[m]), torch.tensor(y[m])) for m in (~val, val)]


class Ecg(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv1d(1, 12, 9), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(12, 12, 7), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(12, 3))

    def training_step(self, batch, i):
        loss = nn.functional.cross_entropy(self.f(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        time.sleep(PACE)
        return loss

    def validation_step(self, batch, i):
        out = self.f(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(out, batch[1]))
        self.log("val_acc", (out.argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 8e-3 if a.fold == 0 else 5e-4, weight_decay=1e-2)


class Lines(Callback):
    def on_train_epoch_end(self, trainer, module):
        m = trainer.callback_metrics
        print(f"fold {a.fold} epoch {trainer.current_epoch:03d} train_loss={m['train_loss']:.4f} val_loss={m['val_loss']:.4f} val_acc={m['val_acc']:.4f}", flush=True)


trainer = L.Trainer(
    max_epochs=190, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
    callbacks=[Lines(), EarlyStopping("val_loss", patience=a.patience, verbose=True), ModelCheckpoint(f"fold{a.fold}", monitor="val_loss", save_top_k=1)],
)  # fmt: skip
trainer.fit(Ecg(), torch.utils.data.DataLoader(ds[0], 72, shuffle=True), torch.utils.data.DataLoader(ds[1], 180))
print(f"fold {a.fold} best {trainer.checkpoint_callback.best_model_score:.4f}, epochs {trainer.current_epoch}", flush=True)
