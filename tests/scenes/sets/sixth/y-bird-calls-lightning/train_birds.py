"""Bird call classifier in Lightning. Stops when val_f1 has not moved for five checks; then tests and exports."""
import time

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassF1Score

torch.set_num_threads(1)
SPECIES = 7


def calls(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, SPECIES, (n,), generator=g)
    x = torch.randn(n, 90, generator=g)
    x[torch.arange(n), y * 11] += 4.5
    x[torch.arange(n), y * 11 + 3] += 4.5
    return TensorDataset(x, y)


class Birds(L.LightningModule):
    def __init__(self, lr=4e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(90, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, SPECIES))
        self.f1 = MulticlassF1Score(num_classes=SPECIES, average="macro")

    def training_step(self, batch, _):
        x, y = batch
        time.sleep(0.12)
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss, on_step=True, on_epoch=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        time.sleep(0.25)                # scores the call at five speeds
        out = self.net(x)
        self.f1(out, y)
        self.log("val_f1", self.f1, on_step=False, on_epoch=True)
        self.log("val_loss", nn.functional.cross_entropy(out, y), on_epoch=True)

    def test_step(self, batch, _):
        x, y = batch
        time.sleep(0.5)
        self.log("test_acc", (self.net(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 3), "interval": "epoch"}}


def main():
    L.seed_everything(31)
    loaders = {"train": DataLoader(calls(960, 1), batch_size=32, shuffle=True), "val": DataLoader(calls(256, 2), batch_size=32),
               "test": DataLoader(calls(1280, 3), batch_size=32)}
    best = ModelCheckpoint(dirpath="birds_ckpt", filename="{epoch}-{val_f1:.3f}", monitor="val_f1", mode="max", save_top_k=1, save_last=True)
    trainer = L.Trainer(
        accelerator="cpu", devices=1, max_epochs=200, log_every_n_steps=100, enable_progress_bar=False,
        logger=CSVLogger("logs", name="birds"),
        callbacks=[best, LearningRateMonitor(), EarlyStopping("val_f1", mode="max", patience=5, min_delta=0.005, verbose=True)],
    )
    model = Birds()
    trainer.fit(model, loaders["train"], loaders["val"])
    trainer.test(model, loaders["test"], ckpt_path=best.best_model_path)
    torch.save(model.net.state_dict(), "birds.pt")
    print("exported birds.pt", flush=True)


if __name__ == "__main__":
    main()
