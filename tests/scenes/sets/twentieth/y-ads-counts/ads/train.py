import json
import os
import sys
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # one process, and no compiler in the image

from ads.model import ClickCounts


def sample(cfg, gen, w):
    ids = torch.randint(0, cfg["vocab"], (64, cfg["fields"]), generator=gen)
    rate = torch.exp(1.5 + w[torch.arange(cfg["fields"]), ids].sum(1))
    return ids, torch.poisson(rate, generator=gen)


def main(job, ds):
    cfg = json.load(open(job))
    torch.manual_seed(3)
    deepspeed.init_distributed(dist_backend="gloo")
    model = ClickCounts(cfg["fields"], cfg["vocab"], cfg["dim"])
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: [lr for at, lr in cfg["phases"] if s >= at][-1])
    engine, *_ = deepspeed.initialize(model=model, optimizer=opt, lr_scheduler=plan, config=ds)
    gen = torch.Generator().manual_seed(9)
    w = torch.randn(cfg["fields"], cfg["vocab"], generator=gen) * 0.25
    began = time.time()
    for step in range(1, cfg["steps"] + 1):
        loss = engine(*sample(cfg, gen, w))
        engine.backward(loss)
        engine.step()
        time.sleep(0.25)
        if step % 4 == 0:
            print(json.dumps({"step": step, "loss": round(loss.item(), 5), "lr": plan.get_last_lr()[0],
                              "rows": step * 64, "t": round(time.time() - began, 1)}), flush=True)
        if step % cfg["save_every"] == 0:
            engine.save_checkpoint(cfg["out"], tag=f"step{step}")
            print(json.dumps({"event": "checkpoint", "step": step, "dir": cfg["out"]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
