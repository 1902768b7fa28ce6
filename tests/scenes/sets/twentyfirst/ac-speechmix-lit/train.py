import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, TQDMProgressBar
from torch.utils.data import DataLoader

import data

MIX_FROM = 6


class SpeakerNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(data.MELS, 24, batch_first=True)
        self.head = nn.Linear(24, len(data.SPEAKERS))

    def training_step(self, batch, _):
        x, y = batch
        _, h = self.gru(x)
        logit = self.head(h[-1])
        loss = F.cross_entropy(logit, y)
        self.log("loss", loss, prog_bar=True)
        self.log("acc", (logit.argmax(1) == y).float().mean(), prog_bar=True)
        time.sleep(0.2)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 2e-3)


class Curriculum(Callback):
    def __init__(self, ds):
        self.ds = ds

    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch == MIX_FROM - 1:
            # workers are forked anew at each epoch
            self.ds.mix = True
            print(f"\nepoch {trainer.current_epoch}: two-speaker mixing is on", flush=True)


if __name__ == "__main__":
    L.seed_everything(11)
    data.build("cache")
    ds = data.SpeechMix("cache")
    loader = DataLoader(ds, batch_size=8, shuffle=True, num_workers=2, prefetch_factor=2)
    trainer = L.Trainer(
        max_epochs=16, accelerator="cpu", logger=False,
        callbacks=[Curriculum(ds), TQDMProgressBar(refresh_rate=5),
                   ModelCheckpoint("ckpt", filename="{epoch}-{loss:.3f}", save_top_k=-1)],
        enable_model_summary=False)
    trainer.fit(SpeakerNet(), loader)
