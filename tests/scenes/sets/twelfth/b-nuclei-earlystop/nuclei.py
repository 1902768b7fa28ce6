import logging
import time

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import BinaryJaccardIndex

logging.getLogger("lightning.pytorch").setLevel(logging.INFO)


class Nuclei(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
        self.iou = BinaryJaccardIndex()

    def training_step(self, batch, _):
        x, y = batch
        loss = F.binary_cross_entropy_with_logits(self.net(x), y)
        self.log("train/loss", loss, prog_bar=True)
        time.sleep(0.2)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        z = self.net(x)
        self.iou(z, y.int())
        self.log("val/loss", F.binary_cross_entropy_with_logits(z, y), prog_bar=True)
        self.log("val/iou", self.iou, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=1e-2)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, 0.7)}


def cells(n):
    y = F.max_pool2d((torch.rand(n, 1, 24, 24) > 0.98).float(), 5, 1, 2)
    y_noisy = torch.where(torch.rand_like(y) < 0.08, 1 - y, y)
    return TensorDataset(y + 0.4 * torch.randn_like(y), y_noisy)


L.seed_everything(9, verbose=False)
trainer = L.Trainer(
    max_epochs=60, accelerator="cpu", logger=CSVLogger("logs", name="nuclei"), log_every_n_steps=5,
    callbacks=[EarlyStopping("val/loss", patience=2, min_delta=0.004, verbose=True),
               ModelCheckpoint(monitor="val/loss", save_top_k=1), LearningRateMonitor("epoch")])
trainer.fit(Nuclei(), DataLoader(cells(200), 8, shuffle=True), DataLoader(cells(64), 16))
print(f"stopped in epoch {trainer.current_epoch}, best {trainer.checkpoint_callback.best_model_score:.4f}")
