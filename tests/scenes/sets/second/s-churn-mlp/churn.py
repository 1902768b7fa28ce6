import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


class Churn(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(60, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))

    def step(self, batch, name):
        x, y = batch
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(x).squeeze(-1), y)
        self.log(f"{name}_loss", loss, prog_bar=True, on_epoch=True, on_step=False)
        return loss

    def training_step(self, batch, i):
        time.sleep(0.12)
        return self.step(batch, "train")

    def validation_step(self, batch, i):
        time.sleep(0.03)
        self.step(batch, "val")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


L.seed_everything(11)
x = torch.randn(900, 60)
y = (x[:, 0] + 2.0 * torch.randn(900) > 0).float()
train = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=20, shuffle=True)
val = DataLoader(TensorDataset(x[600:], y[600:]), batch_size=50)
stop = EarlyStopping("val_loss", patience=4, verbose=True)
best = ModelCheckpoint("best", monitor="val_loss", save_top_k=1)
trainer = L.Trainer(max_epochs=500, accelerator="cpu", devices=1, logger=False, callbacks=[stop, best], num_sanity_val_steps=0)
trainer.fit(Churn(), train, val)
print(f"stopped at epoch {trainer.current_epoch} of 500, best {best.best_model_score:.4f} in {best.best_model_path}")
