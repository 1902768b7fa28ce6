import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SCHEDULE = [(1, 64), (2, 96), (3, 96), (4, 256), (5, 256), (6, 288)]
BATCH = 16


class Birds(Dataset):
    """Synthetic stand-in of the birds set: 10 classes of coloured blobs."""

    def __init__(self, n, res):
        self.n, self.res = n, res

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        img = rng.random((3, self.res, self.res), dtype=np.float32) * 0.3
        label = i % 10
        img[label % 3] += label / 10
        time.sleep(0.01)
        return torch.from_numpy(img), label


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 7, stride=4), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    step = 0
    for epoch, res in SCHEDULE:
        loader = DataLoader(Birds(640, res), batch_size=BATCH, num_workers=2, shuffle=True)
        print(f"=> epoch {epoch}: train at {res}x{res}, {len(loader)} iterations", flush=True)
        seen = right = 0
        t0 = time.time()
        for x, y in loader:
            out = net(x)
            loss = F.cross_entropy(out, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            time.sleep(0.15)
            step += 1
            seen += len(y)
            right += (out.argmax(1) == y).sum().item()
            if step % 8 == 0:
                print(f"   it {step:5d} loss {loss.item():.4f} acc {right / seen:.3f} {seen / (time.time() - t0):.1f} img/s")
        torch.save(net.state_dict(), "birds_last.pth")
    print("done")


if __name__ == "__main__":
    main()
