import argparse
import io
import time
from datetime import datetime

import numpy as np
import requests
import torch
from torch import nn


def say(*words):
    print(datetime.now().isoformat(timespec="milliseconds"), *words, flush=True)


def fetch(session, url):
    buf = io.BytesIO()
    with session.get(url, stream=True) as r:
        r.raise_for_status()
        for chunk in r.iter_content(8192):
            buf.write(chunk)
    buf.seek(0)
    return np.load(buf)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--store")
    p.add_argument("--shards", type=int)
    a = p.parse_args()
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    session = requests.Session()
    step = 0
    for n in range(a.shards):
        name = f"shard-{n:03d}.npz"
        say(f"fetching {name}")
        t0 = time.time()
        raw = fetch(session, f"{a.store}/{name}")
        x, y = torch.from_numpy(raw["x"]), torch.from_numpy(raw["y"])
        say(f"got {name} ({x.nbytes // 1024} KiB, {time.time() - t0:.1f} s)")
        for i in range(0, len(x), 32):
            loss = nn.functional.binary_cross_entropy_with_logits(net(x[i : i + 32]).squeeze(1), y[i : i + 32])
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.3)
            if step % 4 == 0:
                say(f"step={step} loss={loss.item():.4f}")
        torch.save(net.state_dict(), "stream.pt")
    say("all shards done")


if __name__ == "__main__":
    main()
