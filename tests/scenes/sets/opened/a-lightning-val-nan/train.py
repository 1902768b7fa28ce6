"""Speech-command classifier on frame features. Validation runs over all the recordings that have arrived so far."""
import time

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, Dataset

CLASSES = 8


def utterance(i, n_frames):
    g = torch.Generator().manual_seed(i)
    y = i % CLASSES
    x = torch.randn(n_frames, 16, generator=g)
    x[:, y] += 1.0
    return x, y


class Train(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        time.sleep(0.012)
        return utterance(i, 20)


class Val(Dataset):
    """val/part-0 .. part-n; the parts are recorded while we train. A muted microphone gives 0 voiced frames."""
    voiced = {0: [20] * 32, 1: [18] * 32, 2: [22] * 32, 3: [0] + [21] * 31, 4: [20] * 32}

    def __init__(self, n_parts):
        self.items = [(9000 + p * 100 + k, n) for p in range(min(n_parts, 5)) for k, n in enumerate(self.voiced[p])]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return utterance(*self.items[i])


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.body(x).mean(1), y)
        self.log("train_loss", loss, prog_bar=True, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self.body(x).mean(1), y), prog_bar=True, batch_size=1)

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        self.print(f"epoch {self.current_epoch:02d} train_loss {m['train_loss']:.4f} val_loss {m['val_loss']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)

    def train_dataloader(self):
        return DataLoader(Train(), batch_size=16, shuffle=True)

    def val_dataloader(self):
        return DataLoader(Val(self.current_epoch + 1), batch_size=1)


if __name__ == "__main__":
    L.seed_everything(5)
    ckpt = ModelCheckpoint("checkpoints", filename="best-{epoch:02d}-{val_loss:.3f}", monitor="val_loss", save_top_k=1)
    trainer = L.Trainer(max_epochs=14, accelerator="cpu", logger=False, callbacks=[ckpt], enable_progress_bar=False,
                        reload_dataloaders_every_n_epochs=1, num_sanity_val_steps=0)
    trainer.fit(Net())
    print("best:", ckpt.best_model_path)
