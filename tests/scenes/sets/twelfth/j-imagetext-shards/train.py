import argparse
import io
import tarfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

console = Console(width=100, force_terminal=False)
VOCAB = {w: i for i, w in enumerate("a red green blue yellow white purple circle square bar".split())}


class Shards(IterableDataset):
    def __init__(self, folder):
        self.files = sorted(Path(folder).glob("*.tar"))

    def __iter__(self):
        w = get_worker_info()
        for path in self.files[w.id :: w.num_workers]:
            with tarfile.open(path) as tar:
                image = None
                for member in tar:
                    data = tar.extractfile(member).read()
                    if member.name.endswith(".jpg"):
                        image = Image.open(io.BytesIO(data)).convert("RGB")
                    else:
                        ids = [VOCAB[t] for t in data.decode().split()]
                        yield torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1) / 255.0, torch.tensor(ids)


class Clip(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 32, 4, 4), nn.GELU(), nn.Conv2d(32, d, 3, 2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(d, d))
        self.text = nn.Sequential(nn.EmbeddingBag(len(VOCAB), d), nn.Linear(d, d))
        self.scale = nn.Parameter(torch.tensor(2.3))

    def forward(self, x, t):
        logits = F.normalize(self.image(x)) @ F.normalize(self.text(t)).T * self.scale.exp()
        y = torch.arange(len(x))
        return (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--shards")
    p.add_argument("--epochs", type=int)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Clip()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    loader = DataLoader(Shards(a.shards), batch_size=8, num_workers=2, prefetch_factor=2)
    step = 0
    for epoch in range(a.epochs):
        for images, ids in loader:
            loss = model(images, ids)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.25)
            if step % 5 == 0:
                console.log(f"epoch {epoch} step {step:5d}  contrastive {loss.item():.3f}  temp {model.scale.exp().item():.2f}")
        torch.save(model.state_dict(), "clip.pt")
        console.log(f"epoch {epoch} done, weights in clip.pt")


if __name__ == "__main__":
    main()
