"""Lightning: reply ranker. Every batch's predictions are dumped, one JSON file per example, for the labelling tool."""
import json
import logging
import os
import time

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("ranker")


class Ranker(L.LightningModule):
    def __init__(self, dump):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 4))
        self.dump = dump

    def training_step(self, batch, i):
        x, y = batch
        z = self.net(x)
        loss = nn.functional.cross_entropy(z, y)
        for k, (row, lab) in enumerate(zip(z.softmax(-1).tolist(), y.tolist())):
            with open(f"{self.dump}/{self.global_step:06d}_{k}.json", "w") as f:
                json.dump({"p": [round(v, 4) for v in row], "label": lab}, f)
        self.log("loss", loss)
        time.sleep(0.25)
        if self.global_step % 10 == 0:
            log.info("epoch %d global_step %d loss %.4f", self.current_epoch, self.global_step, loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    L.seed_everything(3)
    torch.set_num_threads(1)
    os.makedirs("scratch/preds", exist_ok=True)
    x = torch.randn(512, 32)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] + 0.3 * x[:, 2] > 0).long()
    dl = DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True)
    save = ModelCheckpoint("scratch/ckpt", every_n_train_steps=50, save_top_k=-1)
    tr = L.Trainer(max_epochs=20, accelerator="cpu", callbacks=[save], logger=CSVLogger("logs"),
                   enable_progress_bar=False, log_every_n_steps=10)
    tr.fit(Ranker("scratch/preds"), dl)
