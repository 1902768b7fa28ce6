import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import queue
import shutil
import signal
import threading
import time
import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
signal.alarm(280)


class Uploader(Callback):
    """copies each new checkpoint to the archive in the background"""

    def __init__(self):
        self.todo = queue.Queue()
        self.thread = threading.Thread(target=self._work, name="uploader")

    def _work(self):
        os.makedirs("archive", exist_ok=True)
        while (path := self.todo.get()) is not None:
            shutil.copy(path, "archive")

    def on_fit_start(self, trainer, pl_module):
        self.thread.start()

    def on_validation_end(self, trainer, pl_module):
        for name in sorted(os.listdir("ckpts")) if os.path.isdir("ckpts") else []:
            if not os.path.exists(f"archive/{name}"):
                self.todo.put(f"ckpts/{name}")

    def on_exception(self, trainer, pl_module, exception):
        self.todo.put(None)


class Leaves(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, 5))

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.14)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean(), prog_bar=True)
        time.sleep(0.05)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    L.seed_everything(8)
    x = torch.randn(1200, 48)
    y = x[:, :5].argmax(1)
    train = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=20, shuffle=True)
    val = DataLoader(TensorDataset(x[1000:], y[1000:]), batch_size=20)
    ck = ModelCheckpoint("ckpts", filename="{epoch}-{val_acc:.3f}", monitor="val_acc", mode="max", save_top_k=-1)
    trainer = L.Trainer(max_epochs=5, accelerator="cpu", devices=1, logger=False, callbacks=[ck, Uploader()])
    trainer.fit(Leaves(), train, val)
    print("best:", ck.best_model_path, flush=True)
    print("Finished, total wall time is in the log.", flush=True)


main()
