"""Fine-tune a leaf classifier: head first, then the whole backbone."""
import argparse
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import BackboneFinetuning, Callback, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def leaves(n, seed):
    g = torch.Generator().manual_seed(seed)
    centre = torch.randn(12, 48, generator=torch.Generator().manual_seed(5)) * 0.55
    y = torch.randint(0, 12, (n,), generator=g)
    x = centre[y] + torch.randn(n, 48, generator=g) * 0.8
    return TensorDataset(x, y)


class LeafNet(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = nn.Sequential(nn.Linear(48, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                                      nn.Linear(256, 128), nn.ReLU())
        self.head = nn.Linear(128, 12)

    def forward(self, x):
        return self.head(self.backbone(x))

    def training_step(self, batch, i):
        x, y = batch
        time.sleep(0.12)
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        out = self(x)
        self.log("val_loss", nn.functional.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD([p for p in self.parameters() if p.requires_grad], lr=self.hparams.lr, momentum=0.9)


class Report(Callback):
    def on_train_epoch_end(self, trainer, pl):
        m = {k: float(v) for k, v in trainer.callback_metrics.items()}
        lrs = "/".join(f"{g['lr']:.3g}" for g in trainer.optimizers[0].param_groups)
        print(f"[{time.strftime('%H:%M:%S')}] epoch {trainer.current_epoch:>3} | train_loss {m.get('train_loss', 0):.4f} | "
              f"val_loss {m.get('val_loss', 0):.4f} | val_acc {m.get('val_acc', 0):.3f} | lr {lrs}", flush=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=24)
    ap.add_argument("--unfreeze-at", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--backbone-lr", type=float, default=0.02)
    a = ap.parse_args()
    L.seed_everything(11)
    trainer = L.Trainer(
        max_epochs=a.epochs, accelerator="cpu", enable_progress_bar=False, gradient_clip_val=1.0, logger=CSVLogger("runs", name="leaf"),
        log_every_n_steps=10,
        callbacks=[BackboneFinetuning(unfreeze_backbone_at_epoch=a.unfreeze_at, backbone_initial_lr=a.backbone_lr,
                                      should_align=False),
                   ModelCheckpoint(dirpath="weights", monitor="val_loss", save_last=True), LearningRateMonitor(), Report()])
    trainer.fit(LeafNet(a.lr), DataLoader(leaves(1600, 1), batch_size=64, shuffle=True), DataLoader(leaves(400, 2), batch_size=100))
