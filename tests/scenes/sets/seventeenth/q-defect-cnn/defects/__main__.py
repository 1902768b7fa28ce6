import tomllib

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

from .model import Net

conf = tomllib.load(open("conf/base.toml", "rb"))
torch.set_num_threads(1)
L.seed_everything(12)


def plates(n):
    x = 0.3 * torch.randn(n, 1, 16, 16)
    y = (torch.rand(n) < 0.5).float()
    for i in range(n):
        if y[i]:
            r = int(torch.randint(2, 12, ()))
            x[i, 0, r:r + 3, 3:13] += 0.5
    return TensorDataset(x, y)


trainer = L.Trainer(
    max_epochs=conf["epochs"], accelerator="cpu", logger=CSVLogger("lightning_logs", name="defects"), log_every_n_steps=5,
    callbacks=[EarlyStopping("val/loss", patience=conf["patience"], verbose=True),
               ModelCheckpoint(monitor="val/loss", save_top_k=2, filename="{epoch}")])
trainer.fit(Net(conf["lr"]), DataLoader(plates(640), conf["batch"], shuffle=True), DataLoader(plates(160), conf["batch"]))
print("best:", trainer.checkpoint_callback.best_model_path, float(trainer.checkpoint_callback.best_model_score))
