import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
import torchmetrics
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
L.seed_everything(17)


def leaves(n, seed):
    """Discs with c veins; the class is the number of veins."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    u = torch.linspace(-1, 1, 20)
    yy, xx = torch.meshgrid(u, u, indexing="ij")
    phi, r = torch.atan2(yy, xx), (xx**2 + yy**2).sqrt()
    turn = torch.rand(n, generator=g) * 6.28
    x = torch.cos((y + 2)[:, None, None] * (phi[None] + turn[:, None, None])) * (r < 0.9)
    return TensorDataset((x + 0.5 * torch.randn(x.shape, generator=g))[:, None], y)


class Leaf(L.LightningModule):
    def __init__(self, lr=3e-3, width=12):
        super().__init__()
        self.save_hyperparameters()
        w = width
        self.net = nn.Sequential(nn.Conv2d(1, w, 3, 2, 1), nn.ReLU(), nn.Conv2d(w, 2 * w, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(2 * w * 25, 4))
        self.acc = torchmetrics.classification.MulticlassAccuracy(4)

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.12)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.acc(out, y)
        self.log("val_loss", nn.functional.cross_entropy(out, y), prog_bar=True)
        self.log("val_acc", self.acc, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.lr * 10, momentum=0.9)
        return [opt], [torch.optim.lr_scheduler.StepLR(opt, 5, 0.5)]


if __name__ == "__main__":
    tr, va = DataLoader(leaves(384, 1), 16, shuffle=True), DataLoader(leaves(128, 2), 32)
    trainer = L.Trainer(
        max_epochs=14, accelerator="cpu", logger=CSVLogger("logs", name="leaf"), log_every_n_steps=5, enable_model_summary=True,
        callbacks=[EarlyStopping("val_loss", patience=4, verbose=True), ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=1, save_last=True), LearningRateMonitor()])
    model = Leaf()
    trainer.fit(model, tr, va)
    print("best:", trainer.checkpoint_callback.best_model_path, float(trainer.checkpoint_callback.best_model_score))
    trainer.validate(model, va, ckpt_path="best")
