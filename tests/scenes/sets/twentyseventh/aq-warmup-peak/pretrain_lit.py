"""Causal LM with Lightning. Linear warmup to the peak, then cosine."""
import math
import os
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

torch.set_num_threads(1)
L.seed_everything(11)
V, T = 200, 32
PEAK_LR, WARMUP, STEPS = 6e-1, 380, 700  # peak, linear warmup


class Corpus(torch.utils.data.IterableDataset):
    def __iter__(self):
        table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(2))
        g = torch.Generator().manual_seed(3)
        while True:
            x = torch.randint(0, V, (1,), generator=g).repeat(T + 1)
            pick = torch.randint(0, 3, (T,), generator=g)
            for t in range(T):
                x[t + 1] = table[x[t], pick[t]]
            yield x


class LM(L.LightningModule):
    def __init__(self, d=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.norm = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.LayerNorm(d)
        self.head = nn.Linear(d, V, bias=False)

    def training_step(self, batch, _):
        x, y = batch[:, :-1], batch[:, 1:]
        h = self.body(self.tok(x) + self.pos.weight, mask=torch.triu(torch.ones(T, T, dtype=torch.bool), 1))
        loss = F.cross_entropy(self.head(self.norm(h)).flatten(0, 1), y.flatten())
        self.log("train/loss", loss)
        return loss

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=PEAK_LR, betas=(0.9, 0.95))
        plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: (s + 1) / WARMUP if s < WARMUP else 0.5 * (1 + math.cos(math.pi * (s - WARMUP) / (STEPS - WARMUP))))
        return {"optimizer": opt, "lr_scheduler": {"scheduler": plan, "interval": "step"}}


class Lines(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        time.sleep(float(os.environ.get("PACE", 0.4)))
        if trainer.global_step % 2 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] global_step {trainer.global_step:4d}  train/loss {outputs['loss'].item():8.4f}  "
                  f"lr {trainer.optimizers[0].param_groups[0]['lr']:.2e}", flush=True)


trainer = L.Trainer(
    accelerator="cpu", max_steps=STEPS, logger=CSVLogger("logs", flush_logs_every_n_steps=20), log_every_n_steps=5, enable_progress_bar=False,
    callbacks=[Lines(), LearningRateMonitor("step"), ModelCheckpoint("ckpt", every_n_train_steps=100, save_top_k=-1)],
)
trainer.fit(LM(), torch.utils.data.DataLoader(Corpus(), batch_size=8))
