import os
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from data import PETALS, Flowers
from lightning.pytorch.callbacks import Callback, EarlyStopping, LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader
from torchmetrics.classification import MulticlassAccuracy

PAUSE = float(os.environ.get("PAUSE", "0.25"))
torch.set_num_threads(1)
L.seed_everything(42, workers=True)


class Classifier(L.LightningModule):
    def __init__(self, lr=4e-3):
        super().__init__()
        self.save_hyperparameters()
        def stage(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))
        self.net = nn.Sequential(stage(3, 12), stage(12, 24), stage(24, 32), nn.Flatten(), nn.Dropout(0.3), nn.Linear(288, len(PETALS)))
        self.acc = MulticlassAccuracy(len(PETALS))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y, label_smoothing=0.05)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, y), prog_bar=True)
        self.acc(out, y)
        self.log("val_acc", self.acc, prog_bar=True)

    def test_step(self, batch, _):
        x, y = batch
        self.acc(self.net(x), y)
        self.log("test_acc", self.acc)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), self.hparams.lr, weight_decay=1e-2)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)}


class Breathe(Callback):
    def on_train_batch_end(self, *_):
        time.sleep(PAUSE)


if __name__ == "__main__":
    loaders = [DataLoader(Flowers(n, s, a), 32, shuffle=a) for n, s, a in ((768, 1, True), (192, 2, False), (192, 3, False))]
    best = ModelCheckpoint("checkpoints", monitor="val_acc", mode="max", save_top_k=1, save_last=True)
    trainer = L.Trainer(
        max_epochs=20, accelerator="cpu", logger=CSVLogger("logs", name="flowers"), log_every_n_steps=4,
        callbacks=[best, EarlyStopping("val_loss", patience=4, verbose=True), LearningRateMonitor(), TQDMProgressBar(refresh_rate=2), Breathe()],
    )
    trainer.fit(Classifier(), loaders[0], loaders[1])
    trainer.test(dataloaders=loaders[2], ckpt_path=best.best_model_path)
