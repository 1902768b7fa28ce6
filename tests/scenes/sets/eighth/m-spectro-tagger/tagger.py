"""Audio tagging with Lightning. Spectrograms are computed once and kept in the cache folder."""
import argparse, logging, os, time, warnings
import numpy as np
import torch
import torch.nn as nn
import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("tagger")
torch.set_num_threads(1)


class Clips(Dataset):
    def __init__(self, n, cache):
        self.n, self.cache = n, cache
        os.makedirs(cache, exist_ok=True)

    def __len__(self):
        return self.n

    def wave(self, i):
        r = np.random.default_rng(i)
        t = np.arange(4096) / 8000
        f = 200 + 150 * (i % 10)
        return np.sin(2 * np.pi * f * t) + r.normal(0, 1.0, t.shape)

    def __getitem__(self, i):
        p = os.path.join(self.cache, f"clip_{i:06d}.npy")
        if os.path.exists(p):
            s = np.load(p)
        else:
            w = self.wave(i).reshape(64, 64)
            s = np.log1p(np.abs(np.fft.fft(w, n=128, axis=1)))[:, :64].astype(np.float32)
            np.save(p, s)
        return torch.from_numpy(s)[None], i % 10


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 5, 2), nn.ReLU(),
                                 nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 10))

    def training_step(self, b, i):
        loss = nn.functional.cross_entropy(self.net(b[0]), b[1])
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.22)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--cache", default="scratch/spec_cache")
    ap.add_argument("--clips", type=int, default=2400)
    a = ap.parse_args()
    L.seed_everything(4)
    dl = DataLoader(Clips(a.clips, a.cache), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    log.info("%d clips, %d batches an epoch, cache in %s", a.clips, len(dl), a.cache)
    tr = L.Trainer(max_epochs=3, accelerator="cpu", devices=1, logger=CSVLogger("runs", name="tagger"), log_every_n_steps=10,
                   callbacks=[ModelCheckpoint("ckpt", every_n_train_steps=40, save_top_k=-1)], enable_model_summary=False)
    tr.fit(Tagger(), dl)
    log.info("done")
