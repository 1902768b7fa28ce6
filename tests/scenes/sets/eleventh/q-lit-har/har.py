import time
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")


class HAR(L.LightningModule):
    def __init__(self, classes=6):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(3, 16, 7, 2), nn.ReLU(), nn.Conv1d(16, 32, 5, 2), nn.ReLU(),
                                 nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, classes))

    def step(self, batch):
        x, y = batch
        out = self.net(x)
        return nn.functional.cross_entropy(out, y), (out.argmax(1) == y).float().mean()

    def training_step(self, batch, _):
        loss, acc = self.step(batch)
        time.sleep(0.18)
        self.log_dict({"loss": loss, "acc": acc}, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        loss, acc = self.step(batch)
        self.log_dict({"val_loss": loss, "val_acc": acc}, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-3)
        return [opt], [torch.optim.lr_scheduler.CosineAnnealingLR(opt, 7)]


def windows(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    t = torch.linspace(0, 6.28, 64)
    x = torch.sin((y[:, None] + 1) * t)[:, None].repeat(1, 3, 1) + torch.randn(n, 3, 64, generator=g)
    return TensorDataset(x, y)


def main():
    torch.set_num_threads(1)
    L.seed_everything(42)
    trainer = L.Trainer(
        max_epochs=7, accelerator="cpu", logger=CSVLogger("logs", "har"), log_every_n_steps=5,
        callbacks=[TQDMProgressBar(refresh_rate=5), ModelCheckpoint(monitor="val_loss", save_last=True), LearningRateMonitor()])
    trainer.fit(HAR(), DataLoader(windows(960, 0), 32, shuffle=True), DataLoader(windows(320, 1), 64))
    print("best:", trainer.checkpoint_callback.best_model_path, f"{trainer.checkpoint_callback.best_model_score:.4f}")


if __name__ == "__main__":
    main()
