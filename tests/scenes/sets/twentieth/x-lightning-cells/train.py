import time

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Cells(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 3))

    def _step(self, batch, name):
        x, y = batch
        out = self.net(x)
        loss = nn.functional.cross_entropy(out, y)
        self.log(f"{name}_loss", loss, prog_bar=True, on_epoch=True, on_step=name == "train")
        self.log(f"{name}_acc", (out.argmax(1) == y).float().mean(), prog_bar=name == "val", on_epoch=True, on_step=False)
        return loss

    def training_step(self, batch, _):
        time.sleep(0.12)
        return self._step(batch, "train")

    def validation_step(self, batch, _):
        time.sleep(0.03)
        self._step(batch, "val")

    def test_step(self, batch, _):
        self._step(batch, "test")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self.hparams.lr, weight_decay=1e-3)


def main():
    L.seed_everything(8)
    torch.set_num_threads(1)
    x = torch.randn(1200, 30)
    y = (x[:, :3] + 1.2 * torch.randn(1200, 3)).argmax(1)
    train, val, test = random_split(TensorDataset(x, y), [800, 200, 200])
    trainer = L.Trainer(
        accelerator="cpu", max_epochs=60, log_every_n_steps=5, logger=CSVLogger("logs", name="cells"),
        callbacks=[EarlyStopping("val_loss", patience=4, verbose=True), ModelCheckpoint(monitor="val_loss", save_top_k=2, save_last=True)],
    )
    trainer.fit(Cells(), DataLoader(train, 32, shuffle=True), DataLoader(val, 50))
    trainer.test(dataloaders=DataLoader(test, 50), ckpt_path="best")


if __name__ == "__main__":
    main()
