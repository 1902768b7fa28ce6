import argparse
import time
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*num_workers.*")


class Regressor(L.LightningModule):
    def __init__(self, width=560, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.25)
        return loss

    def on_train_epoch_end(self):
        mean = self.trainer.callback_metrics["train_loss"].item()
        print(f"\nepoch {self.current_epoch} train_loss={mean:.4f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ckpt")
    p.add_argument("--epochs", type=int)
    a = p.parse_args()
    L.seed_everything(7)
    x = torch.randn(256, 32)
    y = (x[:, :4].prod(1, keepdim=True) + x[:, 5:6]).tanh()
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    saver = ModelCheckpoint(dirpath=a.ckpt, filename="{epoch:02d}-{train_loss:.3f}", save_top_k=-1)
    trainer = L.Trainer(max_epochs=a.epochs, accelerator="cpu", logger=False, callbacks=[saver, TQDMProgressBar(4)],
                        enable_model_summary=True)
    trainer.fit(Regressor(), loader)


if __name__ == "__main__":
    main()
