"""Diffusion-like denoiser on small signals with Lightning; validation samples with many steps and says nothing meanwhile."""
import time
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.warn("fused attention kernel not available on this device, falling back to the slow path", RuntimeWarning)


class Denoiser(L.LightningModule):
    def __init__(self, sample_steps=120):
        super().__init__()
        self.sample_steps = sample_steps
        self.gaps = []
        self.net = nn.Sequential(nn.Linear(33, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 32))

    def predict_noise(self, x, t):
        return self.net(torch.cat([x, t], dim=1))

    def training_step(self, batch, batch_idx):
        (x,) = batch
        t = torch.rand(len(x), 1)
        eps = torch.randn_like(x)
        loss = nn.functional.mse_loss(self.predict_noise((1 - t) * x + t * eps, t), eps)
        time.sleep(0.25)
        if self.global_step % 5 == 0:
            print(f"[train] epoch={self.current_epoch} it={batch_idx} loss={loss.item():.4f}", flush=True)
        return loss

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        z = torch.randn_like(x)
        for k in range(self.sample_steps, 0, -1):
            t = torch.full((len(x), 1), k / self.sample_steps)
            z = z - self.predict_noise(z, t) / self.sample_steps
            time.sleep(0.05)
        gap = (z.std(0) - x.std(0)).abs().mean()
        self.gaps.append(gap.item())
        self.log("val_gap", gap, batch_size=len(x))

    def on_validation_epoch_end(self):
        print(f"[valid] epoch={self.current_epoch} std gap={sum(self.gaps) / len(self.gaps):.4f}", flush=True)
        self.gaps.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def signals(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 6.28, 32)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    return TensorDataset(torch.sin(t + phase) + 0.1 * torch.randn(n, 32, generator=g))


def main():
    L.seed_everything(17)
    torch.set_num_threads(1)
    trainer = L.Trainer(
        accelerator="cpu", devices=1, max_epochs=2, logger=False, enable_progress_bar=False, num_sanity_val_steps=0,
        default_root_dir="out", callbacks=[ModelCheckpoint("out/ckpt", monitor="val_gap")],
    )
    trainer.fit(Denoiser(), DataLoader(signals(960, 1), batch_size=32, shuffle=True),
                DataLoader(signals(320, 2), batch_size=64))
    print("best:", trainer.checkpoint_callback.best_model_path)


if __name__ == "__main__":
    main()
