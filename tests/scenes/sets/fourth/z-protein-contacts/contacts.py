"""Contact maps of small proteins. Validation folds every target with 8 samples and is slow."""
import logging, time
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(name)s | %(message)s")
log = logging.getLogger("contacts")


class Contacts(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(8, 24, 3, padding=1), nn.ELU(), nn.Conv2d(24, 1, 3, padding=1))
        self.last = 0.0

    def loss(self, x, y):
        return nn.functional.binary_cross_entropy_with_logits(self.conv(x), y)

    def training_step(self, batch, i):
        loss = self.loss(*batch)
        self.log("train/bce", loss)
        self.last = loss.item()
        time.sleep(0.5)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        p = torch.stack([torch.sigmoid(self.conv(x + 0.1 * torch.randn_like(x))) for _ in range(8)]).mean(0)
        time.sleep(1.0)
        self.log("val/precision", ((p > 0.5) == (y > 0.5)).float().mean())

    def on_train_epoch_start(self):
        log.info("epoch %d: training on %d batches", self.current_epoch, self.trainer.num_training_batches)

    def on_train_epoch_end(self):
        log.info("epoch %d: train bce %.4f", self.current_epoch, self.last)

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            log.info("epoch %d: val precision %.4f", self.current_epoch, self.trainer.callback_metrics["val/precision"].item())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def proteins(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, 20, 20, generator=g)
    return TensorDataset(x, ((x[:, :1] + x[:, 1:2] + 0.8 * torch.randn(n, 1, 20, 20, generator=g)) > 0).float())


if __name__ == "__main__":
    L.seed_everything(3)
    torch.set_num_threads(1)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
                        enable_checkpointing=True, default_root_dir="ckpt")
    trainer.fit(Contacts(), DataLoader(proteins(160, 1), 8, shuffle=True), DataLoader(proteins(280, 2), 8))
    log.info("finished")
