"""Web data: about one record in 60 is broken, is skipped with a warning; tqdm bar."""
import json
import logging
import random
import time

import torch
import torch.nn as nn
from tqdm.auto import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

log = logging.getLogger("webdata")


def build(path="web.jsonl", n=6400):
    rng = random.Random(8)
    with open(path, "w") as f:
        for _ in range(n):
            x = [round(rng.gauss(0, 1), 3) for _ in range(12)]
            line = json.dumps({"x": x, "y": int(sum(x[:4]) > 0)})
            f.write((line[:rng.randint(5, 60)] if rng.random() < 1 / 60 else line) + "\n")
    return path


def examples(path):
    for no, line in enumerate(open(path), 1):
        try:
            rec = json.loads(line)
            yield rec["x"], rec["y"]
        except (json.JSONDecodeError, KeyError) as e:
            log.warning("%s:%d: skipping corrupt record (%s: %s)", path, no, type(e).__name__, e)


def batches(path, size):
    xs, ys = [], []
    for x, y in examples(path):
        xs.append(x)
        ys.append(y)
        if len(xs) == size:
            yield torch.tensor(xs), torch.tensor(ys)
            xs, ys = [], []


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    path = build()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 2))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    with logging_redirect_tqdm():
        bar = tqdm(batches(path, 16), total=400, unit="batch")
        for x, y in bar:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            bar.set_postfix(loss=f"{loss.item():.4f}")
            time.sleep(0.2)
    torch.save(net.state_dict(), "web.pt")
    log.info("epoch finished, weights in web.pt")


if __name__ == "__main__":
    main()
