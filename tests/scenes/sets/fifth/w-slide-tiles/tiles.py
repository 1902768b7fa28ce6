"""Tumour tiles; 2 workers, new ones in each epoch. The first start builds the tile index (once, it takes a while)."""
import json
import os
import subprocess
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


def say(text):
    print(time.strftime("%d.%m. %H:%M:%S ") + text, file=sys.stderr, flush=True)


def build_index(path):
    rows = []
    for slide in range(250):
        time.sleep(0.12)                                   # read the pyramid, find the tissue
        rows += [[slide, k] for k in range(4)]
    with open(path, "w") as f:
        json.dump(rows, f)


class Tiles(Dataset):
    def __init__(self, index):
        with open(index) as f:
            self.rows = json.load(f)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        slide, k = self.rows[i]
        if slide % 90 == 41:
            # the vendor's tool cannot read this scanner's files; then our own reader does it
            r = subprocess.run(["bash", "-c", "echo 'vsi2tif: FATAL: unsupported compression, aborting' >&2; exit 134"],
                               stderr=subprocess.PIPE, text=True)
            say(f"worker: vsi2tif exit status {r.returncode}: {r.stderr.strip()} -- slide {slide} read by fallback")
        time.sleep(0.03)
        g = torch.Generator().manual_seed(slide * 4 + k)
        x = torch.randn(48, generator=g)
        return x, torch.tensor(float(x[:5].sum() + 2 * torch.randn(1, generator=g) > 0))


def on_start(worker_id):
    torch.set_num_threads(1)
    say(f"worker {worker_id} started, pid {os.getpid()}")


def main():
    torch.manual_seed(12)
    torch.set_num_threads(1)
    if not os.path.exists("tiles.json"):
        say("no tile index, building it")
        build_index("tiles.json")
    data = Tiles("tiles.json")
    net = torch.nn.Sequential(torch.nn.Linear(48, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.8)
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=2, worker_init_fn=on_start)
    for epoch in range(1, 5):
        total = 0.0
        for x, y in loader:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
            time.sleep(0.05)
        torch.save(net.state_dict(), "tiles.pt")
        say(f"epoch {epoch} of 4: mean loss {total / len(data):.4f}")
    say("ready")


if __name__ == "__main__":
    main()
