"""手書き数字の GAN (Lightning, 手動最適化)"""
import logging
import sys
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("gan")
X = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1


def distance(a, b):
    """平均と共分散の距離 (FID と同じ考え方)"""
    ca, cb = torch.cov(a.T), torch.cov(b.T)
    return ((a.mean(0) - b.mean(0)).pow(2).sum() + (ca - cb).pow(2).sum().sqrt()).item()


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g = nn.Sequential(nn.Linear(16, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2),
                               nn.Linear(128, 64), nn.Tanh())
        self.d = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(128, 64),
                               nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def training_step(self, batch, i):
        x = batch[0]
        og, od = self.optimizers()
        for _ in range(3):
            real, fake = self.d(x), self.d(self.g(torch.randn(len(x), 16)).detach())
            dl = F.binary_cross_entropy_with_logits(real, torch.full_like(real, 0.95)) \
                + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
            od.zero_grad()
            self.manual_backward(dl)
            od.step()
            out = self.d(self.g(torch.randn(len(x), 16)))
            gl = F.binary_cross_entropy_with_logits(out, torch.ones_like(out))
            og.zero_grad()
            self.manual_backward(gl)
            og.step()
        self.log_dict({"d_loss": dl, "g_loss": gl})
        time.sleep(0.2)
        if i % 7 == 0:
            acc = ((real > 0).float().mean() + (fake < 0).float().mean()).item() / 2
            log.info("エポック %d バッチ %d D損失 %.3f G損失 %.3f D正解率 %.2f", self.current_epoch, i,
                     dl.item(), gl.item(), acc)

    def on_train_epoch_end(self):
        with torch.no_grad():
            q = distance(X, self.g(torch.randn(1500, 16)))
        self.log("distance", q)
        log.info("エポック %d 終了 距離 %.3f", self.current_epoch, q)

    def configure_optimizers(self):
        return (torch.optim.Adam(self.g.parameters(), 4e-4, betas=(0.5, 0.999)),
                torch.optim.Adam(self.d.parameters(), 8e-4, betas=(0.5, 0.999)))


if __name__ == "__main__":
    L.seed_everything(3)
    t = L.Trainer(max_epochs=16, accelerator="cpu", logger=TensorBoardLogger("tb"), enable_progress_bar=False,
                  log_every_n_steps=7, callbacks=[ModelCheckpoint("ckpt", monitor="distance", save_top_k=2)])
    t.fit(GAN(), DataLoader(TensorDataset(X), batch_size=64, shuffle=True, drop_last=True))
    log.info("学習完了")
