import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from clips import ClipPack, write_pack


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 16, 33, stride=8), nn.ReLU(), nn.Conv1d(16, 32, 9, stride=4), nn.ReLU(),
                                 nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4))

    def training_step(self, batch, idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x[:, None]), y)
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.25)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    L.seed_everything(11, workers=True)
    write_pack("clips.pack")
    data = ClipPack("clips.pack")
    # the newest recordings are at the end of the pack
    loader = DataLoader(data, batch_size=16, num_workers=2, shuffle=False, persistent_workers=True)
    trainer = L.Trainer(max_epochs=4, accelerator="cpu", logger=False, log_every_n_steps=5,
                        default_root_dir="runs", enable_checkpointing=True)
    trainer.fit(Tagger(), loader)
