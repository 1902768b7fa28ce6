import logging
import time

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.tuner import Tuner
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("digits")


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=g)
    centre = torch.randn(10, 32, generator=torch.Generator().manual_seed(0))
    return TensorDataset(centre[y] + torch.randn(n, 32, generator=g), y)


class Net(L.LightningModule):
    def __init__(self, lr=0.01):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))

    def training_step(self, batch, i):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        time.sleep(0.22)
        lr = self.optimizers().param_groups[0]["lr"]
        log.info("step %d lr %.3e loss %.4f", self.global_step, lr, loss.item())
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        out = self.net(x)
        time.sleep(0.1)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if "val_acc" in m:
            log.info("epoch %d val_acc %.3f", self.current_epoch, m["val_acc"].item())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


if __name__ == "__main__":
    L.seed_everything(13)
    train = DataLoader(data(640, 1), batch_size=32, shuffle=True)
    val = DataLoader(data(128, 2), batch_size=32)
    model = Net()
    trainer = L.Trainer(
        max_epochs=10, accelerator="cpu", logger=False, enable_progress_bar=False,
        default_root_dir="out", num_sanity_val_steps=0,
        callbacks=[ModelCheckpoint(dirpath="out/ckpt", monitor="val_loss", save_top_k=2)])
    log.info("learning rate range test, 1e-5 ... 100")
    finder = Tuner(trainer).lr_find(model, train, val, min_lr=1e-5, max_lr=100.0, num_training=120,
                                    early_stop_threshold=4.0, update_attr=False)
    found = finder.suggestion() if finder is not None else None
    model.lr = min(found or 0.01, 0.03)
    log.info("range test suggests %s, using lr %.4f, training starts from the initial weights", found, model.lr)
    trainer.fit(model, train, val)
    log.info("best %s", trainer.checkpoint_callback.best_model_path)
