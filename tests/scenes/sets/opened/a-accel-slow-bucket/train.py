import time
import urllib.request
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

PORT = Path("port").read_text().strip()


class Remote(Dataset):
    """One item is a whole batch: a shard of 120 kB."""

    def __len__(self):
        return 2000

    def __getitem__(self, n):
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/shard/{n}", timeout=120) as r:
            raw = np.frombuffer(r.read(), dtype=np.uint8)[:64 * 256].reshape(64, 256)
        x = torch.from_numpy(raw.astype("float32") / 255 - 0.5)
        return x, (x[:, :128].sum(1) > x[:, 128:].sum(1)).long()


def main():
    torch.manual_seed(0)
    acc = Accelerator(cpu=True)
    net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    dl = DataLoader(Remote(), batch_size=None, num_workers=2, prefetch_factor=2)
    net, opt = acc.prepare(net, opt)
    end = time.time()
    for step, (x, y) in enumerate(dl, 1):
        data_t = time.time() - end
        loss = nn.functional.cross_entropy(net(x), y)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.15)
        it_t = time.time() - end
        acc.print(f"Iter [{step}/2000]  loss: {loss.item():.4f}  data_time: {data_t:.3f}  time: {it_t:.3f}  "
                  f"{64 / it_t:.1f} img/s", flush=True)
        end = time.time()


if __name__ == "__main__":
    main()
