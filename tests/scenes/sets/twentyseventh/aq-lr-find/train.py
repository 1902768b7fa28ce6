"""Lightning: first look for the learning rate, then train with it."""
import os
import sys
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.tuner import Tuner

torch.set_num_threads(1)
L.seed_everything(4)
V, T = 180, 32
PACE = float(os.environ.get("PACE", 0.27))
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(2))


def chain(i):
    g = torch.Generator().manual_seed(i)
    x = [int(torch.randint(0, V, (1,), generator=g))]
    for k in torch.randint(0, 3, (T,), generator=g).tolist():
        x.append(int(table[x[-1], k]))
    return torch.tensor(x)


class LM(L.LightningModule):
    def __init__(self, d=64, lr=1e-3):
        super().__init__()
        self.lr, self.phase = lr, "lr_find"
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(d, V)

    def loss(self, batch):
        h = self.body(self.tok(batch[:, :-1]) + self.pos.weight, mask=torch.triu(torch.ones(T, T, dtype=torch.bool), 1))
        return F.cross_entropy(self.head(h).flatten(0, 1), batch[:, 1:].flatten())

    def training_step(self, batch, i):
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def on_train_batch_end(self, outputs, batch, i):
        time.sleep(PACE)
        print(f"{self.phase}  step {self.global_step}  loss {outputs['loss'].item():.4f}  lr {self.optimizers().param_groups[0]['lr']:.3e}", flush=True)

    def validation_step(self, batch, i):
        self.log("val_loss", self.loss(batch))

    def on_validation_epoch_end(self):
        if self.phase == "train" and not self.trainer.sanity_checking:
            print(f"train  validation after step {self.trainer.global_step}: val_loss {float(self.trainer.callback_metrics['val_loss']):.4f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def trainer():
    return L.Trainer(accelerator="cpu", max_steps=340, val_check_interval=85, logger=CSVLogger("logs"), log_every_n_steps=10, enable_progress_bar=False,
                     enable_model_summary=False, callbacks=[ModelCheckpoint("ckpt", monitor="val_loss")])


train = torch.utils.data.DataLoader([chain(i) for i in range(4000)], batch_size=8, shuffle=True)
val = torch.utils.data.DataLoader([chain(i) for i in range(9000, 9080)], batch_size=16)
model, t = LM(), trainer()
print("looking for the learning rate: it goes up from 1e-5 to 10 until the loss explodes, then all is put back", flush=True)
finder = Tuner(t).lr_find(model, train, val, min_lr=1e-5, max_lr=10, num_training=130, early_stop_threshold=4.0)
model.lr, model.phase = finder.suggestion(), "train"
if not 1e-4 < model.lr < 2e-2:
    sys.exit(f"the suggestion {model.lr} makes no sense")
print(f"learning rate found: {model.lr:.2e}; training begins", flush=True)
t.fit(model, train, val)
print("done", flush=True)
