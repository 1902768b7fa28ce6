"""Wine notes -> grape, with Accelerate. Says everything in its own words."""
import csv
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm


def notes(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 300, (n, 20), generator=g)
    return TensorDataset(x, (x % 5).float().mean(1).sub(1.7).mul(6).clamp(0, 4.9).long())


def main():
    set_seed(12)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = nn.Sequential(nn.EmbeddingBag(300, 48), nn.ReLU(), nn.Linear(48, 5))
    opt = torch.optim.AdamW(net.parameters(), 3e-2)
    net, opt, dl, test = acc.prepare(net, opt, DataLoader(notes(1280, 0), 16, shuffle=True), DataLoader(notes(800, 1), 16))
    out = csv.writer(open("tasting.csv", "w", buffering=1))
    out.writerow(["glass", "loss"])
    bar = tqdm(total=4 * len(dl), desc="tasting", mininterval=1.0)
    glass = 0
    for cellar in range(4):
        for x, y in dl:
            with acc.accumulate(net):
                loss = nn.functional.cross_entropy(net(x), y)
                acc.backward(loss)
                opt.step()
                opt.zero_grad()
            glass += 1
            time.sleep(0.15)
            bar.update()
            bar.set_postfix(loss=f"{loss.item():.3f}")
            out.writerow([glass, round(loss.item(), 5)])
    bar.close()
    acc.print("The bottles are empty. One last round with the strangers' glasses ...")
    right = torch.zeros(5)
    count = torch.zeros(5)
    with torch.no_grad():
        for x, y in test:
            p = net(x).argmax(1)
            right += torch.bincount(y[p == y], minlength=5)
            count += torch.bincount(y, minlength=5)
            time.sleep(0.35)
    acc.print("\n grape          glasses  guessed")
    for k, grape in enumerate(["riesling", "silvaner", "dornfelder", "trollinger", "lemberger"]):
        acc.print(f" {grape:<14} {int(count[k]):>7}  {100 * right[k] / count[k].clamp(min=1):6.1f} %")
    acc.print(f" altogether     {int(count.sum()):>7}  {100 * right.sum() / count.sum():6.1f} %\n")
    save_file(acc.unwrap_model(net).state_dict(), "nose.safetensors")
    acc.print("The nose is in nose.safetensors. Good night.")


main()
