"""Hourly bike demand, Lightning, stops by itself when the validation loss is flat."""
import logging
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.INFO)


class Demand(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))

    def training_step(self, batch, _):
        time.sleep(0.1)
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        time.sleep(0.1)
        self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 3e-3)


class OneLine(Callback):
    def on_validation_end(self, trainer, pl):
        if not trainer.sanity_checking:
            m = {k: round(float(v), 4) for k, v in trainer.callback_metrics.items()}
            print(f"epoch {trainer.current_epoch:3d}/200 {m}", flush=True)


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 16, generator=g)
    return TensorDataset(x, x[:, :3].sum(1, keepdim=True) + 1.5 * torch.randn(n, 1, generator=g))


if __name__ == "__main__":
    L.seed_everything(8)
    tr = L.Trainer(max_epochs=200, accelerator="cpu", enable_progress_bar=False, logger=False, callbacks=[
        EarlyStopping("val_loss", patience=6, verbose=True), ModelCheckpoint("best", monitor="val_loss"), OneLine()])
    tr.fit(Demand(), DataLoader(data(640, 0), 32, shuffle=True), DataLoader(data(160, 1), 32))
    print(f"best model: {tr.checkpoint_callback.best_model_path}", flush=True)
