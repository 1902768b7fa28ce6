"""Load of the grid an hour ahead, dilated convolutions on 64 feeders."""
import resource
import time

import lightning as L
import psutil
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)


class Feeders(IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(1)
        t = torch.arange(513) / 24 * 6.2832
        for _ in range(2000 * 64):
            ph = torch.rand(64, 1, generator=g) * 6.2832
            x = torch.sin(t + ph) + 0.5 * torch.sin(t / 7 + ph) + 0.1 * torch.randn(64, 513, generator=g)
            yield x[:, :512], x[:, 512]


class Load(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(64, 24, 3, stride=2), nn.ReLU(), nn.Conv1d(24, 24, 3, stride=4), nn.ReLU(),
                                 nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(192, 64))
        self.skip = nn.Linear(24, 1)
        self.seen = []

    def training_step(self, batch, i):
        x, y = batch
        p = self.net(x) * 0.1 + self.skip(x[:, :, -24:])[:, :, 0]
        loss = nn.functional.l1_loss(p, y)
        # kept for the scatter plot at the end of the epoch
        self.seen.append({"x": x, "pred": p.detach(), "y": y})
        self.log("mae", loss)
        return loss

    def on_train_epoch_end(self):
        torch.save(self.seen[-200:], "scatter.pt")
        self.seen.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Lines(Callback):
    def on_train_batch_end(self, trainer, m, outputs, batch, i):
        time.sleep(0.25)
        if trainer.global_step % 10 == 0:
            print(f"step {trainer.global_step} mae {float(outputs['loss']):.4f}", flush=True)


def main():
    # the box is shared: at most 1.8 GB on top of what the libraries map
    cap = psutil.Process().memory_info().vms + (1800 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (cap, cap))
    L.seed_everything(3)
    data = DataLoader(Feeders(), batch_size=64)
    keep = ModelCheckpoint("ckpt", every_n_train_steps=40, save_top_k=-1, filename="load-{step}")
    t = L.Trainer(max_steps=2000, max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False,
                  enable_model_summary=False, callbacks=[Lines(), keep])
    t.fit(Load(), data)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
