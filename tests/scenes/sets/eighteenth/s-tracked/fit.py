import json
import logging
import os
import time
import urllib.request

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
log = logging.getLogger("fit")


class Tracker:
    def __init__(self, url):
        self.url, self.buffer, self.log = url, [], logging.getLogger("tracker")

    def send(self, **row):
        self.buffer.append(row)
        waiting = len(self.buffer)
        try:
            while self.buffer:
                req = urllib.request.Request(self.url, json.dumps(self.buffer[0]).encode(), method="POST")
                urllib.request.urlopen(req, timeout=3).close()
                self.buffer.pop(0)
        except OSError:
            self.log.warning("cannot reach %s, %d rows buffered, will retry", self.url, len(self.buffer), exc_info=True)
        else:
            if waiting > 1:
                self.log.info("connection is back, sent %d buffered rows", waiting)


class Reg(L.LightningModule):
    def __init__(self, tracker):
        super().__init__()
        self.tracker = tracker
        self.net = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 1))

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x).squeeze(1), y)
        time.sleep(0.14)
        if i % 15 == 0:
            log.info("epoch %d batch %d loss %.4f", self.current_epoch, i, loss.item())
            self.tracker.send(epoch=self.current_epoch, batch=i, loss=loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def main():
    L.seed_everything(2)
    torch.set_num_threads(1)
    x = torch.randn(2400, 16)
    y = x[:, 0] * x[:, 1] + x[:, 2] + 0.1 * torch.randn(2400)
    tracker = Tracker(f"http://127.0.0.1:{os.environ['TRACK_PORT']}/api/rows")
    trainer = L.Trainer(max_epochs=3, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Reg(tracker), DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True))
    log.info("fit finished")


if __name__ == "__main__":
    main()
