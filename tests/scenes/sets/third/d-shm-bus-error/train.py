import mmap
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

CLIP = (3, 8, 64, 64)                       # channels, frames, height, width, uint8
CACHE = os.environ.get("CLIP_CACHE", "scratch")


class ClipDataset(Dataset):
    """Decoded clips are shared between epochs and workers through a memory-backed cache."""

    def __len__(self):
        return 2400

    def decode(self, i):
        rng = np.random.default_rng(i)
        label = i % 4
        clip = rng.integers(0, 120, size=CLIP, dtype=np.uint8)
        clip[:, label::4] += np.uint8(60)
        return clip

    def __getitem__(self, i):
        path = os.path.join(CACHE, f"clip_{i:05d}.raw")
        size = int(np.prod(CLIP))
        if not os.path.exists(path):
            fd = os.open(path + ".tmp", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
            os.ftruncate(fd, size)
            with mmap.mmap(fd, size) as mm:
                view = np.frombuffer(mm, dtype=np.uint8).reshape(CLIP)
                view[:] = self.decode(i)
                del view
            os.close(fd)
            os.replace(path + ".tmp", path)
        clip = np.fromfile(path, dtype=np.uint8).reshape(CLIP)
        return torch.from_numpy(clip), i % 4


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv3d(3, 8, 3, stride=(1, 4, 4), padding=1)
        self.fc = torch.nn.Linear(8 * 8, 4)

    def forward(self, x):
        h = torch.relu(self.conv(x)).mean((-1, -2))
        return self.fc(h.flatten(1))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    os.makedirs("weights", exist_ok=True)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    loader = DataLoader(ClipDataset(), batch_size=4, shuffle=True, num_workers=2, prefetch_factor=2)
    step = 0
    for epoch in range(1, 4):
        bar = tqdm(loader, desc=f"Epoch {epoch}/3", mininterval=1.0)
        for clips, y in bar:
            loss = torch.nn.functional.cross_entropy(net(clips.float() / 255 - 0.3), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.45)
            bar.set_postfix(loss=f"{loss.item():.4f}")
            if step % 30 == 0:
                torch.save({"net": net.state_dict(), "step": step}, "weights/last.pth")
                tqdm.write(f"saved weights/last.pth at step {step}")


if __name__ == "__main__":
    main()
