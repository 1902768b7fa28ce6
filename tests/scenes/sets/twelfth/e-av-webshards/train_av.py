import argparse, glob, tarfile, time
import torch, torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

p = argparse.ArgumentParser()
p.add_argument("--shards", default="shards")
p.add_argument("--epochs", type=int, default=3)
p.add_argument("--bs", type=int, default=8)
a = p.parse_args()
torch.set_num_threads(1)


class Shards(IterableDataset):
    def __iter__(self):
        for path in sorted(glob.glob(f"{a.shards}/*.tar")):
            with tarfile.open(path) as tar:
                sample = {}
                for m in tar:
                    key, ext = m.name.split(".")
                    sample[ext] = torch.frombuffer(bytearray(tar.extractfile(m).read()), dtype=torch.uint8)
                    if len(sample) == 3:
                        yield sample["aud"].float() / 255, sample["img"].float() / 255, sample["cls"].long()[0]
                        sample = {}


class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.v, self.h = nn.Linear(320, 64), nn.Linear(768, 64), nn.Linear(128, 8)

    def forward(self, x, y):
        return self.h(torch.cat([self.a(x), self.v(y)], -1).relu())


net = Fusion()
opt = torch.optim.Adam(net.parameters(), 3e-4)
n, seen, ema = 0, 0, None
for ep in range(a.epochs):
    print(f"=== Epoche {ep + 1}/{a.epochs} ===", flush=True)
    for aud, img, cls in DataLoader(Shards(), batch_size=a.bs, num_workers=1):
        loss = nn.functional.cross_entropy(net(aud, img), cls)
        opt.zero_grad(); loss.backward(); opt.step()
        time.sleep(0.45)
        n += 1; seen += len(cls)
        ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
        if n % 3 == 0:
            print(f"Schritt {n:4d}  Verlust {loss.item():.4f}  (gleitend {ema:.4f})  Proben {seen}", flush=True)
    torch.save(net.state_dict(), "fusion.pt")
print("Training abgeschlossen", flush=True)
