import glob
import logging
import time
import traceback

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from PIL import Image
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
log = logging.getLogger("birds")


class Jpegs(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        f = self.files[i]
        try:
            x = np.asarray(Image.open(f).convert("RGB"), np.float32) / 255 - 0.5
        except OSError:
            log.warning("cannot decode %s, taking the next image instead\n%s", f, traceback.format_exc().rstrip())
            return self[(i + 1) % len(self)]
        return torch.from_numpy(x).permute(2, 0, 1), int(f[-5])


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 12, 5, 2), nn.ReLU(), nn.Conv2d(12, 16, 3, 2), nn.ReLU(), nn.Flatten(),
                                 nn.LazyLinear(4))

    def training_step(self, b, _):
        loss = F.cross_entropy(self.net(b[0]), b[1])
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        time.sleep(0.3)
        return loss

    def validation_step(self, b, _):
        out = self.net(b[0])
        self.log_dict({"val_loss": F.cross_entropy(out, b[1]), "val_acc": (out.argmax(1) == b[1]).float().mean()})

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01, momentum=0.8, weight_decay=1e-2)


class Lines(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, i):
        if (i + 1) % 5 == 0:
            log.info("epoch %d batch %d/%d loss %.4f", trainer.current_epoch, i + 1, trainer.num_training_batches, outputs["loss"])

    def on_train_epoch_end(self, trainer, module):
        m = trainer.callback_metrics
        log.info("epoch %d train_loss %.4f val_loss %.4f val_acc %.4f", trainer.current_epoch, m["train_loss"], m["val_loss"], m["val_acc"])


if __name__ == "__main__":
    L.seed_everything(5)
    files = sorted(glob.glob("jpg/*.jpg"))
    train, val = files[:352], files[352:]
    net = Net()
    net.net(torch.zeros(1, 3, 24, 24))
    L.Trainer(max_epochs=15, accelerator="cpu", logger=CSVLogger("logs"), enable_progress_bar=False, log_every_n_steps=5,
              enable_model_summary=False, callbacks=[Lines(), ModelCheckpoint(monitor="val_loss", save_last=True)]).fit(
        net, DataLoader(Jpegs(train), 16, shuffle=True, num_workers=1, persistent_workers=True),
        DataLoader(Jpegs(val), 16))
    log.info("finished")
