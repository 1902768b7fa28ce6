import argparse
import json
import logging
import os
import time

import torch
from torch import nn

from . import data

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
log = logging.getLogger("recsys.train")


class MF(nn.Module):
    def __init__(self):
        super().__init__()
        self.u, self.i = nn.Embedding(200, 6), nn.Embedding(300, 6)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    cfg = json.load(open(p.parse_args().config))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data.prepare(cfg["shards"])
    model = MF()
    opt = torch.optim.Adam(model.parameters(), cfg["lr"])
    step = 0
    if os.path.exists("last.pt"):
        state = torch.load("last.pt")
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        step = state["step"]
        log.info("resumed from last.pt at step %d", step)
    while step < cfg["steps"]:
        shard = data.load(step // 20 % cfg["shards"])
        for k in range(0, 1280, cfg["batch"]):
            u, i, r = (torch.from_numpy(a[k:k + cfg["batch"]]) for a in shard)
            loss = nn.functional.mse_loss(model(u, i), r)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.15)
            if step % 10 == 0:
                log.info("step=%d loss=%.4f", step, loss.item())
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "last.pt")
        log.info("checkpoint last.pt step=%d", step)


main()
