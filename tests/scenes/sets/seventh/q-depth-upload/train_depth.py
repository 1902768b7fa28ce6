"""Depth estimation. After each stage the whole state is saved and copied to the bucket mount (slow line, about 0.4 MB/s)."""
import logging
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
log = logging.getLogger("depth")
RATE = 0.4e6        # bytes a second on the line to the bucket


def upload(folder, bucket):
    files = sorted(os.path.join(folder, f) for f in os.listdir(folder))
    size = sum(os.path.getsize(f) for f in files)
    log.info("uploading %s to %s: %.1f MB at about 0.4 MB/s, this will take about %d s, training is paused",
             folder, bucket, size / 1e6, size / RATE)
    os.makedirs(bucket, exist_ok=True)
    t0 = time.time()
    for f in files:
        with open(f, "rb") as src, open(os.path.join(bucket, os.path.basename(f)), "wb") as dst:
            while chunk := src.read(1 << 16):
                dst.write(chunk)
                time.sleep(len(chunk) / RATE)
    log.info("upload finished in %.1f s", time.time() - t0)


def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(6)
    torch.set_num_threads(1)
    x = torch.randn(1600, 1, 24, 24)
    y = nn.functional.avg_pool2d(x.abs(), 5, 1, 2)
    data = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
    net.register_parameter("prompt_bank", nn.Parameter(torch.zeros(3_200_000)))     # frozen feature bank that goes with the model
    net.prompt_bank.requires_grad_(False)
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=3e-3)
    net, opt, data = acc.prepare(net, opt, data)
    step = 0
    for stage in range(1, 4):
        for a, b in data:
            loss = nn.functional.l1_loss(net(a), b)
            opt.zero_grad()
            acc.backward(loss)
            opt.step()
            step += 1
            if step % 10 == 0:
                log.info("stage %d step %d l1 %.4f", stage, step, loss.item())
            time.sleep(0.2)
        if stage < 3:
            where = f"state/stage_{stage}"
            log.info("saving state to %s", where)
            acc.save_state(where)
            upload(where, f"bucket/stage_{stage}")
    acc.save_state("state/final")
    log.info("all stages done")


if __name__ == "__main__":
    main()
