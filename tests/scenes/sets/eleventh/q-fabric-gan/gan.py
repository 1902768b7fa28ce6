import csv
import time
import warnings

import torch
from lightning.fabric import Fabric
from torch import nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def rings(n):
    k = torch.randint(0, 8, (n,))
    a = k * 0.7854
    return torch.stack([torch.cos(a), torch.sin(a)], 1) * 2 + 0.08 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


def covered(x):
    a = torch.arange(8) * 0.7854
    d = torch.cdist(x, 2 * torch.stack([torch.cos(a), torch.sin(a)], 1))
    return int(((d < 0.35).float().mean(0) > 0.01).sum())


def main(steps=420):
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.seed_everything(2, verbose=False)
    G, D = mlp(8, 2), mlp(2, 1)
    oG, oD = (torch.optim.Adam(m.parameters(), lr=1.5e-3, betas=(0.5, 0.9)) for m in (G, D))
    G, oG = fabric.setup(G, oG)
    D, oD = fabric.setup(D, oD)
    bce = nn.functional.binary_cross_entropy_with_logits
    table = csv.writer(open("losses.csv", "w", buffering=1))
    table.writerow(["step", "loss_d", "loss_g", "d_real", "d_fake", "modes"])
    for step in range(1, steps + 1):
        for _ in range(3):
            x, z = rings(128), torch.randn(128, 8)
            fake = G(z).detach()
            loss_d = bce(D(x), torch.ones(128, 1)) + bce(D(fake), torch.zeros(128, 1))
            oD.zero_grad()
            fabric.backward(loss_d)
            oD.step()
            out = D(G(torch.randn(128, 8)))
            loss_g = bce(out, torch.ones(128, 1))
            oG.zero_grad()
            fabric.backward(loss_g)
            oG.step()
        time.sleep(0.09)
        if step % 5 == 0:
            with torch.no_grad():
                g = G(torch.randn(512, 8))
                row = [step, f"{loss_d:.4f}", f"{loss_g:.4f}", f"{D(x).sigmoid().mean():.3f}", f"{D(g).sigmoid().mean():.3f}", covered(g)]
            table.writerow(row)
            print("step {}/{} loss_d={} loss_g={} D(x)={} D(G(z))={} modes={}/8".format(row[0], steps, *row[1:]), flush=True)
    fabric.save("gan.ckpt", {"G": G, "D": D})
    print("finished")


if __name__ == "__main__":
    main()
