import time

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
L.seed_everything(7)


class ECG(L.LightningModule):
    """1-d conv net on single heart beats; the set is small and the net overfits soon."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 16, 7, 2), nn.ReLU(), nn.Conv1d(16, 32, 7, 2), nn.ReLU(), nn.Flatten(),
                                 nn.Linear(32 * 20, 64), nn.ReLU(), nn.Linear(64, 2))

    def training_step(self, b, i):
        time.sleep(0.6)
        loss = nn.functional.cross_entropy(self.net(b[0]), b[1])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, b, i):
        self.log("val_loss", nn.functional.cross_entropy(self.net(b[0]), b[1]), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=8e-4)


def beats(n):
    y = torch.randint(0, 2, (n,))
    t = torch.linspace(-1, 1, 96)
    x = torch.exp(-(t / (0.12 + 0.05 * y[:, None])) ** 2) + 0.9 * torch.randn(n, 96)
    return TensorDataset(x[:, None], y)


class Print(L.Callback):
    def on_validation_epoch_end(self, tr, pl):
        m = tr.callback_metrics
        if "train_loss" in m:
            print(f"epoch {tr.current_epoch}: train_loss {m['train_loss']:.4f} val_loss {m['val_loss']:.4f}", flush=True)


tr = L.Trainer(max_epochs=200, accelerator="cpu", logger=False, enable_progress_bar=False, num_sanity_val_steps=0,
               callbacks=[EarlyStopping("val_loss", patience=8, verbose=True),
                          ModelCheckpoint("ckpt", monitor="val_loss", save_top_k=1), Print()])
tr.fit(ECG(), DataLoader(beats(240), 20, shuffle=True), DataLoader(beats(400), 200))
print("best", tr.checkpoint_callback.best_model_path, float(tr.checkpoint_callback.best_model_score), flush=True)
