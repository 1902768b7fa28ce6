import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
import lightning as L
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        time.sleep(0.15)
        return loss

    def on_train_epoch_end(self):
        print(f"Epoch {self.current_epoch + 1}/{self.trainer.max_epochs}: train_loss "
              f"{float(self.trainer.callback_metrics['train_loss']):.5f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


class Collect(L.Callback):
    def on_train_end(self, trainer, pl_module):
        torch.save(pl_module.state_dict(), "regressor.pt")
        print("weights written to regressor.pt", flush=True)


if __name__ == "__main__":
    L.seed_everything(1, verbose=False)
    x = torch.randn(512, 16)
    y = torch.cos(x[:, :3]).sum(1, keepdim=True)
    trainer = L.Trainer(max_epochs=40, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, callbacks=[Collect()])
    trainer.fit(Regressor(), DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
