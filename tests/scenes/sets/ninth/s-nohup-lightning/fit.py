import os
import time

os.environ["OMP_NUM_THREADS"] = "1"
import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 5))

    def _step(self, batch, name):
        x, y = batch
        out = self.net(x)
        loss = nn.functional.cross_entropy(out, y)
        self.log_dict({f"{name}_loss": loss, f"{name}_acc": (out.argmax(1) == y).float().mean()}, prog_bar=True)
        return loss

    def training_step(self, batch, _):
        time.sleep(0.2)
        return self._step(batch, "train")

    def validation_step(self, batch, _):
        time.sleep(0.05)
        self._step(batch, "val")

    def test_step(self, batch, _):
        time.sleep(0.05)
        self._step(batch, "test")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=5e-3)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)]


if __name__ == "__main__":
    L.seed_everything(3)
    centres = torch.randn(5, 24)

    def split(n):
        y = torch.randint(0, 5, (n,))
        return DataLoader(TensorDataset(centres[y] + 1.3 * torch.randn(n, 24), y), batch_size=32)

    trainer = L.Trainer(
        max_epochs=12, accelerator="cpu", log_every_n_steps=5, logger=CSVLogger("logs", name="net"),
        callbacks=[ModelCheckpoint(monitor="val_acc", mode="max", save_last=True), LearningRateMonitor("epoch")],
    )
    train, val, test = split(640), split(160), split(160)
    net = Net()
    trainer.fit(net, train, val)
    trainer.test(net, test, ckpt_path="best", weights_only=False)
