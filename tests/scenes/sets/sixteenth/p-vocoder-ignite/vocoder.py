import logging
import os
import time

import numpy as np
import torch
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import RunningAverage
from ignite.utils import setup_logger
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(0)
fmt = "%(asctime)s %(name)s %(levelname)s: %(message)s"


def write_corpus(root, n):
    os.makedirs(root, exist_ok=True)
    g = np.random.default_rng(0)
    for i in range(n):
        t = np.arange(1024) / 1024
        f = g.uniform(5, 60)
        np.savez(f"{root}/clip{i:04d}.npz", mel=np.stack([np.sin(f * t[::16]), np.cos(f * t[::16])]).astype("f4"),
                 wav=(np.sin(f * t) + g.normal(0, 0.02, 1024)).astype("f4"))


class Clips(Dataset):
    def __init__(self, root):
        self.files = sorted(os.path.join(root, f) for f in os.listdir(root))
        self.open = {}

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        if i not in self.open:
            self.open[i] = np.load(self.files[i])
        z = self.open[i]
        return torch.from_numpy(z["mel"]), torch.from_numpy(z["wav"])


class Voc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.ConvTranspose1d(2, 16, 8, 4, 2), nn.LeakyReLU(0.1), nn.ConvTranspose1d(16, 8, 8, 4, 2), nn.LeakyReLU(0.1), nn.Conv1d(8, 1, 7, padding=3))

    def forward(self, m):
        return self.net(m)[:, 0]


def main():
    write_corpus("clips", 900)
    net = Voc()
    opt = torch.optim.AdamW(net.parameters(), 2e-3, betas=(0.8, 0.99))

    def step(engine, batch):
        mel, wav = batch
        out = net(mel)
        loss = (out - wav).abs().mean() + 0.1 * (torch.fft.rfft(out).abs() - torch.fft.rfft(wav).abs()).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.35)
        return loss.item()

    trainer = Engine(step)
    trainer.logger = setup_logger("trainer", level=logging.INFO, format=fmt)
    RunningAverage(output_transform=lambda x: x).attach(trainer, "loss")

    @trainer.on(Events.ITERATION_COMPLETED(every=5))
    def _log(e):
        e_len = e.state.epoch_length
        trainer.logger.info(f"Epoch[{e.state.epoch}/{e.state.max_epochs}] Iter[{e.state.iteration}/{e_len}] loss={e.state.metrics['loss']:.4f}")

    trainer.add_event_handler(Events.ITERATION_COMPLETED(every=50), ModelCheckpoint("ckpts", "voc", n_saved=2, require_empty=False), {"net": net, "opt": opt})
    trainer.run(DataLoader(Clips("clips"), batch_size=4, shuffle=True), max_epochs=3)


main()
