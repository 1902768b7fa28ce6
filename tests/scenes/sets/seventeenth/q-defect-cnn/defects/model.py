import time

import lightning as L
import torch
from torch import nn
from torchmetrics.classification import BinaryAccuracy


class Net(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 1))
        self.acc = BinaryAccuracy()

    def training_step(self, batch, i):
        time.sleep(0.2)
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(batch[0]).squeeze(1), batch[1])
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, i):
        time.sleep(0.2)
        out = self.net(batch[0]).squeeze(1)
        self.acc(out.sigmoid(), batch[1].int())
        self.log("val/loss", nn.functional.binary_cross_entropy_with_logits(out, batch[1]), prog_bar=True)
        self.log("val/acc", self.acc, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self.hparams.lr)
