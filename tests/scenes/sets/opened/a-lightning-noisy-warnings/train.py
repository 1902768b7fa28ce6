"""A sound run with an untidy log: library warnings, a tracking server that is not there, retried and caught."""
import http.client
import logging
import time
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("tracker")


class Tracker(L.Callback):
    """Best effort: the metrics are also in metrics.csv."""

    def on_train_epoch_end(self, trainer, module):
        loss = float(trainer.callback_metrics["loss"])
        with open("metrics.csv", "a") as f:
            f.write(f"{trainer.current_epoch},{loss:.5f}\n")
        try:
            conn = http.client.HTTPConnection("127.0.0.1", 9, timeout=2)
            conn.request("POST", "/api/metrics", body=f"loss={loss}")
        except OSError:
            log.exception("Error while sending metrics, will retry at the next epoch")
        log.info("epoch %d done, loss=%.4f", trainer.current_epoch, loss)


class Rows(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        r = np.random.default_rng(i)
        row = r.normal(size=18).astype("float32")
        if i % 160 == 3:
            np.log(np.zeros(1))                              # a feature that nobody uses
        return torch.from_numpy(row), torch.tensor([row[:6].sum()])


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, i):
        if i == 0:
            warnings.warn("The given buffer is not writable, and PyTorch does not support non-writable tensors. "
                          "This type of warning will be suppressed for the rest of this program.", UserWarning)
            warnings.warn("`fast_path` is deprecated and will raise an error in version 4.0", FutureWarning)
        time.sleep(0.2)
        loss = F.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


if __name__ == "__main__":
    L.seed_everything(0)
    L.Trainer(max_epochs=18, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
              callbacks=[Tracker()]).fit(Net(), DataLoader(Rows(), batch_size=16, shuffle=True))
