import argparse
import json
import time

import torch
from torch import nn
from .rotate import Rotation

torch.set_num_threads(1)


def emit(event, **kv):
    print(json.dumps({"t": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event, **kv}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", required=True)
    cfg = json.load(open(p.parse_args().config))
    torch.manual_seed(4)
    model = nn.Sequential(nn.Embedding(64, 48), nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 64))
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    table = torch.randperm(64)
    keep = Rotation("ckpts", cfg["keep"])
    emit("start", phases=[q["name"] for q in cfg["phases"]], parameters=sum(q.numel() for q in model.parameters()))
    step = 0
    for phase in cfg["phases"]:
        emit("phase", name=phase["name"], classes=phase["classes"], at_step=step)
        for _ in range(phase["steps"]):
            x = torch.randint(0, phase["classes"], (32,))
            loss = nn.functional.cross_entropy(model(x), table[x])
            opt.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            time.sleep(0.15)
            step += 1
            if step % 5 == 0:
                emit("train", step=step, loss=round(loss.item(), 5), grad_norm=round(norm.item(), 4), clipped=bool(norm > 1))
            if step % 40 == 0:
                name, gone = keep.save(step, model=model.state_dict(), opt=opt.state_dict())
                emit("checkpoint", file=name, removed=gone)
        x = torch.arange(phase["classes"])
        emit("eval", phase=phase["name"], errors=int((model(x).argmax(1) != table[x]).sum()), of=phase["classes"])
    emit("end", step=step)


if __name__ == "__main__":
    main()
