import time

import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class People(Dataset):
    """Crops with one joint; drawn, as the real ones may not leave the site."""

    def __init__(self, n, size):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        img = torch.rand(3, self.size, self.size, generator=g) * 0.3
        xy = torch.rand(2, generator=g)
        r = max(2, self.size // 12)
        px, py = (xy * (self.size - r)).long().tolist()
        img[:, py:py + r, px:px + r] = 1.0
        time.sleep(0.01)
        return img, xy


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(256, 2)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def main():
    cfg = yaml.safe_load(open("conf.yaml"))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = Pose()
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    epoch = 0
    for stage in cfg["stages"]:
        data = People(stage["batch"] * cfg["iters"], stage["size"])
        loader = DataLoader(data, stage["batch"], shuffle=True, num_workers=cfg["workers"], prefetch_factor=4)
        for _ in range(stage["epochs"]):
            epoch += 1
            total = 0.0
            bar = tqdm(loader, desc=f"epoch {epoch} @{stage['size']}px", ncols=90, mininterval=1.0)
            for n, (img, xy) in enumerate(bar, 1):
                loss = nn.functional.mse_loss(net(img), xy)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item()
                bar.set_postfix(mse=f"{total / n:.4f}")
                time.sleep(0.15)
            torch.save(net.state_dict(), "pose_last.pth")
            tqdm.write(f"epoch {epoch} mse {total / n:.4f}, saved pose_last.pth")


if __name__ == "__main__":
    main()
