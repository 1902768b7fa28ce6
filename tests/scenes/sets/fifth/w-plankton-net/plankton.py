"""Plankton images (as features) -> species. Checkpoints go to the scratch volume."""
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(512, 768), torch.nn.ReLU(), torch.nn.Linear(768, 128),
                                        torch.nn.ReLU(), torch.nn.Linear(128, 12))

    def training_step(self, batch, batch_idx):
        x, y = batch
        time.sleep(0.18)
        loss = F.cross_entropy(self.body(x), y)
        self.log("train_loss", loss, prog_bar=True)
        if self.global_step % 10 == 0:
            print(f"epoch {self.current_epoch} step {self.global_step} loss {loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=5e-4)


def main():
    L.seed_everything(5)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    x = torch.randn(60 * 32, 512, generator=g)
    y = (x[:, :12] + 0.3 * torch.randn(60 * 32, 12, generator=g)).argmax(1)
    ckpt = ModelCheckpoint(dirpath="scratch/plankton", filename="{step:06d}", every_n_train_steps=40, save_top_k=-1)
    trainer = L.Trainer(accelerator="cpu", devices=1, max_epochs=6, callbacks=[ckpt], log_every_n_steps=10,
                        enable_progress_bar=False, logger=CSVLogger(".", name="logs"))
    trainer.fit(Net(), DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
    print("done", ckpt.best_model_path)


if __name__ == "__main__":
    main()
