import argparse
import json
import sys
import time

import torch

from .model import TwoTower
from .sampler import NegativePool


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=4000)
    ap.add_argument("--tracks", type=int, default=6000)
    ap.add_argument("--steps", type=int, default=2000)
    ap.add_argument("--batch", type=int, default=64)
    a = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = TwoTower(a.users, a.tracks)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
    pool = NegativePool()
    likes = torch.randint(0, a.tracks // 10, (a.users, 4))
    for step in range(1, a.steps + 1):
        users = torch.randint(0, a.users, (a.batch,))
        scores = model(users)
        target = likes[users, torch.randint(0, 4, (a.batch,))]
        loss = torch.nn.functional.cross_entropy(scores, target)
        hard = pool.sample(8)
        if hard is not None:
            loss = loss + 0.05 * scores.gather(1, hard).sigmoid().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        pool.add(users, scores.detach().clone())
        time.sleep(0.15)
        if step % 10 == 0:
            print(json.dumps({"ts": round(time.time(), 2), "step": step, "loss": round(loss.item(), 4), "pool": len(pool.batches)}))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
