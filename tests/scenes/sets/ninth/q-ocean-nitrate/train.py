import time
import warnings
from pathlib import Path

import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
MEAN = torch.tensor([2000.0, 8.0, 34.9, 190.0])
STD = torch.tensor([1500.0, 6.0, 0.3, 45.0])


class Bottles(Dataset):
    def __init__(self, folder):
        parts = [np.load(p) for p in sorted(Path(folder).glob("*.npz"))]
        self.x = torch.from_numpy(np.concatenate([p["x"] for p in parts]))
        self.y = torch.from_numpy(np.concatenate([p["y"] for p in parts]))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return (self.x[i] - MEAN) / STD, (self.y[i] - 20) / 10


class Nitrate(L.LightningModule):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x)[:, 0], y)
        time.sleep(0.2)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


class Say(L.Callback):
    def on_train_batch_end(self, trainer, module, out, batch, i):
        if trainer.global_step % 5 == 0:
            print(f"[{time.strftime('%H:%M:%S')}] epoch {trainer.current_epoch} step {trainer.global_step} loss {out['loss'].item():.5f}", flush=True)


if __name__ == "__main__":
    L.seed_everything(7, verbose=False)
    data = Bottles("cruises")
    print(f"{len(data)} bottles, inputs: pressure temperature salinity oxygen")
    loader = DataLoader(data, batch_size=48)
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=True, gradient_clip_val=5.0, callbacks=[Say()])
    model = Nitrate()
    trainer.fit(model, loader)
    torch.save(model.state_dict(), "nitrate.pt")
    print("saved nitrate.pt")
