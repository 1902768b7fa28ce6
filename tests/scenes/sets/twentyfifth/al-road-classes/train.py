"""Road scenes, nine classes, IoU for each."""
import csv
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
NAMES = ["sky", "road", "kerb", "car", "tree", "sign", "tram", "horse", "void"]


class Scenes(Dataset):
    """Trams are rare, horses rarer still, and 'void' is not drawn in these towns."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            r = torch.rand(12, generator=g).tolist()
            m = torch.zeros(24, 32, dtype=torch.long)
            h = 10 + int(4 * r[0])
            m[h:] = 1
            m[h - 1:h + 1, :4 + int(10 * r[1])] = 2
            c = int(22 * r[2])
            m[h - 2:h + 3, c:c + 7] = 3
            c = int(26 * r[3])
            m[2:h, c:c + 4] = 4
            if r[4] < 0.5:
                m[5:8, 12:15] = 5
            if r[5] < 0.02:
                m[h - 5:h + 2, 16:30] = 6
            x = torch.randn(3, 24, 32, generator=g) * 0.35
            col = torch.tensor([[.5, .6, .9], [.3, .3, .3], [.6, .6, .5], [.8, .2, .2], [.1, .6, .2], [.9, .8, .1], [.9, .9, .9], [.5, .3, .1], [0, 0, 0]])
            self.items.append((x + col[m].permute(2, 0, 1), m))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Seg(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 9, 1))

    def training_step(self, b, i):
        loss = nn.functional.cross_entropy(self.net(b[0]), b[1])
        time.sleep(0.3)
        if i % 5 == 0:
            print(f"epoch {self.current_epoch} batch {i:2d} loss {loss.item():.4f}", flush=True)
        return loss

    def on_validation_epoch_start(self):
        self.inter = torch.zeros(9)
        self.union = torch.zeros(9)

    def validation_step(self, b, i):
        p = self.net(b[0]).argmax(1)
        for k in range(9):
            self.inter[k] += ((p == k) & (b[1] == k)).sum()
            self.union[k] += ((p == k) | (b[1] == k)).sum()

    def on_validation_epoch_end(self):
        iou = self.inter / self.union
        print("val IoU  " + "  ".join(f"{n} {v:.3f}" for n, v in zip(NAMES, iou.tolist()))
              + f"   mIoU (of classes present) {iou.nanmean():.3f}", flush=True)
        with open("iou.csv", "a", newline="") as f:
            csv.writer(f).writerow([self.current_epoch] + [f"{v:.4f}" for v in iou.tolist()])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 4e-3)


def main():
    L.seed_everything(0)
    with open("iou.csv", "w", newline="") as f:
        csv.writer(f).writerow(["epoch"] + NAMES)
    t = L.Trainer(max_epochs=16, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                  num_sanity_val_steps=0, callbacks=[ModelCheckpoint("ckpt", save_top_k=-1, every_n_epochs=2)])
    t.fit(Seg(), DataLoader(Scenes(200, 1), 8, shuffle=True), DataLoader(Scenes(24, 1002), 8))
    print("finished", flush=True)


if __name__ == "__main__":
    main()
