import os
import threading
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore", category=UserWarning)
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

from index import INDEX


class Waves(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        row = INDEX.lookup(i)
        g = torch.Generator().manual_seed(row)
        y = row % 4
        t = torch.linspace(0, 6.28, 64)
        return torch.sin((y + 1) * t) + 0.3 * torch.randn(64, generator=g), y


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))
        self.seen = []

    def training_step(self, batch, i):
        x, y = batch
        loss = nn.functional.cross_entropy(self.body(x), y)
        self.seen.append(loss.item())
        time.sleep(0.3)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


class Report(L.Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        e = trainer.current_epoch
        if e == 3:
            print("hard-sample index: refreshing in the background", flush=True)
            threading.Thread(target=INDEX.refresh, daemon=True).start()
        mean = sum(pl_module.seen) / len(pl_module.seen)
        pl_module.seen.clear()
        trainer.save_checkpoint("last.ckpt")
        print(f"epoch {e:02d}  train_loss={mean:.4f}  batches={trainer.global_step}", flush=True)


if __name__ == "__main__":
    L.seed_everything(4)
    loader = DataLoader(Waves(), batch_size=16, shuffle=True, num_workers=2, multiprocessing_context="fork")
    trainer = L.Trainer(max_epochs=12, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, callbacks=[Report()])
    trainer.fit(Net(), loader)
    print("fit finished", flush=True)
