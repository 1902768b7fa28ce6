import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import random
import signal
import threading
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

torch.set_num_threads(1)
signal.alarm(280)
EPOCHS = 12
_tags = {i: f"1girl, tag{i % 7}" for i in range(240)}
_tags_lock = threading.Lock()


def caption(i):
    with _tags_lock:
        return _tags[i]


class TagRefresher(threading.Thread):
    """re-reads the caption files in the background so that edits are picked up while training"""

    def __init__(self):
        super().__init__(daemon=True)
        self.wake = threading.Event()

    def run(self):
        while True:
            self.wake.wait()
            self.wake.clear()
            with _tags_lock:
                for i in sorted(_tags):
                    _tags[i] = f"1girl, tag{random.randrange(7)}"
                    time.sleep(0.01)


class Portraits(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        time.sleep(0.02)
        y = int(caption(i)[-1])
        return torch.randn(64, generator=g) + y * 0.3, y


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 7))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loader = DataLoader(Portraits(), batch_size=8, shuffle=True, num_workers=2, multiprocessing_context="fork",
                        worker_init_fn=lambda i: signal.alarm(280))
    refresher = TagRefresher()
    refresher.start()
    print("running training / 学習開始")
    print(f"  num train images: {len(loader.dataset)}\n  num batches per epoch: {len(loader)}\n  num epochs: {EPOCHS}",
          flush=True)
    bar = tqdm(total=EPOCHS * len(loader), desc="steps", smoothing=0)
    avr = 0.0
    for epoch in range(EPOCHS):
        print(f"\nepoch {epoch + 1}/{EPOCHS}", flush=True)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            avr = loss.item() if not avr else 0.97 * avr + 0.03 * loss.item()
            time.sleep(0.2)
            bar.update(1)
            bar.set_postfix(avr_loss=f"{avr:.3f}")
        if (epoch + 1) % 2 == 0:
            torch.save(net.state_dict(), f"portrait-{epoch + 1:06d}.pt")
            print(f"\nsaving checkpoint: portrait-{epoch + 1:06d}.pt", flush=True)
        if (epoch + 1) % 3 == 0:
            refresher.wake.set()
            time.sleep(0.05)
    bar.close()
    print("model saved.")


main()
