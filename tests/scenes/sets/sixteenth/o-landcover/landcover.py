"""Land cover segmentation on 13-band tiles."""
import logging
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(levelname)s %(name)s - %(message)s")
log = logging.getLogger("landcover")


class Tiles(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 13, 16, 16, generator=g)
        self.y = (self.x[:, 3] + self.x[:, 7] > 0.3).long() + (self.x[:, 1] > 1).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SegNet(L.LightningModule):
    def __init__(self, width=220):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(13, width, 1), nn.ReLU(), nn.Conv2d(width, 128, 1), nn.ReLU(), nn.Conv2d(128, 3, 1))
        self.context = nn.Embedding(1400, 128)  # one row for each MGRS zone

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x) + self.context.weight[0, :3].view(1, 3, 1, 1), y)
        time.sleep(0.25)
        self.log("train_loss", loss)
        if self.global_step % 8 == 0:
            log.info("epoch %d step %d train_loss %.4f", self.current_epoch, self.global_step, loss.item())
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        pred = self.net(x).argmax(1)
        self.log("val_acc", (pred == y).float().mean(), prog_bar=True)

    def on_validation_epoch_end(self):
        log.info("epoch %d val_acc %.4f", self.current_epoch, self.trainer.callback_metrics["val_acc"].item())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    torch.set_num_threads(1)
    L.seed_everything(5)
    trainer = L.Trainer(
        max_epochs=30, accelerator="cpu", logger=CSVLogger("scratch/csv"), enable_progress_bar=False, log_every_n_steps=4,
        callbacks=[ModelCheckpoint("scratch/ckpt", save_top_k=-1, every_n_epochs=1, filename="{epoch:02d}-{val_acc:.3f}")],
    )
    trainer.fit(SegNet(), DataLoader(Tiles(96, 1), batch_size=8, shuffle=True), DataLoader(Tiles(24, 2), batch_size=8))
