import argparse, logging, time
import numpy as np, torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s demand %(message)s")
log = logging.getLogger()


def load(name):
    d = np.load(name)
    return torch.from_numpy(d["x"]), torch.from_numpy(d["y"])


def evaluate(net, x, y):
    with torch.no_grad():
        return nn.functional.mse_loss(net(x)[:, 0], y).sqrt().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    a = ap.parse_args()
    torch.manual_seed(0)
    x, y = load("train.npz")
    xv, yv = load("valid.npz")
    net = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    log.info("train rows %d, valid rows %d", len(x), len(xv))
    step = 0
    for epoch in range(a.epochs):
        for idx in torch.randperm(len(x)).split(64):
            loss = nn.functional.mse_loss(net(x[idx])[:, 0], y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.25)
            if step % 10 == 0:
                log.info("epoch %d step %d mse %.4f", epoch, step, loss.item())
        log.info("epoch %d valid rmse %.4f", epoch, evaluate(net, xv, yv))
        torch.save(net.state_dict(), "demand.pt")


main()
