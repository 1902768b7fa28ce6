import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


def table(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 30, generator=g)
    y = (x[:, 0] + 2.0 * torch.randn(n, generator=g) > 0).long()      # a weak signal in much noise
    return TensorDataset(x, y)


class Clf(L.LightningModule):
    def __init__(self, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 2))

    def training_step(self, batch, _):
        time.sleep(0.2)
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val/loss", F.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return [opt], [torch.optim.lr_scheduler.StepLR(opt, 20, 0.5)]


if __name__ == "__main__":
    L.seed_everything(17)
    callbacks = [
        EarlyStopping("val/loss", patience=8, verbose=True),
        ModelCheckpoint(monitor="val/loss", filename="{epoch}", save_top_k=1),
        LearningRateMonitor("epoch"),
    ]
    trainer = L.Trainer(max_epochs=500, accelerator="cpu", callbacks=callbacks, enable_progress_bar=False,
                        log_every_n_steps=4, logger=CSVLogger("logs", name="noise"))
    trainer.fit(Clf(), DataLoader(table(256, 0), batch_size=32, shuffle=True), DataLoader(table(512, 1), batch_size=256))
    print(f"best val/loss {callbacks[1].best_model_score:.4f} in {callbacks[1].best_model_path}")
