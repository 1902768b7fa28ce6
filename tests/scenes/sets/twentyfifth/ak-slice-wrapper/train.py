"""Intent model with accelerate, made for short time slices: saves, leaves with 85 and is queued again."""
import glob
import logging
import os
import shutil
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()
logging.getLogger("accelerate").setLevel(logging.WARNING)
STEPS, EVERY, KEEP = 400, 20, 4
SLICE_S = float(os.environ.get("SLICE_S", "24"))
N = os.environ.get("SLICE", "1")


def newest():
    found = sorted(glob.glob("ckpt/step_*"))
    return found[-1] if found else None


def prune():
    for old in sorted(glob.glob("ckpt/step_*"))[:-KEEP]:
        shutil.rmtree(old)


def batch(gen, proto):
    y = torch.randint(0, 30, (32,), generator=gen)
    return proto[y] + 1.8 * torch.randn(32, 40, generator=gen), y


def main():
    t0 = time.time()
    set_seed(0)
    torch.set_num_threads(1)
    acc = Accelerator(cpu=True)
    proto = torch.randn(30, 40, generator=torch.Generator().manual_seed(9))
    model = nn.Sequential(nn.Linear(40, 128), nn.GELU(), nn.Linear(128, 30))
    opt = torch.optim.AdamW(model.parameters(), lr=4e-4)
    model, opt = acc.prepare(model, opt)
    step, last = 0, newest()
    if last:
        acc.load_state(last)
        step = int(last.rsplit("_", 1)[1])
        log.info("slice %s: resumed from %s", N, last)
    else:
        log.info("slice %s: nothing to resume, starting", N)
    gen = torch.Generator().manual_seed(1000 + step)
    while step < STEPS:
        x, y = batch(gen, proto)
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        acc.backward(loss)
        opt.step()
        step += 1
        time.sleep(0.26)
        if step % 5 == 0:
            log.info("step %d/%d loss %.4f", step, STEPS, loss.item())
        if step % EVERY == 0:
            acc.save_state(f"ckpt/step_{step}")
            prune()
            log.info("saved ckpt/step_%d", step)
        if time.time() - t0 > SLICE_S:
            log.info("slice %s: time is up at step %d, queue me again", N, step)
            sys.exit(85)
    acc.save_model(model, "final")
    log.info("training complete")


if __name__ == "__main__":
    main()
