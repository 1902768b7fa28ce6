import time

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Tiles(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, cls = self.rows[i]
        img = Image.open(f"tiles/{name}").convert("RGB")
        time.sleep(0.015)
        return torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255, int(cls)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", nn.functional.cross_entropy(out, y), prog_bar=True)
        self.log("val_acc", (out.argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 3e-3)


rows = [line.strip().split(",") for line in open("labels.csv")]
L.seed_everything(3)
trainer = L.Trainer(max_epochs=25, accelerator="cpu", logger=False, log_every_n_steps=4,
                    callbacks=[ModelCheckpoint("ckpt", monitor="val_loss"), TQDMProgressBar(refresh_rate=2)])
trainer.fit(Net(), DataLoader(Tiles(rows[:136]), 8, shuffle=True), DataLoader(Tiles(rows[136:]), 8))
print("best:", trainer.checkpoint_callback.best_model_path)
