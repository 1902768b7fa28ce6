import argparse
import pathlib
import time

import lightning as L
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, root):
        self.paths = sorted(pathlib.Path(root).glob("*.npy"))
        self.open = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if i not in self.open:
            f = open(self.paths[i], "rb")
            f.seek(128)  # header
            self.open[i] = f
        f = self.open[i]
        f.seek(128)
        return torch.frombuffer(bytearray(f.read(512)), dtype=torch.float32), i % 4


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4))

    def training_step(self, batch, idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        time.sleep(0.28)
        if idx % 5 == 0:
            print(f"epoch {self.current_epoch} batch {idx}: train_loss={loss.item():.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", required=True)
    a = p.parse_args()
    L.seed_everything(1)
    torch.set_num_threads(1)
    trainer = L.Trainer(
        max_epochs=4, accelerator="cpu", devices=1, logger=CSVLogger("csv"), log_every_n_steps=5,
        enable_progress_bar=False, enable_model_summary=True,
    )
    trainer.fit(Model(), DataLoader(Clips(a.root), batch_size=2, shuffle=True))


if __name__ == "__main__":
    main()
